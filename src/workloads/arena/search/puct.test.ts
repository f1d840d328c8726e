import { describe, expect, it, vi } from "vitest";
import { pick, seededRandom } from "../../../kernel/index.ts";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import { isOver, OUTCOME, PLY, type State, scores, TURN } from "../games/game.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { type Evaluator, networkEvaluator } from "./evaluator.ts";
import { createSearch, DEFAULT_SEARCH } from "./puct.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

/** Knows nothing: every move alike, every seat alike. */
const blank = (players: number): Evaluator => ({
  evaluate(_state, _moves, count, priors, offset, values) {
    priors.fill(1 / count, offset, offset + count);
    values.fill(1 / players);
  },
});

const playAll = (
  configKey: string,
  moves: readonly string[],
): { game: ReturnType<typeof createGame>; state: State } => {
  const game = createGame(configKey);
  const state = game.newState();
  for (const text of moves) game.play(state, game.parseMove(text));
  return { game, state };
};

const total = (visits: Int32Array) => visits.reduce((sum, n) => sum + n, 0);

describe("the search", () => {
  it("finds a win in one for each of two, three and four players", () => {
    const wins = [
      ["connect4_7x6_2p", ["1", "7", "1", "7", "1", "6"], "1"],
      ["connect4_8x7_3p", ["1", "8", "7", "1", "8", "7", "1", "6", "5"], "1"],
      ["connect4_9x7_4p", ["1", "9", "8", "7", "1", "9", "8", "7", "1", "6", "5", "4"], "1"],
    ] as const;
    for (const [configKey, moves, win] of wins) {
      const { game, state } = playAll(configKey, moves);
      const search = createSearch(game, blank(game.players), { ...DEFAULT_SEARCH, simulations: 200 });
      search.run(state);
      expect(game.formatMove(search.best())).toBe(win);
      expect(search.values[state[TURN]!]).toBeGreaterThan(0.6);
    }
  });

  it("blocks a win in one: each seat maximises its own share", () => {
    const { game, state } = playAll("connect4_8x7_3p", ["1", "8", "7", "1", "8", "7", "1", "8"]);
    // The third seat must answer both neighbours' threes; the next seat's comes first.
    const search = createSearch(game, blank(3), { ...DEFAULT_SEARCH, simulations: 3000 });
    search.run(state);
    expect(game.formatMove(search.best())).toBe("1");
  });

  it("keeps one point among the seats and every visit on a legal move", () => {
    for (const configKey of CONFIG_KEYS) {
      const game = createGame(configKey);
      const network = createNetwork(shapeOf(game, 8, 8), seededRandom(1));
      const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 60 });
      const state = game.newState();
      const random = seededRandom(6);
      search.reset();
      while (!isOver(state)) {
        search.run(state, random);
        expect(search.values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 9);
        search.visits.forEach((n, move) => {
          if (n > 0) expect(game.isLegal(state, move)).toBe(true);
        });
        // A search that ends early has proven its root: then the values are those of a finished game.
        if (total(search.visits) < 60) expect([0, 1 / game.players, 1]).toContain(search.values[state[TURN]!]);
        const move = search.best();
        expect(game.isLegal(state, move)).toBe(true);
        game.play(state, move);
        search.advance(move);
      }
    }
  });

  it("solves endings exactly: value and move are those of a full search", () => {
    const game = createGame("othello6_2p");
    const exact = (state: State, seat: number): number => {
      const shares = new Float64Array(game.players);
      if (isOver(state)) {
        scores(game.players, state[OUTCOME]!, shares);
        return shares[seat]!;
      }
      const moves = new Int32Array(game.moves);
      const next = game.newState();
      const values = Array.from(moves.subarray(0, game.legalMoves(state, moves)), (move) => {
        next.set(state);
        game.play(next, move);
        return exact(next.slice(), seat);
      });
      return state[TURN] === seat ? Math.max(...values) : Math.min(...values);
    };
    const search = createSearch(game, blank(2), { ...DEFAULT_SEARCH, simulations: 100_000 });
    const moves = new Int32Array(game.moves);
    const seen = new Set<number>();
    for (let seed = 0; seed < 150; seed += 1) {
      const random = seededRandom(seed);
      const state = game.newState();
      while (!isOver(state) && state[PLY]! < game.maxPlies - 6)
        game.play(state, moves[pick(random, game.legalMoves(state, moves))]!);
      if (isOver(state)) continue;
      const mover = state[TURN]!;
      search.reset();
      search.run(state);
      const expected = exact(state, mover);
      expect(search.values[mover]).toBe(expected);
      game.play(state, search.best());
      expect(exact(state, mover)).toBe(expected);
      seen.add(expected);
    }
    expect([...seen].sort()).toEqual([0, 0.5, 1]);
  });

  it("proves a double threat, and then leaves visits on winning moves only", () => {
    // Three in a row with both ends open: whatever the other side answers, one end remains.
    const { game, state } = playAll("connect4_7x6_2p", ["3", "3", "4", "4"]);
    const search = createSearch(game, blank(2), { ...DEFAULT_SEARCH, simulations: 5000 });
    search.run(state);
    expect([...search.values]).toEqual([1, 0]);
    expect(["2", "5"]).toContain(game.formatMove(search.best()));
    search.visits.forEach((n, move) => {
      if (n > 0) expect(["2", "5"]).toContain(game.formatMove(move));
    });
  });

  it("keeps the visits of the move that was played, and searches only what is missing", () => {
    const game = createGame("othello6_2p");
    let evaluations = 0;
    const plain = blank(2);
    const counting: Evaluator = {
      evaluate(...args) {
        evaluations += 1;
        plain.evaluate(...args);
      },
    };
    const search = createSearch(game, counting, { ...DEFAULT_SEARCH, simulations: 100 });
    const state = game.newState();
    search.run(state);
    expect(evaluations).toBe(101);
    const inherited = search.visits[search.best()]!;
    game.play(state, search.best());
    search.advance(search.best());
    evaluations = 0;
    search.run(state);
    expect(evaluations).toBeLessThanOrEqual(101 - inherited);
    expect(total(search.visits)).toBe(100);
    // A move that was never searched leaves nothing to inherit.
    search.reset();
    evaluations = 0;
    search.run(state);
    expect(evaluations).toBe(101);
  });

  it("spreads its visits under noise, and gives the same visits for the same seed", () => {
    const game = createGame("othello6_2p");
    const network = createNetwork(shapeOf(game, 8, 8), seededRandom(1));
    const visitsOf = (seed?: number) => {
      const search = createSearch(game, networkEvaluator(game, network), DEFAULT_SEARCH);
      search.run(game.newState(), seed === undefined ? undefined : seededRandom(seed));
      return [...search.visits];
    };
    expect(visitsOf(1)).toEqual(visitsOf(1));
    expect(visitsOf(1)).not.toEqual(visitsOf(2));
    expect(visitsOf()).toEqual(visitsOf());
    expect(visitsOf()).not.toEqual(visitsOf(1));
  });

  it("grows its tree as far as it must", () => {
    const game = createGame("hex7_2p");
    const search = createSearch(game, blank(2), { ...DEFAULT_SEARCH, simulations: 20 });
    const large = createSearch(game, blank(2), { ...DEFAULT_SEARCH, simulations: 4000 });
    const state = game.newState();
    for (let ply = 0; ply < 6; ply += 1) {
      search.run(state);
      large.run(state);
      const move = large.best();
      game.play(state, move);
      search.advance(move);
      large.advance(move);
    }
    large.run(state);
    expect(total(large.visits)).toBe(4000);
  });
});

