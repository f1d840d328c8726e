import { badInput, type JobHandler, type JobInput } from "../../process/index.ts";
import type { GamesFile } from "../files/games-content.ts";
import { decodeUnplayedGames } from "../files/games-file.ts";
import { readWithin } from "../files/store.ts";
import type { Game } from "../games/game.ts";
import { mixSeed } from "../numerics/samplers.ts";
import { selfPlay } from "../play/self-play.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch } from "../search/puct.ts";
import { besideOf } from "./beside.ts";
import { naming, nothingMade } from "./failures.ts";
import { createInspection, rowsByGame } from "./inspection.ts";
import { foldSeed, freshNetwork, inputOf, type JobWorld } from "./job-world.ts";
import { parseParameters, searchOf, selfPlayOf, validationParameters } from "./parameters.ts";
import { chosenGames, isSameGame } from "./parity.ts";

const readGames = (input: JobInput, game: Game): Promise<GamesFile> =>
  naming(input, async () => {
    const file = decodeUnplayedGames(await readWithin(input.path));
    if (file.configKey !== game.configKey)
      throw badInput(`It holds games of ${file.configKey}, not of ${game.configKey}.`);
    if (file.games.length === 0) throw nothingMade("It holds no games.");
    return file;
  });

/**
 * Judges what a self-play job has made (inputs `games` and `samples`, and `model` if it had one): every game is played
 * through by the rules, every row is held against its game, and a share of the games is played again with the network and
 * compared. It makes no file; its metrics are the findings, and what is wrong with the data is a finding and no failure.
 */
export const validationJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(validationParameters(), job.message.parameters);
    const game = world.game(job.message.config_key);
    const file = inputOf(job, "games");
    const { games } = await readGames(file, game);
    const samples = await world.samples(inputOf(job, "samples"), game);
    if (samples.count === 0) throw nothingMade('Input "samples" holds no rows.');

    const rows = rowsByGame(samples, games.length);
    const inspection = createInspection(game, samples, rows);
    const seed = foldSeed(given.game_seed ?? job.message.seed);
    const seedAt = (index: number) => mixSeed(seed, given.first_game + index);
    const chosen = new Set(chosenGames(games.length, given.parity_share, `${seed}/${file.sha256}`));
    // A game under another seed than its place has was not the one that was asked for: no need to play it.
    const strange = games.map((record, i) => record.seed !== seedAt(i));
    const network = (await world.model(job, "model", game)) ?? freshNetwork(game, given);
    const search = createSearch(game, networkEvaluator(game, network), searchOf(given));
    const beside = await besideOf(job, world, game, given);
    let checked = 0;
    let failed = 0;
    for (const [i, record] of games.entries()) {
      job.progress(i, { total: games.length });
      await job.pause();
      inspection.look(i, record);
      if (!strange[i] && !chosen.has(i)) continue;
      checked += 1;
      const same =
        !strange[i] &&
        isSameGame(selfPlay(game, search, selfPlayOf(given), [seedAt(i)], beside), record, samples, rows[i]!);
      if (!same) failed += 1;
    }
    const { outcomes, illegal_games, ...figures } = inspection.figures;
    const missing = Math.abs((given.games ?? games.length) - games.length);
    return {
      games: games.length,
      rows: samples.count,
      parity_checked: checked,
      parity_failed: failed,
      // A game that is not there, or was not asked for, is none of the rules either.
      illegal_games: illegal_games + missing,
      ...figures,
      ...Object.fromEntries(outcomes.map((count, outcome) => [`outcome_${outcome}`, count])),
    };
  };
