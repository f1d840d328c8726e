import type { z } from "zod";
import { defined } from "../../../kernel/index.ts";
import { badInput, type JobHandler, type ServedJob } from "../../process/index.ts";
import { BASELINES, createBaseline } from "../baselines/catalog.ts";
import type { Player } from "../baselines/player.ts";
import type { Game, State } from "../games/game.ts";
import { createTally, distinctOpenings, openingPrints, playBlock } from "../play/match.ts";
import { searchPlayer } from "../search/search-player.ts";
import { type JobWorld, seedOf } from "./job-world.ts";
import { evaluationParameters, parseParameters, searchOf } from "./parameters.ts";
import { shownOf } from "./shown.ts";

/** Results are told in bunches: often enough to decide early, rarely enough to cost nothing. */
const BLOCKS_A_MESSAGE = 8;

/** Makes players of one role: with the network of its input, or else the baseline of its name. */
async function playersOf(
  role: "candidate" | "opponent",
  given: z.output<ReturnType<typeof evaluationParameters>>,
  job: ServedJob,
  game: Game,
  world: JobWorld,
): Promise<() => Player> {
  const name = given[role];
  const network = await world.model(job, role, game);
  const own = searchOf({ ...given, ...defined(given[`${role}_search`] ?? {}) });
  if (network !== undefined) return () => searchPlayer(name, game, network, own);
  if (BASELINES.includes(name)) return () => createBaseline(name, game);
  throw badInput(
    `There is neither an input "${role}" nor a baseline "${name}"; baselines are ${BASELINES.join(", ")}.`,
  );
}

/**
 * A match between the inputs `candidate` and `opponent`, or baselines by name, in blocks: one opening, the candidate in
 * every seat. Block number n of a seed is the same block in whichever job it is played; the results go out as `pairs`.
 */
export const evaluationJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(evaluationParameters(), job.message.parameters);
    const game = world.game(job.message.config_key);
    const candidate = (await playersOf("candidate", given, job, game, world))();
    const opponent = await playersOf("opponent", given, job, game, world);
    const opponents = Array.from({ length: game.players - 1 }, opponent);
    const { first_block: first, blocks } = given;
    const openings = distinctOpenings(game, given.opening_plies, seedOf(job), first + blocks).slice(first);
    // A small game may not have as many openings as were asked for.
    const distinct = new Set(openings.map(openingPrints(game, given.opening_plies))).size;
    const tally = createTally(game.players);
    let unsent: { opening: number; scores: number[] }[] = [];
    const emit = () => {
      if (unsent.length > 0) job.pairs({ candidate: given.candidate, opponent: given.opponent, blocks: unsent });
      unsent = [];
    };
    for (const [i, opening] of openings.entries()) {
      const how = { total: blocks * game.players, metrics: { games: i * game.players } };
      job.progress(i * game.players, how);
      await job.pause();
      const watch = (state: State) =>
        job.progress(i * game.players, { ...how, board: () => shownOf(game, state, `opening ${i + 1}`) });
      const result = playBlock(game, candidate, opponents, given.opening_plies, opening, watch);
      tally.add([result]);
      unsent.push({ opening, scores: result.scores });
      if (unsent.length >= BLOCKS_A_MESSAGE) emit();
    }
    emit();
    const { games, wins, draws, losses, score, redundancy } = tally;
    return { games, wins, draws, losses, score, redundancy, blocks, distinct_openings: distinct };
  };