describe("forced playouts with target pruning", () => {
  const game = createGame("connect4_7x6_2p");
  const corner = (game.rows - 1) * game.columns;
  const codes = new Uint8Array(game.cells);
  /** Likes the first column, and is right: whoever has the stone in its corner wins four times of five. */
  const knowing: Evaluator = {
    evaluate(state, moves, count, priors, offset, values) {
      for (let i = 0; i < count; i += 1) priors[offset + i] = (moves[i] === 0 ? count : 1) / (2 * count - 1);
      game.encode(state, codes, 0);
      const owner = codes[corner] === 1 ? state[TURN]! : codes[corner] === 2 ? 1 - state[TURN]! : undefined;
      values.fill(0.5);
      if (owner !== undefined) values[owner] = 0.8;
      if (owner !== undefined) values[1 - owner] = 0.2;
    },
  };
  const run = (forcedPlayouts: number, seed?: number) => {
    const config = { ...DEFAULT_SEARCH, simulations: 128, exploration: 0.3, forcedPlayouts };
    const search = createSearch(game, knowing, config);
    search.run(game.newState(), seed === undefined ? undefined : seededRandom(seed));
    return { visits: [...search.visits], best: search.best(), values: [...search.values] };
  };
  const others = (visits: readonly number[]) => visits.slice(1).reduce((sum, n) => sum + n, 0);

  it("spends visits on what noise proposes, and leaves them out of what is told", () => {
    for (const seed of [1, 2, 3, 4]) {
      const plain = run(0, seed);
      const forced = run(4, seed);
      expect(plain.visits.reduce((sum, n) => sum + n, 0)).toBe(128);
      expect(forced.best).toBe(0);
      // The best move has fewer visits than it would have had: the others got what noise owed them.
      expect(forced.visits[0]).toBeLessThan(plain.visits[0]!);
      expect(forced.values[0]).toBeLessThan(plain.values[0]!);
      // And they are not learned from.
      expect(others(forced.visits)).toBeLessThan(128 - forced.visits[0]!);
      expect(others(forced.visits)).toBeLessThanOrEqual(others(plain.visits));
      expect(forced.visits).not.toContain(1);
      expect(forced).toEqual(run(4, seed));
    }
  });

  it("changes nothing where there is no noise", () => {
    expect(run(4)).toEqual(run(0));
  });

  it("leaves a proven win alone", () => {
    const { state } = playAll("connect4_7x6_2p", ["1", "7", "1", "7", "1", "6"]);
    const config = { ...DEFAULT_SEARCH, simulations: 200, forcedPlayouts: 2 };
    const search = createSearch(game, blank(game.players), config);
    search.run(state, seededRandom(1));
    // The win is proven: only what keeps it has visits.
    expect(search.visits[game.parseMove("1")]).toBeGreaterThan(0);
    expect(total(search.visits)).toBe(search.visits[game.parseMove("1")]);
  });
});
