import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Wanted } from "../transport.port.ts";
import { MAX_ASIDE_BYTES, MAX_ASIDE_FILES } from "./limits.ts";
import type { Landing } from "./part-file.ts";

/**
 * Where bytes that are not what their name says are kept for a person to look at, one time; undefined where they are not kept. Never on a main
 * loop. A disk that does not take them is no reason to lose a transfer.
 */
export function placeAside({ quarantine }: Landing, { sha256, bytes }: Wanted, now: number): string | undefined {
  if (quarantine === undefined || bytes > MAX_ASIDE_BYTES) return undefined;
  try {
    mkdirSync(quarantine, { recursive: true, mode: 0o700 });
    const names = readdirSync(quarantine);
    const isKept = names.length < MAX_ASIDE_FILES && !names.some((name) => name.startsWith(sha256));
    return isKept ? join(quarantine, `${sha256}.${now}`) : undefined;
  } catch {
    return undefined;
  }
}
