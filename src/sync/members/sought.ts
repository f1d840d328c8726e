/** Files that the work of a leader waits for: it has their rows, and not their bytes. */
import type { Clock } from "../../kernel/index.ts";
import { memberLimits } from "../limits.ts";
import type { Wanted } from "../transport.port.ts";
import type { SoughtFiles } from "./member-files.ts";

/** So long after somebody asked it is looked for, and so long an answer counts: after that all coordinators are asked again. */
const REMEMBERED_MS = 10 * 60_000;

interface Sought extends Wanted {
  /** When somebody asked last, or when all coordinators had said that they do not have it. */
  at: number;
  nowhere: boolean;
}

export function createSought(clock: Pick<Clock, "monotonic">) {
  const files = new Map<string, Sought>();
  const isFresh = ({ at }: Sought) => clock.monotonic() - at < REMEMBERED_MS;
  return {
    list: (): Wanted[] => [...files.values()].filter((file) => !file.nowhere && isFresh(file)),
    noteNowhere(sha256s: readonly string[]): void {
      for (const sha256 of sha256s) {
        const file = files.get(sha256);
        if (file !== undefined) Object.assign(file, { nowhere: true, at: clock.monotonic() });
      }
    },
    /** It is here. */
    found(sha256s: readonly string[]): void {
      for (const sha256 of sha256s) files.delete(sha256);
    },
    /** Whether all coordinators have said that they do not have it; they are asked from now on. */
    isNowhere({ sha256, bytes }: Wanted): boolean {
      const known = files.get(sha256);
      if (known?.nowhere === true && isFresh(known)) return true;
      files.delete(sha256);
      if (files.size >= memberLimits.maxSought) files.delete(files.keys().next().value!);
      files.set(sha256, { sha256, bytes, at: clock.monotonic(), nowhere: false });
      return false;
    },
  } satisfies SoughtFiles & Record<string, unknown>;
}
