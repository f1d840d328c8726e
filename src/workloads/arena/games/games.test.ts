import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { pick, seededRandom } from "../../../kernel/index.ts";
import { CONFIG_KEYS, createGame } from "./catalog.ts";
import {
  type Game,
  isOver,
  LAST,
  OUTCOME,
  PASSED,
  PLY,
  type Position,
  RUNNING,
  type State,
  type Symmetry,
  scores,
  TURN,
} from "./game.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

/** The visible position of a state, freshly allocated. */
function positionOf(game: Game, state: State): Position {
  const cells = new Uint8Array(game.cells);
  for (let i = 0; i < game.cells; i += 1) cells[i] = game.cell(state, i);
  return { cells, turn: state[TURN]!, ply: state[PLY]!, last: state[LAST]! };
}

/** The same position seen through a symmetry. */
function transform(game: Game, symmetry: Symmetry, state: State, into: State): void {
  const from = positionOf(game, state);
  const cells = new Uint8Array(game.cells);
  for (let i = 0; i < game.cells; i += 1) cells[symmetry.cells[i]!] = from.cells[i]!;
  game.setup(into, { ...from, cells, last: from.last < 0 ? -1 : symmetry.moves[from.last]! });
  into[PASSED] = state[PASSED]!;
}

/** Everything a state shows; the private slots (such as the shape of a union-find) may differ between equal states. */
const visible = (game: Game, state: State) => {
  const moves = new Int32Array(game.moves);
  const count = game.legalMoves(state, moves);
  return {
    ...positionOf(game, state),
    outcome: state[OUTCOME],
    passed: state[PASSED],
    moves: [...moves.subarray(0, count)],
  };
};

/** Plays at random, calling `each` before every move. */
const playout = (game: Game, seed: number, each: (state: State, move: number) => void): State => {
  const random = seededRandom(seed);
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  while (!isOver(state)) {
    const move = moves[pick(random, game.legalMoves(state, moves))]!;
    each(state, move);
    game.play(state, move);
  }
  return state;
};

const stones = (game: Game, state: State) => {
  const counts = new Array<number>(game.players + 1).fill(0);
  for (let i = 0; i < game.cells; i += 1) counts[game.cell(state, i)]! += 1;
  return counts;
};

