import { describe, expect, it, vi } from "vitest";
import { pick, seededRandom } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import type { Game } from "../games/game.ts";
import { shapeOf } from "./layout.ts";
import { createForward, createNetwork, type Network } from "./network.ts";
import { emptySamples, type Samples } from "./samples.ts";
import { createTrainer, DEFAULT_TRAINER } from "./trainer.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

/** Rows of random playouts with random targets: a policy on one legal move and a winner. */
function randomRows(game: Game, count: number, seed: number): Samples {
  const random = seededRandom(seed);
  const rows = emptySamples(game, count);
  const state = game.newState();
  const moves = new Int32Array(game.moves);
  for (let row = 0; row < count; row += 1) {
    const legal = game.legalMoves(state, moves);
    if (legal === 0) {
      game.reset(state);
      row -= 1;
      continue;
    }
    const view = game.views[state[0]!]!;
    game.encode(state, rows.codes, row * game.cells);
    for (let i = 0; i < legal; i += 1) rows.legal[row * game.moves + view[moves[i]!]!] = 1;
    rows.policy[row * game.moves + view[moves[pick(random, legal)]!]!] = 1;
    const winner = pick(random, game.players);
    rows.outcome[row * game.players + winner] = 1;
    rows.search[row * game.players + winner] = 1;
    game.play(state, moves[pick(random, legal)]!);
  }
  return rows;
}

/** A network whose every part is at work: no zero tables, no silent units by chance of the start. */
const livelyNetwork = (game: Game, wide: number, narrow: number): Network => {
  const network = createNetwork(shapeOf(game, wide, narrow), seededRandom(2));
  const random = seededRandom(3);
  for (let i = 0; i < network.weights.length; i += 1) network.weights[i]! += (random.next() - 0.5) * 0.3;
  return network;
};

describe("a fresh network", () => {
  it("has no opinion: even policy, even values", () => {
    const game = createGame("connect4_8x7_3p");
    const forward = createForward(createNetwork(shapeOf(game), seededRandom(1)));
    forward.run(new Uint8Array(game.cells), 0);
    for (let m = 0; m < game.moves; m += 1) expect(forward.policyLogit(m)).toBe(0);
    for (let k = 0; k < game.players; k += 1) expect(forward.valueLogit(k)).toBe(0);
  });

  it.each(["othello6_2p", "connect4_8x7_3p"])("agrees with the same sums written the plain way on %s", (configKey) => {
    const game = createGame(configKey);
    const network = livelyNetwork(game, 16, 8);
    const { layout, weights } = network;
    const rows = randomRows(game, 20, 5);
    const forward = createForward(network);
    for (let row = 0; row < rows.count; row += 1) {
      const codes = rows.codes.subarray(row * game.cells, (row + 1) * game.cells);
      const wide = Array.from({ length: 16 }, (_, j) => {
        let sum = weights[layout.wideBias + j]!;
        layout.shape.tuples.forEach((tuple, t) => {
          const content = tuple.reduce((number, cell) => number * game.codes + codes[cell]!, 0);
          const index = game.sharedRows?.[content] ?? content;
          sum += weights[(layout.tupleRows[t]! + index) * 16 + j]!;
        });
        const filled = codes.filter((code) => code !== 0).length;
        sum += weights[(layout.tupleRows.at(-1)! + filled) * 16 + j]!;
        return Math.max(0, sum);
      });
      const narrow = Array.from({ length: 8 }, (_, k) =>
        Math.max(
          0,
          wide.reduce(
            (sum, x, j) => sum + x * weights[layout.narrowWeights + j * 8 + k]!,
            weights[layout.narrowBias + k]!,
          ),
        ),
      );
      forward.run(rows.codes, row * game.cells);
      for (let m = 0; m < game.moves; m += 1) {
        const expected = narrow.reduce(
          (sum, x, k) => sum + x * weights[layout.policyWeights + m * 8 + k]!,
          weights[layout.policyBias + m]!,
        );
        expect(forward.policyLogit(m)).toBeCloseTo(expected, 10);
      }
    }
  });
});

