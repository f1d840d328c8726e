/** Looks through games and the rows that are said to come from them, by the rules alone. */
import { faultOfGame } from "../files/games-content.ts";
import { fingerprint, type Game, OUTCOME, PLY, type State, scores, TURN } from "../games/game.ts";
import type { Samples } from "../net/samples.ts";
import { log } from "../numerics/exp-log.ts";
import type { GameRecord } from "../play/self-play.ts";

/** The rows of each game, in the order of the file; rows of games that do not exist are not in it. */
export function rowsByGame(samples: Samples, games: number): number[][] {
  const rows = Array.from({ length: games }, (): number[] => []);
  for (let row = 0; row < samples.count; row += 1) rows[samples.game[row]!]?.push(row);
  return rows;
}

const entropyOf = (policy: Float32Array): number => {
  let sum = 0;
  for (const share of policy) if (share > 0) sum -= share * log(share);
  return sum;
};

export function createInspection(game: Game, samples: Samples, rows: readonly (readonly number[])[]) {
  const { cells, moves, players } = game;
  const state = game.newState();
  const codes = new Uint8Array(cells);
  const mask = new Uint8Array(moves);
  const legal = new Int32Array(moves);
  const shares = new Float64Array(players);
  const seen = new Set<number>();
  /** What was found, under the names of the job's metrics. */
  const figures = {
    /** Games that break the rules, or end otherwise than they claim. */
    illegal_games: 0,
    /** Rows that contradict their game: position, legal moves, a played move without a share, outcome, or no such ply. */
    label_errors: samples.count - rows.reduce((sum, each) => sum + each.length, 0),
    /** Games of the rules by their outcome: won by each seat, drawn last. */
    outcomes: new Array<number>(players + 1).fill(0),
    plies_sum: 0,
    plies_squares: 0,
    /** Positions after each move, and how many of them had been there before in these games. */
    positions_total: 0,
    positions_repeated: 0,
    /** Of the policy targets, in nats, over all rows. */
    entropy_sum: entropyOf(samples.policy),
    /**
     * What the first seat got by the label, less what the search expected for it, at the first row of each game: one number
     * a game, since rows of one game are alike.
     */
    surprise_sum: 0,
    surprise_squares: 0,
    surprise_count: 0,
  };

  /** Whether a row shows this position, and gives the move that was played a share. */
  const shows = (row: number, at: State, move: number): boolean => {
    game.encode(at, codes, 0);
    for (let i = 0; i < cells; i += 1) if (samples.codes[row * cells + i]! !== codes[i]!) return false;
    const view = game.views[at[TURN]!]!;
    const count = game.legalMoves(at, legal);
    mask.fill(0);
    for (let i = 0; i < count; i += 1) mask[view[legal[i]!]!] = 1;
    for (let m = 0; m < moves; m += 1) if (samples.legal[row * moves + m]! !== mask[m]!) return false;
    return samples.policy[row * moves + view[move]!]! > 0;
  };

  const hasOutcome = (row: number, turn: number): boolean => {
    for (let k = 0; k < players; k += 1)
      if (samples.outcome[row * players + k]! !== Math.fround(shares[(turn + k) % players]!)) return false;
    return true;
  };

  return {
    figures,
    /** Looks at the game of this number; each once. */
    look(index: number, record: GameRecord): void {
      const own = rows[index]!;
      /** Rows that stand where they should, with the seat to move there. */
      const placed: { readonly row: number; readonly turn: number }[] = [];
      let next = 0;
      let wrong = 0;
      const before: number[] = [];
      const fault = faultOfGame(game, record, state, (at, move) => {
        if (at[PLY]! > 0) before.push(fingerprint(game, at));
        const row = own[next];
        if (row === undefined || samples.ply[row]! !== at[PLY]!) return;
        next += 1;
        if (shows(row, at, move)) placed.push({ row, turn: at[TURN]! });
        else wrong += 1;
      });
      if (fault !== undefined) {
        figures.illegal_games += 1;
        return;
      }
      const outcome = state[OUTCOME]!;
      scores(players, outcome, shares);
      for (const { row, turn } of placed) if (!hasOutcome(row, turn)) wrong += 1;
      figures.label_errors += wrong + own.length - next;
      figures.outcomes[outcome]! += 1;
      const length = record.moves.length;
      figures.plies_sum += length;
      figures.plies_squares += length * length;
      for (const print of [...before, fingerprint(game, state)]) seen.add(print);
      figures.positions_total += before.length + 1;
      figures.positions_repeated = figures.positions_total - seen.size;
      const first = placed[0];
      if (first === undefined) return;
      const ahead = first.row * players + ((players - first.turn) % players);
      const gap = samples.outcome[ahead]! - samples.search[ahead]!;
      figures.surprise_sum += gap;
      figures.surprise_squares += gap * gap;
      figures.surprise_count += 1;
    },
  };
}