describe.each(CONFIG_KEYS)("%s", (configKey) => {
  const game = createGame(configKey);
  const seeds = fc.integer({ min: 0, max: 0x7fffffff });

  it("never reaches a state that its own board contradicts", () => {
    const rebuilt = game.newState();
    fc.assert(
      fc.property(seeds, (seed) => {
        const end = playout(game, seed, (state, move) => {
          expect(game.isLegal(state, move)).toBe(true);
          expect(state[OUTCOME]).toBe(RUNNING);
          const seen = visible(game, state);
          game.setup(rebuilt, seen);
          rebuilt[PASSED] = state[PASSED]!;
          expect(visible(game, rebuilt)).toEqual(seen);
          for (let m = -1; m <= game.moves; m += 1) expect(game.isLegal(state, m)).toBe(seen.moves.includes(m));
        });
        expect(end[PLY]).toBeLessThanOrEqual(game.maxPlies);
        expect(end[OUTCOME]).toBeGreaterThanOrEqual(0);
        expect(end[OUTCOME]).toBeLessThanOrEqual(game.players);
        expect(visible(game, end).moves).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  it("commutes with its symmetries: turn then move is move then turn", () => {
    const turned = game.newState();
    const after = game.newState();
    const moved = game.newState();
    fc.assert(
      fc.property(seeds, fc.nat(game.symmetries.length - 1), (seed, index) => {
        const symmetry = game.symmetries[index]!;
        playout(game, seed, (state, move) => {
          transform(game, symmetry, state, turned);
          game.play(turned, symmetry.moves[move]!);
          moved.set(state);
          game.play(moved, move);
          transform(game, symmetry, moved, after);
          expect(visible(game, turned)).toEqual(visible(game, after));
        });
      }),
      { numRuns: 15 },
    );
  });

  it("has symmetries that are permutations, the identity first", () => {
    game.symmetries.forEach((symmetry, index) => {
      expect([...symmetry.cells].sort((a, b) => a - b)).toEqual([...symmetry.cells.keys()]);
      expect([...symmetry.moves].sort((a, b) => a - b)).toEqual([...Array(game.moves).keys()]);
      if (index === 0) expect([...symmetry.cells]).toEqual([...symmetry.cells.keys()]);
    });
  });

  it("shows the mover the same codes in every view that the rules allow", () => {
    const codes = new Uint8Array(game.cells + 2).fill(99);
    playout(game, 7, (state) => {
      game.encode(state, codes, 1);
      const counts = stones(game, state);
      const seat = state[TURN]!;
      for (let k = 0; k < game.players; k += 1) {
        const stone = ((seat + k) % game.players) + 1;
        expect(codes.subarray(1, game.cells + 1).filter((c) => c === k + 1).length).toBe(counts[stone]);
      }
      expect(Math.max(...codes.subarray(1, game.cells + 1))).toBeLessThan(game.codes);
      expect([codes[0], codes[game.cells + 1]]).toEqual([99, 99]);
    });
  });

  it("reads every move it writes, and refuses what is no move", () => {
    for (let move = 0; move < game.moves; move += 1) expect(game.parseMove(game.formatMove(move))).toBe(move);
    for (const text of ["", "zz", "a0", "0", "z9", "a99", "-1", "1.5", "a1b"]) expect(game.parseMove(text)).toBe(-1);
  });

  it("draws every cell of the board", () => {
    const end = playout(game, 3, () => {});
    const drawn = game.draw(end).split("\n").slice(1).join("");
    const counts = stones(game, end);
    expect(drawn.split("X").length - 1).toBe(counts[1]);
    expect(drawn.split("O").length - 1).toBe(counts[2]);
    expect(drawn.split(".").length - 1).toBe(counts[0]);
  });

  it("judges a position the same through every symmetry", () => {
    const turned = game.newState();
    playout(game, 11, (state) => {
      for (const symmetry of game.symmetries) {
        transform(game, symmetry, state, turned);
        for (let seat = 0; seat < game.players; seat += 1)
          expect(game.heuristic(turned, seat)).toBe(game.heuristic(state, seat));
      }
    });
  });

  it("shares one point among the seats", () => {
    const out = new Float64Array(game.players);
    for (let outcome = 0; outcome <= game.players; outcome += 1) {
      scores(game.players, outcome, out);
      expect(out.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 12);
    }
  });
});

describe("Othello", () => {
  /** The rules written the slow way, as a second opinion on the bitboards. */
  const slowTurned = (board: Uint8Array, size: number, cell: number, stone: number): number[] => {
    if (board[cell] !== 0) return [];
    const turned: number[] = [];
    for (let down = -1; down <= 1; down += 1)
      for (let right = -1; right <= 1; right += 1) {
        const run: number[] = [];
        let row = Math.floor(cell / size) + down;
        let column = (cell % size) + right;
        const inside = () => row >= 0 && row < size && column >= 0 && column < size;
        while (inside() && board[row * size + column] === 3 - stone && (down !== 0 || right !== 0)) {
          run.push(row * size + column);
          row += down;
          column += right;
        }
        if (inside() && board[row * size + column] === stone) turned.push(...run);
      }
    return turned;
  };

  it.each(["othello6_2p", "othello8_2p"])("%s turns exactly the discs that the rules say", (configKey) => {
    const game = createGame(configKey);
    for (let seed = 0; seed < 20; seed += 1) {
      const next = game.newState();
      playout(game, seed, (state, move) => {
        const { cells, turn } = positionOf(game, state);
        const expected = [...cells.keys()].filter((cell) => slowTurned(cells, game.columns, cell, turn + 1).length > 0);
        expect(visible(game, state).moves).toEqual(expected);
        const turned = slowTurned(cells, game.columns, move, turn + 1);
        next.set(state);
        game.play(next, move);
        for (const cell of [...turned, move]) cells[cell] = turn + 1;
        expect(positionOf(game, next).cells).toEqual(cells);
      });
    }
  });

  it("keeps the turn where the other side must pass", () => {
    const game = createGame("othello6_2p");
    let passes = 0;
    for (let seed = 0; seed < 200; seed += 1) {
      let mover = -1;
      playout(game, seed, (state) => {
        if (state[PASSED] === 1) {
          passes += 1;
          expect(state[TURN]).toBe(mover);
        } else if (mover >= 0) expect(state[TURN]).toBe(1 - mover);
        mover = state[TURN]!;
      });
    }
    expect(passes).toBeGreaterThan(20);
  });

  it("gives the game to the side with more discs", () => {
    const game = createGame("othello6_2p");
    for (let seed = 0; seed < 50; seed += 1) {
      const end = playout(game, seed, () => {});
      const [, first, second] = stones(game, end);
      expect(end[OUTCOME]).toBe(first === second ? 2 : first! > second! ? 0 : 1);
    }
  });
});

describe("Connect Four", () => {
  it("ends with four in a row and not before", () => {
    const game = createGame("connect4_7x6_2p");
    const state = game.newState();
    for (const text of ["4", "1", "4", "1", "4", "1"]) game.play(state, game.parseMove(text));
    expect(isOver(state)).toBe(false);
    game.play(state, game.parseMove("4"));
    expect(state[OUTCOME]).toBe(0);
  });

  it("shares a network row among all contents of a line that nobody can win, and among no others", () => {
    for (const players of [2, 3, 4]) {
      const { sharedRows, codes } = createGame(
        ["", "", "connect4_7x6_2p", "connect4_8x7_3p", "connect4_9x7_4p"][players]!,
      );
      const seen = new Map<number, string>();
      sharedRows!.forEach((row, index) => {
        const content = [3, 2, 1, 0].map((i) => Math.floor(index / codes ** i) % codes);
        const dead = new Set(content.filter((code) => code >= 1 && code <= players)).size > 1;
        expect(row === 0).toBe(dead);
        if (!dead) {
          expect(seen.has(row)).toBe(false);
          seen.set(row, content.join(""));
        }
      });
    }
  });

  it("lets three and four players take turns", () => {
    for (const configKey of ["connect4_8x7_3p", "connect4_9x7_4p"]) {
      const game = createGame(configKey);
      playout(game, 5, (state) => expect(state[TURN]).toBe(state[PLY]! % game.players));
    }
  });
});

describe("Hex", () => {
  const game = createGame("hex7_2p");
  const play = (...moves: string[]) => {
    const state = game.newState();
    for (const text of moves) {
      const move = game.parseMove(text);
      expect(game.isLegal(state, move)).toBe(true);
      game.play(state, move);
    }
    return state;
  };

  it("is won by joining one's own two edges", () => {
    const column = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    const moves = column.flatMap((cell, i) => (i === 6 ? [cell] : [cell, `e${i + 1}`]));
    expect(play(...moves)[OUTCOME]).toBe(0);
    expect(isOver(play(...moves.slice(0, -1)))).toBe(false);
  });

  it("swaps the first stone into its mirror image of the other colour", () => {
    const state = play("b3", "swap");
    expect(game.cell(state, game.parseMove("c2"))).toBe(2);
    expect(game.cell(state, game.parseMove("b3"))).toBe(0);
    expect([state[TURN], state[PLY], state[LAST]]).toEqual([0, 2, game.parseMove("swap")]);
    expect(game.isLegal(state, game.parseMove("swap"))).toBe(false);
  });

  it("never ends in a draw", () => {
    for (let seed = 0; seed < 100; seed += 1) expect(playout(game, seed, () => {})[OUTCOME]).toBeLessThan(2);
  });
});

describe("the catalog of games", () => {
  it("suggests the nearest name for a wrong one", () => {
    expect(() => createGame("othelo6_2p")).toThrow(/Did you mean othello6_2p/);
    expect(() => createGame("toString")).toThrow(/no built-in game/);
  });

  it("names every game by the key it is listed under", () => {
    for (const key of CONFIG_KEYS) expect(createGame(key).configKey).toBe(key);
  });
});