describe("training", () => {
  it.each(["othello6_2p", "connect4_9x7_4p", "hex7_2p"])(
    "follows the gradient of finite differences on %s",
    (configKey) => {
      const game = createGame(configKey);
      const network = livelyNetwork(game, 8, 8);
      const trainer = createTrainer(network, game.symmetries, { ...DEFAULT_TRAINER, valueWeight: 0.7 });
      const rows = randomRows(game, 12, 9);
      const step = 1 / 1024;
      const random = seededRandom(4);
      let compared = 0;
      for (const row of [3, 7, 11]) {
        const gradient = trainer.gradientOf(rows, row);
        const touched = [...gradient.keys()].filter((i) => gradient[i] !== 0);
        const untouched = Array.from({ length: 40 }, () => pick(random, gradient.length)).filter(
          (i) => gradient[i] === 0,
        );
        const dense = touched.filter((i) => i >= network.layout.wideBias);
        const tables = Array.from({ length: 60 }, () => touched[pick(random, touched.length)]!);
        for (const i of [...dense, ...tables, ...untouched]) {
          const lossAt = (weight: number) => {
            network.weights[i] = weight;
            const { policy, value } = trainer.measure(rows, row, 1);
            return policy + 0.7 * value;
          };
          const weight = network.weights[i]!;
          const numeric = (lossAt(weight + step) - lossAt(weight - step)) / (2 * step);
          network.weights[i] = weight;
          // A unit that switches on or off within the step has no derivative there; such a kink shows at half the step.
          const half = (lossAt(weight + step / 2) - lossAt(weight - step / 2)) / step;
          network.weights[i] = weight;
          if (Math.abs(half - numeric) > 1e-4) continue;
          expect(Math.abs(numeric - gradient[i]!)).toBeLessThan(2e-4 + 1e-3 * Math.abs(numeric));
          compared += 1;
        }
      }
      expect(compared).toBeGreaterThan(300);
    },
  );

  it("learns 100 rows by heart", () => {
    const game = createGame("othello6_2p");
    const network = createNetwork(shapeOf(game), seededRandom(1));
    const trainer = createTrainer(network, game.symmetries.slice(0, 1), DEFAULT_TRAINER);
    const rows = randomRows(game, 100, 21);
    const before = trainer.measure(rows, 0, 100);
    const random = seededRandom(8);
    for (let i = 0; i < 400; i += 1) trainer.step(rows, () => pick(random, 100), random);
    const after = trainer.measure(rows, 0, 100);
    expect(before.policy).toBeGreaterThan(1);
    expect(after.policy).toBeLessThan(0.1);
    expect(after.value).toBeLessThan(0.1);
    expect(before.accuracy).toBeLessThan(0.6);
    expect(after.accuracy).toBeGreaterThan(0.95);
  });

  it("carries over to new rows when the labels mean something, and not when they are scrambled", () => {
    const game = createGame("othello6_2p");
    const rows = randomRows(game, 4000, 33);
    // The meaning: whoever has more discs in the left half of the board wins.
    for (let row = 0; row < rows.count; row += 1) {
      let lead = 0;
      for (let i = 0; i < game.cells; i += 1) if (i % 6 < 3) lead += [0, 1, -1][rows.codes[row * game.cells + i]!]!;
      const shares = lead === 0 ? [0.5, 0.5] : lead > 0 ? [1, 0] : [0, 1];
      rows.outcome.set(shares, row * 2);
      rows.search.set(shares, row * 2);
    }
    const scrambled = { ...rows, outcome: rows.outcome.slice(), search: rows.search.slice() };
    const random = seededRandom(5);
    for (let row = rows.count - 1; row > 0; row -= 1) {
      const other = pick(random, row + 1);
      for (const column of [scrambled.outcome, scrambled.search]) {
        const held = column.slice(row * 2, row * 2 + 2);
        column.copyWithin(row * 2, other * 2, other * 2 + 2);
        column.set(held, other * 2);
      }
    }
    const unseenLoss = (samples: Samples) => {
      const trainer = createTrainer(
        createNetwork(shapeOf(game), seededRandom(1)),
        game.symmetries.slice(0, 1),
        DEFAULT_TRAINER,
      );
      const draws = seededRandom(6);
      for (let i = 0; i < 250; i += 1) trainer.step(samples, () => pick(draws, 3200), draws);
      return trainer.measure(samples, 3200, 800).value;
    };
    expect(unseenLoss(rows)).toBeLessThan(0.45);
    expect(unseenLoss(scrambled)).toBeGreaterThan(0.65);
  });

  it("gives the same weights for the same seed, and others for another", () => {
    const game = createGame("connect4_7x6_2p");
    const rows = randomRows(game, 200, 1);
    const train = (seed: number) => {
      const trainer = createTrainer(
        createNetwork(shapeOf(game, 8, 8), seededRandom(1)),
        game.symmetries,
        DEFAULT_TRAINER,
      );
      const random = seededRandom(seed);
      for (let i = 0; i < 5; i += 1) trainer.step(rows, () => pick(random, 200), random);
      return trainer.network.weights;
    };
    expect(train(1)).toEqual(train(1));
    expect(train(1)).not.toEqual(train(2));
  });

  it("touches only the table rows that its batch looked up", () => {
    const game = createGame("connect4_7x6_2p");
    const network = createNetwork(shapeOf(game, 8, 8), seededRandom(1));
    const trainer = createTrainer(network, game.symmetries.slice(0, 1), DEFAULT_TRAINER);
    const rows = randomRows(game, 4, 1);
    const random = seededRandom(1);
    for (let i = 0; i < 3; i += 1) trainer.step(rows, (n) => n % 4, random);
    const forward = createForward(network);
    const seen = new Set<number>();
    for (let row = 0; row < 4; row += 1) {
      forward.run(rows.codes, row * game.cells);
      for (const at of forward.rows) seen.add(at / 8);
    }
    for (let row = 0; row < network.layout.rows; row += 1) {
      const changed = network.weights.subarray(row * 8, row * 8 + 8).some((weight) => weight !== 0);
      if (changed) expect(seen.has(row)).toBe(true);
    }
  });
});
