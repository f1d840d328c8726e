/** Games of a network against itself, move by move from one seed, and the training rows they yield. */
import { pick, type Random, seededRandom } from "../../../kernel/index.ts";
import { type Game, isOver, OUTCOME, PLY, type State, scores, TURN } from "../games/game.ts";
import { copySamples, emptySamples, type Samples } from "../net/samples.ts";
import { power } from "../numerics/exp-log.ts";
import type { Search } from "../search/puct.ts";

export interface SelfPlayConfig {
  /** Temperature of the move choice before and from `temperaturePlies` on. */
  readonly temperature: number;
  readonly lateTemperature: number;
  readonly temperaturePlies: number;
  /** A game starts with 0 to this many random plies, so that the network knows positions that good play avoids. */
  readonly randomPlies: number;
  /** The share of moves that are searched in full and learned from; the others get `fastSimulations` and no noise. */
  readonly fullShare: number;
  readonly fastSimulations: number;
  /** The share of games that begin within a game of the archive, at any of its positions. */
  readonly archiveShare: number;
  /** Positions of the archive that are drawn for such a game: it begins at the one whose outcome the network is least sure of. */
  readonly archiveChoices: number;
  /** The share of games in which one seat is played by another network; nothing is learned from its moves. */
  readonly opponentShare: number;
}

/** What games draw on beside their network. A share without it changes nothing. */
export interface Beside {
  readonly archive?: readonly GameRecord[] | undefined;
  readonly opponent?: Search | undefined;
  /** Is shown each position as it comes; what it does changes no game. */
  readonly watch?: ((state: State) => void) | undefined;
}

export const DEFAULT_SELF_PLAY: SelfPlayConfig = {
  temperature: 1,
  lateTemperature: 0.25,
  temperaturePlies: 12,
  randomPlies: 4,
  fullShare: 1,
  fastSimulations: 16,
  archiveShare: 0,
  archiveChoices: 1,
  opponentShare: 0,
};

export interface GameRecord {
  readonly seed: number;
  readonly moves: Uint8Array;
  /** The winner's seat, or the number of players for a draw. */
  readonly outcome: number;
}

export interface SelfPlayResult {
  readonly games: readonly GameRecord[];
  readonly samples: Samples;
}

/** Draws a move with chances proportional to visits^(1 / temperature). */
function drawMove(visits: Int32Array, temperature: number, random: Random, weights: Float64Array): number {
  let sum = 0;
  for (let m = 0; m < visits.length; m += 1) {
    const n = visits[m]!;
    weights[m] = n === 0 ? 0 : temperature === 1 ? n : power(n, 1 / temperature);
    sum += weights[m]!;
  }
  let left = random.next() * sum;
  let last = -1;
  for (let m = 0; m < visits.length; m += 1) {
    if (weights[m]! === 0) continue;
    last = m;
    left -= weights[m]!;
    if (left < 0) return m;
  }
  return last;
}

/** The moves up to one position of one game; at least one move of it is left to play. */
function beginningOf(archive: readonly GameRecord[], random: Random): Uint8Array {
  const { moves } = archive[pick(random, archive.length)]!;
  return moves.subarray(0, pick(random, Math.max(1, moves.length)));
}

/** Visits with which a position is judged before a game begins there. */
const JUDGED_VISITS = 8;

