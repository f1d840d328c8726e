/**
 * Hex on a rhombus: the first player joins top and bottom, the second left and right; a draw is impossible.
 *
 * With the swap rule: instead of answering the first stone, the second player may take it over. The stone is mirrored
 * and changes colour, so that the players keep their edges. Without it the first move decides the game.
 */
import { type Game, HEADER, LAST, OUTCOME, PASSED, PLY, RUNNING, TURN } from "./game.ts";
import { block, drawGrid, formatCell, identityMoves, parseCell, squareSymmetries } from "./grid.ts";
import { hexLinks } from "./hex-links.ts";

/** Whole neighbourhoods would be sparse; blocks of 2 by 3 hold the bridges and their intrusions. */
function tuplesOf(size: number): number[][] {
  const tuples: number[][] = [];
  for (let r = 0; r + 2 <= size; r += 1) for (let c = 0; c + 3 <= size; c += 1) tuples.push(block(size, r, c, 2, 3));
  for (let r = 0; r + 3 <= size; r += 1) for (let c = 0; c + 2 <= size; c += 1) tuples.push(block(size, r, c, 3, 2));
  return tuples;
}

export function hex(size: number): Game {
  const cells = size * size;
  const swap = cells;
  const BOARD = HEADER;
  const { length, unlink, place, missing } = hexLinks(size);
  const transposed = Uint8Array.from({ length: cells + 1 }, (_, i) =>
    i === swap ? swap : (i % size) * size + Math.floor(i / size),
  );
  const symmetries = squareSymmetries(size)
    .filter(({ name }) => name === "identity" || name === "half turn")
    .map(({ name, cells: map }) => ({ name, cells: map, moves: Uint8Array.of(...map, swap) }));

  const game: Game = {
    configKey: `hex${size}_2p`,
    title: `Hex ${size}x${size}`,
    rules:
      "X joins top and bottom, O left and right. O may answer the first stone with `swap` to take it over, mirrored.",
    players: 2,
    rows: size,
    columns: size,
    cells,
    moves: cells + 1,
    maxPlies: cells + 1,
    codes: 3,
    tuples: tuplesOf(size),
    symmetries,
    // The second player sees the board transposed, so that a network always joins top and bottom.
    views: [identityMoves(cells + 1), transposed],

    newState() {
      const state = new Int32Array(length);
      game.reset(state);
      return state;
    },

    reset(state) {
      state.fill(0);
      state[OUTCOME] = RUNNING;
      state[LAST] = -1;
      unlink(state);
    },

    setup(state, position) {
      game.reset(state);
      for (let i = 0; i < cells; i += 1) if (position.cells[i]! !== 0) place(state, i, position.cells[i]!);
      state[TURN] = position.turn;
      state[PLY] = position.ply;
      state[LAST] = position.last;
    },

    legalMoves(state, out) {
      if (state[OUTCOME]! !== RUNNING) return 0;
      let count = 0;
      for (let i = 0; i < cells; i += 1) {
        if (state[BOARD + i]! !== 0) continue;
        out[count] = i;
        count += 1;
      }
      if (state[PLY]! === 1) {
        out[count] = swap;
        count += 1;
      }
      return count;
    },

    isLegal(state, move) {
      if (state[OUTCOME]! !== RUNNING) return false;
      if (move === swap) return state[PLY]! === 1;
      return move >= 0 && move < cells && state[BOARD + move]! === 0;
    },

    play(state, move) {
      const seat = state[TURN]!;
      if (move === swap) {
        const taken = state[LAST]!;
        game.reset(state);
        place(state, transposed[taken]!, 2);
        state[PLY] = 1;
      } else place(state, move, seat + 1);
      state[PLY] = state[PLY]! + 1;
      state[LAST] = move;
      state[PASSED] = 0;
      state[TURN] = 1 - seat;
    },

    cell: (state, cell) => state[BOARD + cell]!,

    encode(state, out, offset) {
      if (state[TURN]! === 0) for (let i = 0; i < cells; i += 1) out[offset + i] = state[BOARD + i]!;
      else
        for (let i = 0; i < cells; i += 1) {
          const stone = state[BOARD + i]!;
          out[offset + transposed[i]!] = stone === 0 ? 0 : 3 - stone;
        }
    },

    heuristic: (state, seat) => missing(state, 1 - seat) - missing(state, seat),

    formatMove: (move) => (move === swap ? "swap" : formatCell(size, move)),
    parseMove: (text) => (text.trim().toLowerCase() === "swap" ? swap : parseCell(size, size, text)),

    draw: (state) => drawGrid(game, state, true),
  };
  return game;
}
