import { createWriteSet, defineTable, type Store, type WriteSet } from "../../router/index.ts";
import { championHistory } from "./champion-history.ts";

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

/** How strong a champion is, on the config's one ladder. */
export interface RatedChampion {
  readonly model_id: string;
  /** When it became champion; milliseconds since the epoch. */
  readonly at: number;
  readonly elo: number;
  /** Ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
}

/** The rated champions of a config, oldest first: the last one is the champion of now. Empty while nothing is rated. */
export function ratedChampions(store: Pick<Store, "read">, configKey: string, budget: string): RatedChampion[] {
  const players = createWriteSet(store).get(ladders, ladderKey(configKey, budget))?.players ?? [];
  const rated = new Map(players.filter(({ linked }) => linked).map((player) => [player.player, player]));
  return championHistory(store, configKey)
    .reverse()
    .flatMap(({ model, at }) => {
      const player = rated.get(model);
      return player === undefined ? [] : [{ model_id: model, at, elo: player.elo, low: player.low, high: player.high }];
    });
}
