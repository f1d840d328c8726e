/** How strong champions are, by games of their own: apart from all gates, with other openings and other seeds. */
import { readFileSync } from "node:fs";
import { championHistory } from "../../src/pipeline/models/index.ts";
import { bradleyTerry, type Match, plackettLuce } from "../../src/pipeline/statistics/index.ts";
import type { Store } from "../../src/router/index.ts";
import { createGame, decodeModel, type Game } from "../../src/workloads/arena/index.ts";
import type { Network } from "../../src/workloads/arena/net/network.ts";
import { type LadderMatch, type LadderPlan, playLadder } from "./bare-loop/ladder.ts";
import type { Pool } from "./bare-loop/pool.ts";
import { artifactPath } from "./loop.ts";

export interface Climb {
  /** Of the last champion over the first network, by the ladder, with the ends of a 95 % interval. */
  readonly elo_gain: { readonly estimate: number; readonly low: number; readonly high: number };
  readonly ratings: readonly {
    readonly player: string;
    readonly elo: number;
    readonly error: number;
    readonly games: number;
  }[];
  readonly matches: readonly LadderMatch[];
}

/**
 * The ledger of a ladder as matches of the statistics. With more than two players the opponent sits several times, and a
 * match names nobody twice: its copies are rated apart, and share its wins.
 */
const ledgerOf = (matches: readonly LadderMatch[], seats: number): Match[] =>
  matches.flatMap(({ candidate, opponent, wins, draws, losses }) => {
    const opponents = Array.from({ length: seats - 1 }, (_, i) => (i === 0 ? opponent : `${opponent} (${i + 1})`));
    const line = (winner: string | null, games: number): Match[] =>
      games === 0 ? [] : [{ players: [candidate, ...opponents], winner, games }];
    const shareOf = (i: number) =>
      Math.floor(((i + 1) * losses) / (seats - 1)) - Math.floor((i * losses) / (seats - 1));
    return [...line(candidate, wins), ...line(null, draws), ...opponents.flatMap((name, i) => line(name, shareOf(i)))];
  });

export async function climb(game: Game, pool: Pool, champions: readonly Network[], plan: LadderPlan): Promise<Climb> {
  const matches = await playLadder(game, pool, champions, plan);
  const rate = game.players === 2 ? bradleyTerry : plackettLuce;
  const { ratings } = rate(ledgerOf(matches, game.players), { zero: "champion-0" });
  const last = ratings.find(({ player }) => player === `champion-${champions.length - 1}`)!;
  return {
    elo_gain: last.elo,
    ratings: ratings.map(({ player, elo, standardError, games }) => ({
      player,
      elo: Math.round(elo.estimate),
      error: Math.round(standardError),
      games,
    })),
    matches,
  };
}

/** The networks of a config's champions, oldest first, from the files of a data folder. */
export function championNetworks(dataDir: string, store: Pick<Store, "read">, configKey: string): Network[] {
  const game = createGame(configKey);
  return championHistory(store, configKey, 10_000)
    .reverse()
    .map(({ model }) => decodeModel(readFileSync(artifactPath(dataDir, model)), game).network);
}
