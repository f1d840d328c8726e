/**
 * Othello on a square board of even size up to 8, as bitboards of two halves of up to 32 bits each.
 *
 * All lines of one direction are followed at once by shifting whole boards, so the cost of a move does not depend on
 * how crowded the board is. A seat without a move passes by itself: the turn stays, and PASSED says so.
 */
import { type Game, HEADER, LAST, OUTCOME, PASSED, PLY, type Position, RUNNING, type State, TURN } from "./game.ts";
import { block, drawGrid, formatCell, fullLines, identityMoves, parseCell, squareSymmetries } from "./grid.ts";

/** Seat s owns the halves DISCS + 2s and DISCS + 2s + 1; the mover's legal moves are kept beside them. */
const DISCS = HEADER;
const LEGAL = HEADER + 4;
const STATE_LENGTH = HEADER + 6;

const bitCount = (word: number): number => {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};

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
  const full = half === 32 ? -1 : (1 << half) - 1;
  const symmetries = squareSymmetries(size);
  const weights = weightsOf(size);
  const views = [identityMoves(cells), identityMoves(cells)];

  // Sideways and diagonal runs of flipped discs never include an edge column: masking it also stops the wrap-around.
  let inner = 0;
  for (let i = 0; i < half; i += 1) if (i % size !== 0 && i % size !== size - 1) inner |= 1 << i;
  const shifts = Int32Array.of(1, size, size + 1, size - 1);
  const masks = Int32Array.of(inner, full, inner, inner);
  const spread = size - 3;

  /** Stores the legal moves of a seat and says whether there is one. */
  const findLegal = (state: State, seat: number): boolean => {
    const ownLow = state[DISCS + 2 * seat]!;
    const ownHigh = state[DISCS + 2 * seat + 1]!;
    const otherLow = state[DISCS + 2 - 2 * seat]!;
    const otherHigh = state[DISCS + 3 - 2 * seat]!;
    let legalLow = 0;
    let legalHigh = 0;
    for (let d = 0; d < 4; d += 1) {
      const s = shifts[d]!;
      const back = half - s;
      const maskLow = otherLow & masks[d]!;
      const maskHigh = otherHigh & masks[d]!;
      let upLow = (ownLow << s) & maskLow;
      let upHigh = ((ownHigh << s) | (ownLow >>> back)) & maskHigh;
      let downHigh = (ownHigh >>> s) & maskHigh;
      let downLow = ((ownLow >>> s) | (ownHigh << back)) & maskLow;
      for (let k = 0; k < spread; k += 1) {
        upHigh |= ((upHigh << s) | (upLow >>> back)) & maskHigh;
        upLow |= (upLow << s) & maskLow;
        downLow |= ((downLow >>> s) | (downHigh << back)) & maskLow;
        downHigh |= (downHigh >>> s) & maskHigh;
      }
      legalLow |= (upLow << s) | (downLow >>> s) | (downHigh << back);
      legalHigh |= (upHigh << s) | (upLow >>> back) | (downHigh >>> s);
    }
    legalLow &= ~(ownLow | otherLow) & full;
    legalHigh &= ~(ownHigh | otherHigh) & full;
    state[LEGAL] = legalLow;
    state[LEGAL + 1] = legalHigh;
    return (legalLow | legalHigh) !== 0;
  };

  const discs = (state: State, seat: number): number =>
    bitCount(state[DISCS + 2 * seat]!) + bitCount(state[DISCS + 2 * seat + 1]!);

  /** Gives the turn to a seat that can move, or ends the game. */
  const settle = (state: State, next: number): void => {
    state[OUTCOME] = RUNNING;
    state[PASSED] = 0;
    state[TURN] = next;
    if (findLegal(state, next)) return;
    if (findLegal(state, 1 - next)) {
      state[TURN] = 1 - next;
      state[PASSED] = 1;
      return;
    }
    const difference = discs(state, 0) - discs(state, 1);
    state[OUTCOME] = difference === 0 ? 2 : difference > 0 ? 0 : 1;
  };

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
    symmetries,
    views,

    newState: () => opening.slice(),

    reset(state) {
      state.set(opening);
    },

    setup(state, position: Position) {
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

    legalMoves(state, out) {
      if (state[OUTCOME]! !== RUNNING) return 0;
      let count = 0;
      for (let bits = state[LEGAL]!; bits !== 0; bits &= bits - 1) {
        out[count] = 31 - Math.clz32(bits & -bits);
        count += 1;
      }
      for (let bits = state[LEGAL + 1]!; bits !== 0; bits &= bits - 1) {
        out[count] = half + 31 - Math.clz32(bits & -bits);
        count += 1;
      }
      return count;
    },

    isLegal(state, move) {
      if (state[OUTCOME]! !== RUNNING || move < 0 || move >= cells) return false;
      return move < half ? (state[LEGAL]! & (1 << move)) !== 0 : (state[LEGAL + 1]! & (1 << (move - half))) !== 0;
    },

    play(state, move) {
      const seat = state[TURN]!;
      const own = DISCS + 2 * seat;
      const other = DISCS + 2 - 2 * seat;
      const ownLow = state[own]!;
      const ownHigh = state[own + 1]!;
      const otherLow = state[other]!;
      const otherHigh = state[other + 1]!;
      const moveLow = move < half ? 1 << move : 0;
      const moveHigh = move < half ? 0 : 1 << (move - half);
      let turnedLow = 0;
      let turnedHigh = 0;
      for (let d = 0; d < 4; d += 1) {
        const s = shifts[d]!;
        const back = half - s;
        const maskLow = otherLow & masks[d]!;
        const maskHigh = otherHigh & masks[d]!;
        let low = moveLow;
        let high = moveHigh;
        let runLow = 0;
        let runHigh = 0;
        for (;;) {
          high = (high << s) | (low >>> back);
          low = (low << s) & full;
          if (((low & maskLow) | (high & maskHigh)) === 0) break;
          runLow |= low;
          runHigh |= high;
        }
        if (((low & ownLow) | (high & ownHigh)) !== 0) {
          turnedLow |= runLow;
          turnedHigh |= runHigh;
        }
        low = moveLow;
        high = moveHigh;
        runLow = 0;
        runHigh = 0;
        for (;;) {
          low = (low >>> s) | ((high << back) & full);
          high >>>= s;
          if (((low & maskLow) | (high & maskHigh)) === 0) break;
          runLow |= low;
          runHigh |= high;
        }
        if (((low & ownLow) | (high & ownHigh)) !== 0) {
          turnedLow |= runLow;
          turnedHigh |= runHigh;
        }
      }
      state[own] = ownLow | moveLow | turnedLow;
      state[own + 1] = ownHigh | moveHigh | turnedHigh;
      state[other] = otherLow & ~turnedLow;
      state[other + 1] = otherHigh & ~turnedHigh;
      state[PLY] = state[PLY]! + 1;
      state[LAST] = move;
      settle(state, 1 - seat);
    },

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
