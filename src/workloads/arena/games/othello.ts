/**
 * Othello on a square board of even size up to 8. A seat without a move passes by itself: the turn stays, and PASSED says
 * so.
 */
import { type Game, LAST, OUTCOME, PLY, RUNNING, TURN } from "./game.ts";
import { block, drawGrid, formatCell, fullLines, identityMoves, parseCell, squareSymmetries } from "./grid.ts";
import { bitCount, DISCS, LEGAL, othelloMoves, STATE_LENGTH } from "./othello-bits.ts";

/** Lines and corners: what Othello programs have always looked at. */
function tuplesOf(size: number): number[][] {
  const lines = fullLines(size, size, 4);
  const corners: number[][] = [];
  for (const row of [0, size - 2]) for (const column of [0, size - 3]) corners.push(block(size, row, column, 2, 3));
  for (const row of [0, size - 3]) for (const column of [0, size - 2]) corners.push(block(size, row, column, 3, 2));
  return [...lines, ...corners];
}

/** Corners are gold, the cells beside them are bait, edges are good, the rest counts little. */
function weightsOf(size: number): Int32Array {
  const end = size - 1;
  return Int32Array.from({ length: size * size }, (_, i) => {
    const row = Math.min(Math.floor(i / size), end - Math.floor(i / size));
    const column = Math.min(i % size, end - (i % size));
    if (row + column === 0) return 100;
    if (row === 1 && column === 1) return -40;
    if (row + column === 1) return -20;
    return row === 0 || column === 0 ? 10 : 1;
  });
}

export function othello(size: 6 | 8): Game {
  const cells = size * size;
  const half = cells / 2;
  const weights = weightsOf(size);
  const { findLegal, settle, legalMoves, play } = othelloMoves(size);

  const game: Game = {
    configKey: `othello${size}_2p`,
    title: `Othello ${size}x${size}`,
    rules: "Enclose the other side's discs in a line to turn them; most discs at the end win. X moves first.",
    players: 2,
    rows: size,
    columns: size,
    cells,
    moves: cells,
    maxPlies: cells - 4,
    codes: 3,
    tuples: tuplesOf(size),
    symmetries: squareSymmetries(size),
    views: [identityMoves(cells), identityMoves(cells)],

    newState: () => opening.slice(),

    reset(state) {
      state.set(opening);
    },

    setup(state, position) {
      state.fill(0);
      for (let i = 0; i < cells; i += 1) {
        const stone = position.cells[i]!;
        if (stone === 0) continue;
        const slot = DISCS + 2 * (stone - 1) + (i < half ? 0 : 1);
        state[slot] = state[slot]! | (1 << (i < half ? i : i - half));
      }
      state[PLY] = position.ply;
      state[LAST] = position.last;
      settle(state, position.turn);
    },

    legalMoves,

    isLegal(state, move) {
      if (state[OUTCOME]! !== RUNNING || move < 0 || move >= cells) return false;
      return move < half ? (state[LEGAL]! & (1 << move)) !== 0 : (state[LEGAL + 1]! & (1 << (move - half))) !== 0;
    },

    play,

    cell(state, cell) {
      const bit = 1 << (cell < half ? cell : cell - half);
      const offset = cell < half ? 0 : 1;
      if ((state[DISCS + offset]! & bit) !== 0) return 1;
      return (state[DISCS + 2 + offset]! & bit) !== 0 ? 2 : 0;
    },

    encode(state, out, offset) {
      const own = DISCS + 2 * state[TURN]!;
      const other = DISCS + 2 - 2 * state[TURN]!;
      for (let part = 0; part < 2; part += 1) {
        const mine = state[own + part]!;
        const theirs = state[other + part]!;
        const start = offset + part * half;
        for (let i = 0; i < half; i += 1) out[start + i] = ((mine >>> i) & 1) | (((theirs >>> i) & 1) << 1);
      }
    },

    heuristic(state, seat) {
      const low = state[LEGAL]!;
      const high = state[LEGAL + 1]!;
      findLegal(state, seat);
      let value = 8 * (bitCount(state[LEGAL]!) + bitCount(state[LEGAL + 1]!));
      findLegal(state, 1 - seat);
      value -= 8 * (bitCount(state[LEGAL]!) + bitCount(state[LEGAL + 1]!));
      state[LEGAL] = low;
      state[LEGAL + 1] = high;
      for (let i = 0; i < cells; i += 1) {
        const stone = game.cell(state, i);
        if (stone !== 0) value += stone === seat + 1 ? weights[i]! : -weights[i]!;
      }
      return value;
    },

    formatMove: (move) => formatCell(size, move),
    parseMove: (text) => parseCell(size, size, text),
    draw: (state) => drawGrid(game, state),
  };
  const opening = new Int32Array(STATE_LENGTH);
  const start = new Uint8Array(cells);
  const middle = size / 2;
  start[(middle - 1) * size + middle] = 1;
  start[middle * size + middle - 1] = 1;
  start[(middle - 1) * size + middle - 1] = 2;
  start[middle * size + middle] = 2;
  game.setup(opening, { cells: start, turn: 0, ply: 0, last: -1 });
  return game;
}
