import type { ConfigPlan } from "../../../stage/index.ts";
import { COMBINED_SHARDS, MAX_SHARDS } from "../../limits.ts";

/** Rows that training wants to see when so many have ever been made: a power law of small slope, with a floor and a cap. */
export const windowRows = (totalRows: number, { base, share, most }: ConfigPlan["window"]): number =>
  Math.min(most, base + Math.floor(share * totalRows));

/** The newest shards that hold the wanted rows, oldest first: as few as do, and all if all do not. */
export function windowOf<S extends { readonly rows: number }>(
  shards: readonly S[],
  totalRows: number,
  policy: ConfigPlan["window"],
): S[] {
  const wanted = windowRows(totalRows, policy);
  let rows = 0;
  let first = shards.length;
  while (first > 0 && rows < wanted) {
    first -= 1;
    rows += shards[first]!.rows;
  }
  return shards.slice(first);
}

/** The shards that are to become one, oldest first; none while there are few. */
export const toCombine = <S>(window: readonly S[]): readonly S[] =>
  window.length > MAX_SHARDS ? window.slice(0, COMBINED_SHARDS) : [];

/** The window without files that are lost, and what was left out. A shard whose held-out rows are lost stays without them. */
export function withoutLost<
  S extends { readonly sha256: string; readonly holdout: { readonly sha256: string } | null },
>(
  window: readonly S[],
  lost: ReadonlySet<string>,
): { readonly window: readonly S[]; readonly left: readonly string[] } {
  const left: string[] = [];
  const kept = window.flatMap((shard) => {
    if (lost.has(shard.sha256)) {
      left.push(shard.sha256);
      return [];
    }
    if (shard.holdout === null || !lost.has(shard.holdout.sha256)) return [shard];
    left.push(shard.holdout.sha256);
    return [{ ...shard, holdout: null }];
  });
  return { window: kept, left };
}
