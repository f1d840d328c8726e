/** Connect Four on any board and for 2 to 4 players: drop a stone, first four in a row wins. */
import { type Game, HEADER, LAST, OUTCOME, PASSED, PLY, RUNNING, type State, TURN } from "./game.ts";
import { columnSymmetries, identityMoves, lineWindows, stonesIn } from "./grid.ts";

const LINE = 4;

/**
 * A line that holds stones of two players is dead: nobody wins there any more, however it is filled. All dead contents
 * share a row; a live one is told by its owner and by which cells are empty, playable or taken.
 */
function sharedRowsOf(players: number): Int32Array {
  const codes = players + 2;
  const DEAD = 0;
  const FREE = 1;
  const FREE_ROWS = 2 * 2 * 2 * 2;
  const OWNED_ROWS = 3 * 3 * 3 * 3;
  const rowOf = (content: readonly number[]): number => {
    const owners = new Set(content.filter((code) => code >= 1 && code <= players));
    if (owners.size > 1) return DEAD;
    const digit = (code: number) => (code === 0 ? 0 : code === players + 1 ? 1 : 2);
    const base = owners.size === 0 ? 2 : 3;
    const pattern = content.reduce((number, code) => number * base + digit(code), 0);
    const [owner = 0] = owners;
    return owner === 0 ? FREE + pattern : FREE + FREE_ROWS + (owner - 1) * OWNED_ROWS + pattern;
  };
  const rows: number[] = [];
  const extend = (content: readonly number[]): void => {
    if (content.length === LINE) rows.push(rowOf(content));
    else for (let code = 0; code < codes; code += 1) extend([...content, code]);
  };
  extend([]);
  return Int32Array.from(rows);
}

/** What the lines that only one player has stones in are worth to a seat; `windowSlots` are their places on end. */
function lineWorth(state: State, seat: number, windowSlots: Int32Array): number {
  let value = 0;
  for (let w = 0; w < windowSlots.length; w += LINE) {
    let owner = 0;
    let count = 0;
    for (let i = 0; i < LINE; i += 1) {
      const stone = state[windowSlots[w + i]!]!;
      if (stone === 0) continue;
      if (owner === 0) owner = stone;
      else if (owner !== stone) {
        count = 0;
        break;
      }
      count += 1;
    }
    if (count === 0) continue;
    const worth = count === 1 ? 1 : count === 2 ? 6 : 30;
    value += owner === seat + 1 ? worth : -worth;
  }
  return value;
}

export function connectFour(columns: number, rows: number, players: number): Game {
  const cells = rows * columns;
  // A border of empty cells around the board spares every bounds check: it never holds anybody's stone.
  const stride = columns + 1;
  const FILLED = HEADER;
  const BOARD = HEADER + columns;
  const length = BOARD + (rows + 2) * stride + 1;
  const slotOf = Int32Array.from(
    { length: cells },
    (_, i) => BOARD + (Math.floor(i / columns) + 1) * stride + (i % columns) + 1,
  );
  const bottom = BOARD + rows * stride + 1;
  const directions = Int32Array.of(1, stride, stride + 1, stride - 1);
  const windows = lineWindows(rows, columns, LINE);
  const windowSlots = Int32Array.from(windows.flat(), (cell) => slotOf[cell]!);
  const playable = players + 1;

  const wins = (state: State, slot: number, stone: number): boolean => {
    for (let d = 0; d < 4; d += 1) {
      const step = directions[d]!;
      let run = 1;
      for (let s = slot + step; state[s]! === stone; s += step) run += 1;
      for (let s = slot - step; state[s]! === stone; s -= step) run += 1;
      if (run >= LINE) return true;
    }
    return false;
  };

  const game: Game = {
    configKey: `connect4_${columns}x${rows}_${players}p`,
    title: `Connect Four ${columns}x${rows}${players === 2 ? "" : ` for ${players} players`}`,
    rules: "Drop a stone into a column; the first to have four in a straight line wins. A full board is a draw.",
    players,
    rows,
    columns,
    cells,
    moves: columns,
    maxPlies: cells,
    // Beyond the stones, the code `players + 1` marks the empty cell that a stone would fall into: threats depend on it.
    codes: players + 2,
    tuples: windows,
    sharedRows: sharedRowsOf(players),
    symmetries: columnSymmetries(rows, columns),
    views: Array.from({ length: players }, () => identityMoves(columns)),

    newState() {
      const state = new Int32Array(length);
      game.reset(state);
      return state;
    },

    reset(state) {
      state.fill(0);
      state[OUTCOME] = RUNNING;
      state[LAST] = -1;
    },

    setup(state, position) {
      game.reset(state);
      for (let i = 0; i < cells; i += 1) {
        const stone = position.cells[i]!;
        if (stone === 0) continue;
        state[slotOf[i]!] = stone;
        state[FILLED + (i % columns)] = state[FILLED + (i % columns)]! + 1;
      }
      state[TURN] = position.turn;
      state[PLY] = position.ply;
      state[LAST] = position.last;
      let full = true;
      for (let c = 0; c < columns; c += 1) if (state[FILLED + c]! < rows) full = false;
      if (full) state[OUTCOME] = players;
      for (let i = 0; i < cells; i += 1) {
        const stone = position.cells[i]!;
        if (stone !== 0 && wins(state, slotOf[i]!, stone)) state[OUTCOME] = stone - 1;
      }
    },

    legalMoves(state, out) {
      if (state[OUTCOME]! !== RUNNING) return 0;
      let count = 0;
      for (let c = 0; c < columns; c += 1) {
        if (state[FILLED + c]! === rows) continue;
        out[count] = c;
        count += 1;
      }
      return count;
    },

    isLegal: (state, move) =>
      state[OUTCOME]! === RUNNING && move >= 0 && move < columns && state[FILLED + move]! < rows,

    play(state, move) {
      const seat = state[TURN]!;
      const filled = state[FILLED + move]!;
      const slot = bottom + move - filled * stride;
      state[slot] = seat + 1;
      state[FILLED + move] = filled + 1;
      const ply = state[PLY]! + 1;
      state[PLY] = ply;
      state[LAST] = move;
      state[PASSED] = 0;
      state[TURN] = seat + 1 === players ? 0 : seat + 1;
      if (wins(state, slot, seat + 1)) state[OUTCOME] = seat;
      else if (ply === cells) state[OUTCOME] = players;
    },

    cell: (state, cell) => state[slotOf[cell]!]!,

    encode(state, out, offset) {
      const seat = state[TURN]!;
      for (let i = 0; i < cells; i += 1) {
        const stone = state[slotOf[i]!]!;
        out[offset + i] = stone === 0 ? 0 : stone > seat ? stone - seat : stone - seat + players;
      }
      for (let c = 0; c < columns; c += 1) {
        const filled = state[FILLED + c]!;
        if (filled < rows) out[offset + (rows - 1 - filled) * columns + c] = playable;
      }
    },

    heuristic: (state, seat) => lineWorth(state, seat, windowSlots),

    formatMove: (move) => String(move + 1),

    parseMove(text) {
      const trimmed = text.trim();
      return /^[1-9]$/.test(trimmed) && Number(trimmed) <= columns ? Number(trimmed) - 1 : -1;
    },

    draw(state) {
      const names = Array.from({ length: columns }, (_, i) => i + 1);
      const lines = Array.from({ length: rows }, (_, row) => stonesIn(game, state, row));
      return [names.join(" "), ...lines].map((line) => ` ${line}`).join("\n");
    },
  };
  return game;
}
