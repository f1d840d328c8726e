/**
 * Matches in blocks: one opening, played once with the candidate in every seat. Luck of the opening and of the seat
 * falls on both sides alike, so a block is the unit that a test counts.
 */
import { pick, seededRandom } from "../../../kernel/index.ts";
import type { Player } from "../baselines/player.ts";
import { fingerprint, type Game, isOver, OUTCOME, type State } from "../games/game.ts";
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

/** One game from an opening; answers the outcome. `seats` gives the player of each seat; no player sits twice. */
export function playGame(game: Game, seats: readonly Player[], plies: number, seed: number): number {
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  playOpening(game, plies, seed, state, moves);
  seats.forEach((player, seat) => {
    player.newGame(mixSeed(seed, seat + 1000));
  });
  while (!isOver(state)) {
    const move = seats[state[0]!]!.choose(state);
    game.play(state, move);
    for (const player of seats) player.played(move);
  }
  return state[OUTCOME]!;
}

/**
 * The candidate's scores in the games of one block, by its seat: 1 for a win, 0 for a loss, its share for a draw.
 * `opponents` are the players - 1 others.
 */
export function playBlock(game: Game, candidate: Player, opponents: readonly Player[], plies: number, seed: number): number[] {
  return Array.from({ length: game.players }, (_, seat) => {
    const seats = Array.from({ length: game.players }, (_, s) =>
      s === seat ? candidate : opponents[s < seat ? s : s - 1]!,
    );
    const outcome = playGame(game, seats, plies, seed);
    return outcome === game.players ? 1 / game.players : outcome === seat ? 1 : 0;
  });
}
