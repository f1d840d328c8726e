/** Segments of games as one set: every game once, whoever brought it and however often. */
import { badInput, type JobInput, type ServedJob } from "../../process/index.ts";
import { decodeGames } from "../files/games-file.ts";
import { readWithin } from "../files/store.ts";
import type { Game } from "../games/game.ts";
import { copySamples, emptySamples, joinSamples, type Samples } from "../net/samples.ts";
import { rowsOfGames } from "../play/rows-of-games.ts";
import type { GameRecord } from "../play/self-play.ts";
import { naming } from "./failures.ts";
import { rowsByGame } from "./inspection.ts";
import { inputsLike, type JobWorld } from "./job-world.ts";

export interface Union {
  readonly games: readonly GameRecord[];
  readonly samples: Samples;
  /** Rows of games that the set did not have before. */
  readonly fresh: Samples;
  readonly freshGames: number;
  readonly duplicates: number;
}

/** Two games with the same moves are one, whatever seed they were played under. */
const keyOf = ({ moves, outcome }: GameRecord): string => `${outcome}:${Buffer.from(moves).toString("latin1")}`;

const renumbered = (samples: Samples, rows: readonly number[], number: number, game: Game): Samples => {
  const own = emptySamples(game, rows.length);
  for (const [i, row] of rows.entries()) copySamples(samples, row, 1, own, i);
  own.game.fill(number);
  return own;
};

/**
 * The union of the set so far (inputs `set-games`, `set-samples`) and of segments (`games-0000` with `samples-0000` where it has rows;
 * `rows-0000` where only rows are known), in the order of the job. Games are played through by the rules; a file with a wrong one
 * fails the job and is named. Of games that came without rows the moves are the rows.
 */
export async function unionOf(job: ServedJob, world: JobWorld, game: Game): Promise<Union> {
  const known = new Set<string>();
  const games: GameRecord[] = [];
  const parts: Samples[] = [];
  const fresh: Samples[] = [];
  let duplicates = 0;
  let numbers = 0;
  let freshGames = 0;

  const readGames = (input: JobInput) =>
    naming(input, async () => {
      const file = decodeGames(await readWithin(input.path));
      if (file.configKey !== game.configKey)
        throw badInput(`It holds games of ${file.configKey}, not of ${game.configKey}.`);
      return file.games;
    });
  const all = job.message.inputs;
  const named = (name: string) => all.find((input) => input.name === name);

  const add = async (gamesInput: JobInput, samplesInput: JobInput | undefined, isFresh: boolean): Promise<void> => {
    const records = await readGames(gamesInput);
    const samples = samplesInput === undefined ? undefined : await world.samples(samplesInput, game);
    const rows = samples === undefined ? undefined : rowsByGame(samples, records.length);
    for (const [i, record] of records.entries()) {
      if (known.has(keyOf(record))) {
        duplicates += 1;
        continue;
      }
      known.add(keyOf(record));
      games.push(record);
      const own =
        samples === undefined ? rowsOfGames(game, [record], numbers) : renumbered(samples, rows![i]!, numbers, game);
      numbers += 1;
      parts.push(own);
      if (!isFresh) continue;
      fresh.push(own);
      freshGames += 1;
    }
  };

  /** Rows whose games nobody has: their numbers go on behind those of the games. */
  const addRows = async (input: JobInput, isFresh: boolean, from = 0): Promise<void> => {
    const samples = await world.samples(input, game);
    const byGame = new Map<number, number[]>();
    for (let row = 0; row < samples.count; row += 1) {
      const index = samples.game[row]!;
      if (index < from) continue;
      const own = byGame.get(index);
      if (own === undefined) byGame.set(index, [row]);
      else own.push(row);
    }
    for (const rows of byGame.values()) {
      const own = renumbered(samples, rows, numbers, game);
      const key = `rows:${Buffer.from(own.codes.buffer).toString("latin1")}${Buffer.from(own.policy.buffer).toString("latin1")}`;
      if (known.has(key)) {
        duplicates += 1;
        continue;
      }
      known.add(key);
      numbers += 1;
      parts.push(own);
      if (!isFresh) continue;
      fresh.push(own);
      freshGames += 1;
    }
  };

  const [setGames, setSamples] = [named("set-games"), named("set-samples")];
  if (setGames !== undefined) await add(setGames, setSamples, false);
  const inSet = games.length;
  for (const [i, input] of inputsLike(job, "games-").entries()) {
    job.progress(i, { total: all.length });
    await job.pause();
    await add(input, named(input.name.replace("games-", "samples-")), true);
  }
  // All games come first, so that the number of a row is the place of its game.
  if (setSamples !== undefined) await addRows(setSamples, false, inSet);
  for (const input of inputsLike(job, "rows-")) {
    await job.pause();
    await addRows(input, true);
  }
  return { games, samples: joinSamples(parts, game), fresh: joinSamples(fresh, game), freshGames, duplicates };
}
