import type { Store } from "../router/index.ts";
import type { ArtifactRow } from "./artifact.ts";

/** A relative of an artifact. What was made by hand, or is forgotten, is known by its hash alone. */
export interface Relative {
  readonly sha256: string;
  /** Steps from the artifact that was asked about, on the shortest way. */
  readonly distance: number;
  readonly artifact: ArtifactRow | null;
}

export interface Lineage {
  readonly artifact: ArtifactRow;
  /** What it was made from, nearest first. */
  readonly ancestors: readonly Relative[];
  /** What was made from it, nearest first. */
  readonly descendants: readonly Relative[];
  /** There is more than was asked for. */
  readonly truncated: boolean;
}

type Reader = Pick<Store, "read">;

const STEP = {
  up: "SELECT parent AS sha256 FROM sync_parents WHERE sha256 = ? ORDER BY place LIMIT ?",
  down: "SELECT sha256 FROM sync_parents WHERE parent = ? ORDER BY sha256 LIMIT ?",
} as const;

/** Generation by generation, so that it ends at any number of relatives, however they are entangled. */
function walk(
  store: Reader,
  from: string,
  way: keyof typeof STEP,
  max: number,
): { found: [string, number][]; cut: boolean } {
  const seen = new Set([from]);
  const found: [string, number][] = [];
  for (let generation = [from], distance = 1; generation.length > 0; distance += 1) {
    const next: string[] = [];
    for (const one of generation)
      for (const { sha256 } of store.read<{ sha256: string }>(STEP[way], one, max + 1)) {
        if (seen.has(sha256)) continue;
        if (found.length >= max) return { found, cut: true };
        seen.add(sha256);
        found.push([sha256, distance]);
        next.push(sha256);
      }
    generation = next;
  }
  return { found, cut: false };
}

/** Where an artifact comes from and what came of it; `max` relatives each way. */
export function lineageOf(
  store: Reader,
  get: (sha256: string) => ArtifactRow | undefined,
  sha256: string,
  max: number,
): Lineage | undefined {
  const artifact = get(sha256);
  if (artifact === undefined) return undefined;
  const [up, down] = [walk(store, sha256, "up", max), walk(store, sha256, "down", max)];
  const relatives = (found: [string, number][]): Relative[] =>
    found.map(([hash, distance]) => ({ sha256: hash, distance, artifact: get(hash) ?? null }));
  return {
    artifact,
    ancestors: relatives(up.found),
    descendants: relatives(down.found),
    truncated: up.cut || down.cut,
  };
}
