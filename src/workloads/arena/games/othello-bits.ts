/**
 * The moves of Othello on bitboards of two halves of up to 32 bits each. All lines of one direction are followed at once by
 * shifting whole boards, so the cost of a move does not depend on how crowded the board is.
 */
import { HEADER, LAST, OUTCOME, PASSED, PLY, RUNNING, type State, TURN } from "./game.ts";

/** Seat s owns the halves DISCS + 2s and DISCS + 2s + 1; the mover's legal moves are kept beside them. */
export const DISCS = HEADER;
export const LEGAL = HEADER + 4;
export const STATE_LENGTH = HEADER + 6;

export const bitCount = (word: number): number => {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};

export function othelloMoves(size: number) {
  const half = (size * size) / 2;
  const full = half === 32 ? -1 : (1 << half) - 1;

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

  const legalMoves = (state: State, out: Int32Array): number => {
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
  };

  /** Places a disc and turns what it encloses. */
  const play = (state: State, move: number): void => {
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
  };

  return { findLegal, settle, legalMoves, play };
}
