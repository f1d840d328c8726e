import {
  BASELINES,
  type BlockResult,
  createPlayer,
  createTally,
  distinctOpenings,
  fingerprint,
  type Game,
  type Player,
  type PlayerSpec,
  playBlock,
  playOpening,
  type SearchConfig,
  specOf,
} from "../arena/index.ts";
import { badInput, type JobHandler, type ServedJob } from "../process/index.ts";
import { type JobWorld, seedOf } from "./job-world.ts";
import { evaluationParameters, parseParameters, searchOf } from "./parameters.ts";

/** Results are told in bunches: often enough to decide early, rarely enough to cost nothing. */
const BLOCKS_A_MESSAGE = 8;

async function specFor(
  role: "candidate" | "opponent",
  name: string,
  job: ServedJob,
  game: Game,
  world: JobWorld,
  search: SearchConfig,
): Promise<PlayerSpec> {
  const network = await world.model(job, role, game);
  if (network !== undefined) return { kind: "network", name, search, ...specOf(network) };
  if (BASELINES.includes(name)) return { kind: "baseline", name };
  throw badInput(
    `There is neither an input "${role}" nor a baseline "${name}"; baselines are ${BASELINES.join(", ")}.`,
  );
}

/** Openings that end in different positions; a small game may not have as many as were asked for. */
function distinctPositions(game: Game, plies: number, openings: readonly number[]): number {
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  const prints = openings.map((seed) => {
    playOpening(game, plies, seed, state, moves);
    return fingerprint(game, state);
  });
  return new Set(prints).size;
}

/**
 * A match between the inputs `candidate` and `opponent`, or baselines by name, in blocks: one opening, the candidate in
 * every seat. Block number n of a seed is the same block in whichever job it is played; the results go out as `pairs`.
 */
export const evaluationJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(evaluationParameters, job.message.parameters);
    const game = world.game(job.message.config_key);
    const search = searchOf(given);
    const names = { candidate: given.candidate, opponent: given.opponent };
    const playerOf = async (role: "candidate" | "opponent"): Promise<() => Player> => {
      const spec = await specFor(role, names[role], job, game, world, search);
      return () => createPlayer(game, spec);
    };
    const candidate = (await playerOf("candidate"))();
    const opponent = await playerOf("opponent");
    const opponents = Array.from({ length: game.players - 1 }, opponent);
    const { first_block: first, blocks } = given;
    const openings = distinctOpenings(game, given.opening_plies, seedOf(job), first + blocks).slice(first);
    const distinct = distinctPositions(game, given.opening_plies, openings);
    const tally = createTally(game.players);
    let untold: { opening: number; scores: number[] }[] = [];
    const tell = () => {
      if (untold.length > 0) job.pairs({ ...names, blocks: untold });
      untold = [];
    };
    for (const [i, opening] of openings.entries()) {
      job.progress(i * game.players, { total: blocks * game.players, metrics: { games: i * game.players } });
      await job.pause();
      const result: BlockResult = playBlock(game, candidate, opponents, given.opening_plies, opening);
      tally.add([result]);
      untold.push({ opening, scores: [...result.scores] });
      if (untold.length >= BLOCKS_A_MESSAGE) tell();
    }
    tell();
    const { games, wins, draws, losses, score, redundancy } = tally;
    return { games, wins, draws, losses, score, redundancy, blocks, distinct_openings: distinct };
  };
