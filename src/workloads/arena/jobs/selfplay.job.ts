import type { JobHandler } from "../../process/index.ts";
import { encodeGames } from "../files/games-file.ts";
import { encodeNpz } from "../files/npz.ts";
import { encodeSamples } from "../files/samples-file.ts";
import type { State } from "../games/game.ts";
import { joinSamples, type Samples } from "../net/samples.ts";
import { mixSeed } from "../numerics/samplers.ts";
import { type GameRecord, selfPlay } from "../play/self-play.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch } from "../search/puct.ts";
import { besideOf } from "./beside.ts";
import { nothingMade } from "./failures.ts";
import { freshNetwork, type JobWorld, seedOf } from "./job-world.ts";
import { parseParameters, searchOf, selfPlayOf, selfPlayParameters } from "./parameters.ts";
import { shownOf } from "./shown.ts";

/**
 * Games of a network (input `model`, or one that knows nothing) against itself; artifacts `samples` and `games`. Game
 * number n of a seed is the same game in whichever job it is played. Games may begin in games of the inputs `archive...`, and
 * meet the network of the input `opponent`.
 */
export const selfPlayJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(selfPlayParameters(), job.message.parameters);
    const game = world.game(job.message.config_key);
    const network = (await world.model(job, "model", game)) ?? freshNetwork(game, given);
    const search = createSearch(game, networkEvaluator(game, network), searchOf(given));
    const beside = await besideOf(job, world, game, given);
    const seed = seedOf(job);
    const parts: Samples[] = [];
    const games: GameRecord[] = [];
    for (let i = 0; i < given.games; i += 1) {
      const how = { total: given.games, metrics: { games: i } };
      job.progress(i, how);
      await job.pause();
      const watch = (state: State) => job.progress(i, { ...how, board: () => shownOf(game, state, `game ${i + 1}`) });
      const played = selfPlay(game, search, selfPlayOf(given), [mixSeed(seed, given.first_game + i)], {
        ...beside,
        watch,
      });
      played.samples.game.fill(i);
      parts.push(played.samples);
      games.push(...played.games);
    }
    const samples = joinSamples(parts, game);
    if (samples.count === 0) throw nothingMade("The games are over before a move was searched; lower `random_plies`.");
    const model = job.message.inputs.find(({ name }) => name === "model")?.sha256 ?? null;
    const origin = { model, seed, first_game: given.first_game };
    const encode = given.format === "npz" ? encodeNpz : encodeSamples;
    const about = { config_key: game.configKey, format: given.format, games: games.length };
    await job.writeArtifact(`samples.${given.format}`, encode(samples, origin).bytes, {
      kind: "samples",
      rows: samples.count,
      meta: about,
    });
    await job.writeArtifact("games.arena", encodeGames(game.configKey, games, origin).bytes, {
      kind: "games",
      rows: games.length,
      meta: { config_key: game.configKey },
    });
    const outcomes = Array.from({ length: game.players + 1 }, (_, seat) => [
      `outcome_${seat}`,
      games.filter(({ outcome }) => outcome === seat).length,
    ]);
    const plies = games.reduce((sum, { moves }) => sum + moves.length, 0);
    return { games: games.length, rows: samples.count, plies_sum: plies, ...Object.fromEntries(outcomes) };
  };
