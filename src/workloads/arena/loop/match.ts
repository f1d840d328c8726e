/**
 * Matches in blocks: one opening, played once with the candidate in every seat. Luck of the opening and of the seat
 * falls on both sides alike, so a block is the unit that a test counts.
 */
import { assert, pick, seededRandom } from "../../../kernel/index.ts";
import type { Player } from "../baselines/player.ts";
import { fingerprint, type Game, isOver, OUTCOME, type State, TURN } from "../games/game.ts";
import { mixSeed } from "../numerics/samplers.ts";

/** Plays seeded random moves from the start; never ends in a finished game. */
export function playOpening(game: Game, plies: number, seed: number, state: State, moves: Int32Array): number {
  for (let attempt = 0; ; attempt += 1) {
    const random = seededRandom(mixSeed(seed, attempt));
    game.reset(state);
    let ply = 0;
    for (; ply < plies && !isOver(state); ply += 1) {
      const count = game.legalMoves(state, moves);
      const move = moves[pick(random, count)]!;
      game.play(state, move);
    }
    if (!isOver(state)) return ply;
  }
}

/** Seeds of openings that end in different positions, as far as the game has that many. */
export function distinctOpenings(game: Game, plies: number, seed: number, count: number): number[] {
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  const seen = new Set<number>();
  const seeds: number[] = [];
  for (let i = 0; seeds.length < count; i += 1) {
    const candidate = mixSeed(seed, i);
    playOpening(game, plies, candidate, state, moves);
    const print = fingerprint(game, state);
    if (seen.has(print) && i < count * 20) continue;
    seen.add(print);
    seeds.push(candidate);
  }
  return seeds;
}

export interface PlayedGame {
  readonly outcome: number;
  /** Fingerprints of the positions after the opening, to tell how much a match repeats itself. */
  readonly positions: readonly number[];
}

/** One game from an opening. `seats` gives the player of each seat; no player sits twice. */
export function playGame(game: Game, seats: readonly Player[], plies: number, seed: number): PlayedGame {
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  playOpening(game, plies, seed, state, moves);
  seats.forEach((player, seat) => {
    player.newGame(mixSeed(seed, seat + 1000));
  });
  const positions: number[] = [];
  while (!isOver(state)) {
    const move = seats[state[TURN]!]!.choose(state);
    assert(game.isLegal(state, move), "a player chose an illegal move");
    game.play(state, move);
    positions.push(fingerprint(game, state));
    for (const player of seats) player.played(move);
  }
  return { outcome: state[OUTCOME]!, positions };
}

export interface BlockResult {
  /** The candidate's score in each game, by its seat: 1 for a win, 0 for a loss, its share for a draw. */
  readonly scores: readonly number[];
  readonly positions: readonly number[];
}

/** Plays one opening with the candidate in every seat; `opponents` are the players - 1 others. */
export function playBlock(
  game: Game,
  candidate: Player,
  opponents: readonly Player[],
  plies: number,
  seed: number,
): BlockResult {
  const games = Array.from({ length: game.players }, (_, seat) =>
    playGame(
      game,
      Array.from({ length: game.players }, (_, s) => (s === seat ? candidate : opponents[s < seat ? s : s - 1]!)),
      plies,
      seed,
    ),
  );
  const scoreOf = (outcome: number, seat: number) =>
    outcome === game.players ? 1 / game.players : outcome === seat ? 1 : 0;
  return {
    scores: games.map(({ outcome }, seat) => scoreOf(outcome, seat)),
    positions: games.flatMap(({ positions }) => positions),
  };
}

/**
 * A match as counts of blocks by their total score, lowest first, in steps of 1 / players: for two players LL, LD,
 * DD or WL, WD, WW. `redundancy` is the share of positions that were seen before in the match.
 */
export interface Tally {
  readonly counts: number[];
  readonly blocks: number;
  readonly games: number;
  /** Games that the candidate won, drew and lost. */
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
  /** Its mean score of a game, from 0 to 1; equals have 1 / players. */
  readonly score: number;
  readonly redundancy: number;
  add(results: readonly BlockResult[]): void;
}

export function createTally(players: number): Tally {
  const counts = new Array<number>(players * players + 1).fill(0);
  const seen = new Set<number>();
  let positions = 0;
  let blocks = 0;
  let wins = 0;
  let losses = 0;
  let total = 0;
  return {
    counts,
    get blocks() {
      return blocks;
    },
    get games() {
      return blocks * players;
    },
    get wins() {
      return wins;
    },
    get draws() {
      return blocks * players - wins - losses;
    },
    get losses() {
      return losses;
    },
    get score() {
      return blocks === 0 ? 0 : total / (blocks * players);
    },
    get redundancy() {
      return positions === 0 ? 0 : 1 - seen.size / positions;
    },
    add(results) {
      for (const result of results) {
        const sum = result.scores.reduce((a, b) => a + b, 0);
        counts[Math.round(sum * players)]! += 1;
        blocks += 1;
        total += sum;
        for (const score of result.scores) {
          if (score === 1) wins += 1;
          if (score === 0) losses += 1;
        }
        positions += result.positions.length;
        for (const position of result.positions) seen.add(position);
      }
    },
  };
}
