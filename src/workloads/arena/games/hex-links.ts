/** What is joined on a board of Hex, and how far an edge is from the other. */
import { HEADER, OUTCOME, type State } from "./game.ts";

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

export function hexLinks(size: number) {
  const cells = size * size;
  const BOARD = HEADER;
  /** Parents of a union-find over the cells and the four edges. */
  const LINKS = HEADER + cells;
  const TOP = cells;
  const LEFT = cells + 2;
  const neighbours = neighboursOf(size);

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

  /** Puts a stone on a cell and sees whether it wins. */
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

  /** Every cell and every edge for itself. */
  const unlink = (state: State): void => {
    for (let i = 0; i < cells + 4; i += 1) state[LINKS + i] = i;
  };

  return { length: LINKS + cells + 4, unlink, place, missing };
}