/** Plays one game for each seed. A game depends on its seed, the networks, the archive and the configs, and on nothing else. */
export function selfPlay(
  game: Game,
  search: Search,
  config: SelfPlayConfig,
  seeds: readonly number[],
  { archive = [], opponent, watch }: Beside = {},
): SelfPlayResult {
  const { cells, moves, players } = game;
  const state: State = game.newState();
  const legal = new Int32Array(moves);
  const weights = new Float64Array(moves);
  const shares = new Float64Array(players);
  const rows = emptySamples(game, seeds.length * game.maxPlies);
  const seats = new Uint8Array(game.maxPlies);
  const played = new Uint8Array(game.maxPlies);
  let count = 0;

  const record = (index: number, legalCount: number): void => {
    const turn = state[TURN]!;
    const view = game.views[turn]!;
    game.encode(state, rows.codes, count * cells);
    let total = 0;
    for (let i = 0; i < legalCount; i += 1) total += search.visits[legal[i]!]!;
    for (let i = 0; i < legalCount; i += 1) {
      const at = count * moves + view[legal[i]!]!;
      rows.legal[at] = 1;
      rows.policy[at] = search.visits[legal[i]!]! / total;
    }
    for (let k = 0; k < players; k += 1) rows.search[count * players + k] = search.values[(turn + k) % players]!;
    rows.ply[count] = state[PLY]!;
    rows.game[count] = index;
  };

  const temperatureAt = (ply: number): number =>
    ply < config.temperaturePlies ? config.temperature : config.lateTemperature;

  /** The best share that any seat may expect after these moves: the lower, the less is known of the outcome. */
  const certaintyOf = (begun: Uint8Array): number => {
    game.reset(state);
    search.reset();
    for (const move of begun) game.play(state, move);
    search.run(state, undefined, JUDGED_VISITS);
    const best = Math.max(...search.values);
    game.reset(state);
    search.reset();
    return best;
  };

  const beginning = (random: Random): Uint8Array => {
    let chosen = beginningOf(archive, random);
    if (config.archiveChoices <= 1) return chosen;
    let least = certaintyOf(chosen);
    for (let n = 1; n < config.archiveChoices; n += 1) {
      const other = beginningOf(archive, random);
      const certainty = certaintyOf(other);
      if (certainty < least) [chosen, least] = [other, certainty];
    }
    return chosen;
  };

  const playOne = (seed: number, index: number): GameRecord => {
    const random = seededRandom(seed);
    const first = count;
    game.reset(state);
    search.reset();
    const randomPlies = pick(random, config.randomPlies + 1);
    // Nothing is drawn that a plan does not ask for: without it games are what they always were.
    const isArchived = archive.length > 0 && config.archiveShare > 0 && random.next() < config.archiveShare;
    const begun = isArchived ? beginning(random) : [];
    const isMet = opponent !== undefined && config.opponentShare > 0 && random.next() < config.opponentShare;
    const strange = isMet ? pick(random, players) : -1;
    opponent?.reset();
    let ply = 0;
    while (!isOver(state)) {
      const legalCount = game.legalMoves(state, legal);
      let move = legal[0]!;
      if (ply < begun.length) move = begun[ply]!;
      else if (!isArchived && ply < randomPlies) move = legal[pick(random, legalCount)]!;
      else if (legalCount > 1 && state[TURN] === strange) {
        opponent!.run(state);
        move = drawMove(opponent!.visits, temperatureAt(ply), random, weights);
      } else if (legalCount > 1) {
        if (config.fullShare >= 1 || random.next() < config.fullShare) {
          search.run(state, random);
          record(index, legalCount);
          seats[count - first] = state[TURN]!;
          count += 1;
        } else search.run(state, undefined, config.fastSimulations);
        move = drawMove(search.visits, temperatureAt(ply), random, weights);
      }
      played[ply] = move;
      ply += 1;
      game.play(state, move);
      search.advance(move);
      if (isMet) opponent!.advance(move);
      watch?.(state);
    }
    scores(players, state[OUTCOME]!, shares);
    for (let row = first; row < count; row += 1)
      for (let k = 0; k < players; k += 1)
        rows.outcome[row * players + k] = shares[(seats[row - first]! + k) % players]!;
    return { seed, moves: played.slice(0, ply), outcome: state[OUTCOME]! };
  };

  const games = seeds.map(playOne);
  const samples = emptySamples(game, count);
  copySamples(rows, 0, count, samples, 0);
  return { games, samples };
}
