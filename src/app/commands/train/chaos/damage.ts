import { chmodSync, closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { champions, exportWork, iterations } from "../../../../pipeline/index.ts";
import { createWriteSet } from "../../../../router/index.ts";
import type { ArtifactRow } from "../../../../sync/index.ts";
import { type Act, type ChaosWorld, pick, seconds } from "./act.ts";

export const TARGETS = ["segment", "shard", "champion"] as const;
export type Target = (typeof TARGETS)[number];

const FLIPPED = 3;

const folderOf = (dataDir: string): string => join(dataDir, "artifacts");
const pathOf = (dataDir: string, sha256: string): string => join(folderOf(dataDir), sha256.slice(0, 2), sha256);

/** When a damaged file was set aside, if it was since then: its name in quarantine says so. */
export function setAsideAt(dataDir: string, sha256: string, since: number): number | undefined {
  const folder = join(folderOf(dataDir), "quarantine");
  if (!existsSync(folder)) return undefined;
  const times = readdirSync(folder)
    .filter((name) => name.startsWith(`${sha256}.`))
    .map((name) => Number(name.slice(sha256.length + 1)))
    .filter((time) => time >= since);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Turns some bits of a file around, where it lies. */
export function flipBytes(path: string, random: ChaosWorld["random"]): void {
  chmodSync(path, 0o600);
  const file = openSync(path, "r+");
  try {
    const { size } = fstatSync(file);
    const byte = Buffer.alloc(1);
    for (let n = 0; n < FLIPPED; n += 1) {
      const at = Math.floor(random.next() * size);
      readSync(file, byte, 0, 1, at);
      byte[0] = byte[0]! ^ (1 + Math.floor(random.next() * 255));
      writeSync(file, byte, 0, 1, at);
    }
  } finally {
    closeSync(file);
  }
}

/** Files of this sort that are in use now. */
function inUse({ store, catalog }: ChaosWorld, configKey: string, target: Target): string[] {
  const rows = createWriteSet(store);
  if (target === "champion") return [rows.get(champions, configKey)?.model ?? []].flat();
  if (target === "shard") return (rows.get(exportWork, configKey)?.own.window ?? []).map(({ sha256 }) => sha256);
  const at = rows.get(iterations, configKey);
  if (at === undefined || at.iteration < 1) return [];
  return catalog
    .list({ config_key: configKey, iteration: at.iteration })
    .filter(({ kind, state }) => (kind === "samples" || kind === "games") && state !== "rejected")
    .map(({ sha256 }) => sha256);
}

const isUsable = ({ state, freed_at }: ArtifactRow): boolean =>
  freed_at === null && (state === "in_flight" || state === "durable");

/** Flips bytes of a stored file that is in use: of a segment of this iteration, a training file, or the champion. */
export function damage(world: ChaosWorld, target: Target): Act | undefined {
  const { store, catalog, clock, dataDir, random, configKeys } = world;
  const configKey = pick(random, configKeys)!;
  const there = inUse(world, configKey, target).flatMap((sha256) => {
    const row = catalog.get(sha256);
    return row !== undefined && isUsable(row) && existsSync(pathOf(dataDir, sha256)) ? [row] : [];
  });
  const row = pick(random, there);
  if (row === undefined) return undefined;
  const { sha256, kind, iteration } = row;
  const at = clock.now();
  flipBytes(pathOf(dataDir, sha256), random);
  return {
    configKey,
    what: `flipped ${FLIPPED} bytes of the ${kind} ${sha256.slice(0, 12)}, a ${target} of iteration ${iteration}`,
    caught(now) {
      const aside = setAsideAt(dataDir, sha256, at);
      const found = catalog.get(sha256);
      if (aside === undefined || found === undefined) return undefined;
      const begin = `${sha256.slice(0, 12)} was set aside after ${seconds(aside - at)}`;
      if (isUsable(found) && existsSync(pathOf(dataDir, sha256)))
        return `${begin}, and was restored, byte for byte, after ${seconds(now - at)}`;
      // Its part was played again by somebody who made other bytes of it, or the run needs it no more.
      const isPast = (createWriteSet(store).get(iterations, configKey)?.iteration ?? 0) > (iteration ?? 0);
      return found.state === "rejected" && isPast ? `${begin}, and others took its place` : undefined;
    },
  };
}
