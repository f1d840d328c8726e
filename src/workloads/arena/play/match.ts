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
      game.play(state, moves[pick(random, game.legalMoves(state, moves))]!);
    }
    if (!isOver(state)) return ply;
  }
}

/** Tells the positions that openings end in, each as a number. */
export function openingPrints(game: Game, plies: number): (seed: number) => number {
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  return (seed) => {
    playOpening(game, plies, seed, state, moves);
    return fingerprint(game, state);
  };
}

/** Seeds of openings that end in different positions, as far as the game has that many. */
export function distinctOpenings(game: Game, plies: number, seed: number, count: number): number[] {
  const printOf = openingPrints(game, plies);
  const seen = new Set<number>();
  const seeds: number[] = [];
  for (let i = 0; seeds.length < count; i += 1) {
    const candidate = mixSeed(seed, i);
    const print = printOf(candidate);
    if (seen.has(print) && i < count * 20) continue;
    seen.add(print);
    seeds.push(candidate);
  }
  return seeds;
}

/** One game from an opening. `seats` gives the player of each seat; no player sits twice. */
export function playGame(
  game: Game,
  seats: readonly Player[],
  plies: number,
  seed: number,
  watch?: (state: State) => void,
) {
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  playOpening(game, plies, seed, state, moves);
  seats.forEach((player, seat) => {
    player.newGame(mixSeed(seed, seat + 1000));
  });
  /** Fingerprints of the positions after the opening, to tell how much a match repeats itself. */
  const positions: number[] = [];
  while (!isOver(state)) {
    const move = seats[state[TURN]!]!.choose(state);
    assert(game.isLegal(state, move), "a player chose an illegal move");
    game.play(state, move);
    positions.push(fingerprint(game, state));
    for (const player of seats) player.played(move);
    watch?.(state);
  }
  return { outcome: state[OUTCOME]!, positions };
}

export interface BlockResult {
  /** The candidate's score in each game, by its seat: 1 for a win, 0 for a loss, its share for a draw. */
  readonly scores: number[];
  readonly positions: readonly number[];
}

/** Plays one opening with the candidate in every seat; `opponents` are the players - 1 others. */
export function playBlock(
  game: Game,
  candidate: Player,
  opponents: readonly Player[],
  plies: number,
  seed: number,
  watch?: (state: State) => void,
): BlockResult {
  const games = Array.from({ length: game.players }, (_, seat) =>
    playGame(
      game,
      Array.from({ length: game.players }, (_, s) => (s === seat ? candidate : opponents[s < seat ? s : s - 1]!)),
      plies,
      seed,
      watch,
    ),
  );
  const scoreOf = (outcome: number, seat: number) =>
    outcome === game.players ? 1 / game.players : outcome === seat ? 1 : 0;
  return {
    scores: games.map(({ outcome }, seat) => scoreOf(outcome, seat)),
    positions: games.flatMap(({ positions }) => positions),
  };
}

/** A match, as far as it was played. */
export function createTally(players: number) {
  const seen = new Set<number>();
  let positions = 0;
  let total = 0;
  const tally = {
    /** Blocks by their total score, lowest first, in steps of 1 / players: for two players LL, LD, DD or WL, WD, WW. */
    counts: new Array<number>(players * players + 1).fill(0),
    blocks: 0,
    games: 0,
    /** Games that the candidate won, drew and lost. */
    wins: 0,
    draws: 0,
    losses: 0,
    /** Its mean score of a game, from 0 to 1; equals have 1 / players. */
    score: 0,
    /** The share of positions that were seen before in the match. */
    redundancy: 0,
    add(results: readonly BlockResult[]): void {
      for (const result of results) {
        const sum = result.scores.reduce((a, b) => a + b, 0);
        tally.counts[Math.round(sum * players)]! += 1;
        tally.blocks += 1;
        total += sum;
        for (const score of result.scores) tally[score === 1 ? "wins" : score === 0 ? "losses" : "draws"] += 1;
        positions += result.positions.length;
        for (const position of result.positions) seen.add(position);
      }
      tally.games = tally.blocks * players;
      tally.score = tally.games === 0 ? 0 : total / tally.games;
      tally.redundancy = positions === 0 ? 0 : 1 - seen.size / positions;
    },
  };
  return tally;
}

export type Tally = ReturnType<typeof createTally>;
