/**
 * Hex on a rhombus: the first player joins top and bottom, the second left and right; a draw is impossible.
 *
 * With the swap rule: instead of answering the first stone, the second player may take it over. The stone is mirrored
 * and changes colour, so that the players keep their edges. Without it the first move decides the game.
 */
import { type Game, HEADER, LAST, OUTCOME, PASSED, PLY, RUNNING, type State, TURN } from "./game.ts";
import { block, formatCell, identityMoves, parseCell, squareSymmetries, stoneOf } from "./grid.ts";

/** Whole neighbourhoods would be sparse; blocks of 2 by 3 hold the bridges and their intrusions. */
function tuplesOf(size: number): number[][] {
  const tuples: number[][] = [];
  for (let r = 0; r + 2 <= size; r += 1) for (let c = 0; c + 3 <= size; c += 1) tuples.push(block(size, r, c, 2, 3));
  for (let r = 0; r + 3 <= size; r += 1) for (let c = 0; c + 2 <= size; c += 1) tuples.push(block(size, r, c, 3, 2));
  return tuples;
}

/** Six neighbours of each cell, -1 where the board ends. */
function neighboursOf(size: number): Int32Array {
  const steps = [
    [-1, 0],
    [-1, 1],
    [0, -1],
    [0, 1],
    [1, -1],
    [1, 0],
  ] as const;
  const table = new Int32Array(size * size * 6).fill(-1);
  for (let i = 0; i < size * size; i += 1) {
    steps.forEach(([down, right], k) => {
      const row = Math.floor(i / size) + down;
      const column = (i % size) + right;
      if (row >= 0 && row < size && column >= 0 && column < size) table[i * 6 + k] = row * size + column;
    });
  }
  return table;
}

export function hex(size: number): Game {
  const cells = size * size;
  const swap = cells;
  const BOARD = HEADER;
  /** Parents of a union-find over the cells and the four edges. */
  const LINKS = HEADER + cells;
  const TOP = cells;
  const LEFT = cells + 2;
  const length = LINKS + cells + 4;
  const neighbours = neighboursOf(size);
  const transposed = Uint8Array.from({ length: cells + 1 }, (_, i) =>
    i === swap ? swap : (i % size) * size + Math.floor(i / size),
  );
  const symmetries = squareSymmetries(size)
    .filter(({ name }) => name === "identity" || name === "half turn")
    .map(({ name, cells: map }) => ({ name, cells: map, moves: Uint8Array.of(...map, swap) }));

  const rootOf = (state: State, node: number): number => {
    let n = node;
    for (;;) {
      const parent = state[LINKS + n]!;
      if (parent === n) return n;
      const grand = state[LINKS + parent]!;
      state[LINKS + n] = grand;
      n = grand;
    }
  };

  const join = (state: State, a: number, b: number): void => {
    const x = rootOf(state, a);
    const y = rootOf(state, b);
    if (x < y) state[LINKS + x] = y;
    else state[LINKS + y] = x;
  };

  const place = (state: State, cell: number, stone: number): void => {
    state[BOARD + cell] = stone;
    for (let k = cell * 6; k < cell * 6 + 6; k += 1) {
      const next = neighbours[k]!;
      if (next >= 0 && state[BOARD + next]! === stone) join(state, cell, next);
    }
    const along = stone === 1 ? Math.floor(cell / size) : cell % size;
    const edge = stone === 1 ? TOP : LEFT;
    if (along === 0) join(state, cell, edge);
    if (along === size - 1) join(state, cell, edge + 1);
    if (rootOf(state, edge) === rootOf(state, edge + 1)) state[OUTCOME] = stone - 1;
  };

  const distances = new Int32Array(cells);
  const queue = new Int32Array(cells * 12);

  /** How many stones a seat still needs to join its edges: a search that walks own stones for nothing. */
  const missing = (state: State, seat: number): number => {
    const stone = seat + 1;
    distances.fill(1 << 20);
    // A deque in one array: own stones go to the front, empty cells to the back.
    let head = queue.length >> 1;
    let tail = head;
    for (let i = 0; i < size; i += 1) {
      const cell = seat === 0 ? i : i * size;
      const content = state[BOARD + cell]!;
      if (content !== 0 && content !== stone) continue;
      distances[cell] = content === 0 ? 1 : 0;
      if (content === 0) queue[tail++] = cell;
      else queue[--head] = cell;
    }
    while (head < tail) {
      const cell = queue[head++]!;
      for (let k = cell * 6; k < cell * 6 + 6; k += 1) {
        const next = neighbours[k]!;
        if (next < 0) continue;
        const content = state[BOARD + next]!;
        if (content !== 0 && content !== stone) continue;
        const distance = distances[cell]! + (content === 0 ? 1 : 0);
        if (distance >= distances[next]!) continue;
        distances[next] = distance;
        if (content === 0) queue[tail++] = next;
        else queue[--head] = next;
      }
    }
    let best = 1 << 20;
    for (let i = 0; i < size; i += 1) {
      const cell = seat === 0 ? (size - 1) * size + i : i * size + size - 1;
      if (distances[cell]! < best) best = distances[cell]!;
    }
    return best;
  };

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
      for (let i = 0; i < cells + 4; i += 1) state[LINKS + i] = i;
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

    draw(state) {
      const letters = Array.from({ length: size }, (_, i) => String.fromCharCode(97 + i)).join(" ");
      const lines = [`   ${letters}`];
      for (let row = 0; row < size; row += 1) {
        const stones = Array.from({ length: size }, (_, i) => stoneOf(game.cell(state, row * size + i))).join(" ");
        lines.push(`${" ".repeat(row)}${String(row + 1).padStart(2)} ${stones}`);
      }
      return lines.join("\n");
    },
  };
  return game;
}
