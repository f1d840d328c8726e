/** Whether some node that trains has all that the next run of a config needs. */

export interface NeededFile {
  readonly seq: number;
  readonly created_at: number;
  readonly holders: readonly string[];
}

export interface TrainingNode {
  readonly node_id: string;
  readonly isThere: boolean;
  readonly kinds: readonly string[];
}

/** The node that lacks the least, and how old the oldest file is that it lacks. */
export type Lag = {
  readonly node_id: string;
  readonly missing: number;
  readonly wanted: number;
  readonly lag_ms: number;
};

const TRAINING = "training";

/** Null where nothing is wanted, nobody trains, or somebody who trains has it all: then there is nothing to wait for. */
export function lagOf(files: readonly NeededFile[], nodes: readonly TrainingNode[], now: number): Lag | null {
  const lags = nodes
    .filter(({ isThere, kinds }) => isThere && kinds.includes(TRAINING))
    .map(({ node_id }) => {
      const missing = files.filter(({ holders }) => !holders.includes(node_id));
      const oldest = Math.min(now, ...missing.map(({ created_at }) => created_at));
      return { node_id, missing: missing.length, wanted: files.length, lag_ms: now - oldest };
    })
    .sort((a, b) => a.missing - b.missing || (a.node_id < b.node_id ? -1 : 1));
  const [best] = lags;
  return best === undefined || best.missing === 0 ? null : best;
}

/** `relaxed`: nobody could be brought up to date in time, so the run begins and its node fetches what it lacks itself. */
export type Freshness = Lag & { readonly state: "stale" | "relaxed"; readonly since: number };

/** What is known of a config next, and what is to be told of it. Undefined is fresh. */
export function nextFreshness(
  known: Freshness | undefined,
  lag: Lag | null,
  now: number,
  patienceMs: number,
): { readonly row: Freshness | undefined; readonly news: "stale" | "fresh" | null } {
  if (lag === null) return { row: undefined, news: known === undefined ? null : "fresh" };
  const since = known?.since ?? now;
  const state = now - since >= patienceMs ? "relaxed" : "stale";
  return { row: { ...lag, state, since }, news: known === undefined ? "stale" : null };
}
