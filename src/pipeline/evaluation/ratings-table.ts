import { defineTable, type WriteSet } from "../../router/index.ts";

/** One rated player: a model by its hash, or an anchor by its name. */
export type RatedPlayer = {
  readonly player: string;
  readonly elo: number;
  readonly low: number;
  readonly high: number;
  readonly games: number;
  readonly anchor: boolean;
  /** Whether a chain of games links it to the anchors; otherwise its Elo compares within its own group alone. */
  readonly linked: boolean;
};

/** The ladder of one config and one search budget, best player first. Times are milliseconds since the epoch. */
export type RatedLadder = {
  readonly config_key: string;
  readonly budget: string;
  /** Games that it was computed from: with more in the ledger it is computed anew. */
  readonly games: number;
  readonly zero: string | null;
  readonly players: readonly RatedPlayer[];
  readonly at: number;
};

/** By config_key and budget. Written by `elo_service`. */
export const ladders = defineTable<RatedLadder>("pipeline_ladders");

export const ladderKey = (configKey: string, budget: string): string => `${configKey}|${budget}`;

/** The rating of a player; undefined while it has none. */
export const ratingOf = (
  rows: Pick<WriteSet, "get">,
  configKey: string,
  budget: string,
  player: string,
): RatedPlayer | undefined =>
  rows.get(ladders, ladderKey(configKey, budget))?.players.find((rated) => rated.player === player);
