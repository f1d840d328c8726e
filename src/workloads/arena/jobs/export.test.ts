/** Training files: what goes in, what is dropped, what is held back, and what is refused. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ArenaBench, type Input, made, openArenaBench } from "../../../../test/unit/workloads/arena-bench.ts";
import { seededRandom } from "../../../kernel/index.ts";
import type { JobRequest } from "../../process/index.ts";
import { decodeNpz, encodeNpz } from "../files/npz.ts";
import { encodeSamples } from "../files/samples-file.ts";
import { createGame } from "../games/catalog.ts";
import type { Samples } from "../net/samples.ts";
import { holdoutDraw, onEnd, pickRows, shardOf } from "./export-rows.ts";

const CONFIG_KEY = "othello6_2p";
const game = createGame(CONFIG_KEY);
let arena: ArenaBench;
let segments: Input[];
let rows: Samples[];

beforeAll(async () => {
  arena = openArenaBench();
  segments = [];
  rows = [];
  for (const [i, format] of ["npz", "arena", "npz"].entries()) {
    const parameters = { wide: 8, narrow: 8, simulations: 4, games: 5, first_game: 5 * i, format };
    const played = await arena.done({ config_key: CONFIG_KEY, seed: 3, parameters });
    segments.push(made(played, "samples", `samples-000${i}`));
    const plain = await arena.done({ config_key: CONFIG_KEY, seed: 3, parameters: { ...parameters, format: "npz" } });
    rows.push(decodeNpz(readFileSync(made(plain, "samples").path)).samples);
  }
});
afterAll(() => arena.close());

const job = (inputs: readonly Input[], parameters: JobRequest["parameters"]) => ({
  kind: "export",
  config_key: CONFIG_KEY,
  parameters,
  inputs: [...inputs],
});
const rowsOf = (input: Input) => decodeNpz(readFileSync(input.path)).samples;
const boardAt = ({ codes, cells }: Samples, row: number) => codes.subarray(row * cells, (row + 1) * cells).join();
const boards = (samples: Samples) => Array.from({ length: samples.count }, (_, row) => boardAt(samples, row));

describe("a shard", () => {
  test("holds the rows of its segments in order, each once, and holds a share of the positions back", async () => {
    const twice = [...segments, { ...segments[0]!, name: "samples-0003" }];
    const outcome = await arena.done(job(twice, { mode: "shard", holdout_share: 0.2, format: "npz" }));
    expect(outcome.artifacts.map(({ path, kind }) => [path, kind])).toEqual([
      ["train.npz", "training_set"],
      ["holdout.npz", "holdout"],
    ]);
    const [train, holdout] = [rowsOf(made(outcome, "training_set")), rowsOf(made(outcome, "holdout"))];
    const all = onEnd(rows, game);
    const { metrics } = outcome;
    expect(metrics).toMatchObject({ rows: train.count, holdout_rows: holdout.count, files: 4 });
    expect(train.count + holdout.count + metrics.duplicates!).toBe(all.count + rows[0]!.count);
    expect(metrics.duplicates).toBeGreaterThanOrEqual(rows[0]!.count);
    expect(metrics.distinct_positions).toBe(new Set(boards(all)).size);
    expect(holdout.count / (train.count + holdout.count)).toBeGreaterThan(0.08);
    expect(holdout.count / (train.count + holdout.count)).toBeLessThan(0.35);
    const held = new Set(boards(holdout));
    expect(boards(train).some((board) => held.has(board))).toBe(false);
    // Games of different files stay apart, and rows stay in order.
    expect(new Set([...train.game, ...holdout.game]).size).toBe(15);
    expect([...train.game]).toEqual([...train.game].toSorted((a, b) => a - b));
  });

  test("is the same file, byte for byte, in another process", async () => {
    const asked = job(segments, { holdout_share: 0.1 });
    const [here, there] = [await arena.done(asked), await arena.done({ ...asked, seed: 8 }, arena.child())];
    const names = ({ artifacts }: typeof here) => artifacts.map(({ sha256 }) => sha256);
    expect(names(there)).toEqual(names(here));
  });

  test("without a share to hold back, or with none that falls into it, is one file", async () => {
    const outcome = await arena.done(job(segments, { holdout_share: 0 }));
    expect(outcome.artifacts.map(({ path }) => path)).toEqual(["train.npz"]);
    expect(outcome.metrics.holdout_rows).toBe(0);
  });

  test("holds a position out wherever it appears, whatever else is there and however it is mirrored", () => {
    const all = onEnd(rows, game);
    fc.assert(
      fc.property(fc.nat(all.count - 1), fc.nat(game.symmetries.length - 1), (row, which) => {
        const { cells } = game.symmetries[which]!;
        const mirrored = new Uint8Array(game.cells);
        for (let i = 0; i < game.cells; i += 1) mirrored[cells[i]!] = all.codes[row * game.cells + i]!;
        expect(holdoutDraw(mirrored, 0, game)).toBe(holdoutDraw(all.codes, row * game.cells, game));
      }),
      { numRuns: 200 },
    );
    const random = seededRandom(4);
    const some = pickRows(
      all,
      Array.from({ length: all.count }, (_, row) => row).filter(() => random.next() < 0.5),
      game,
    );
    const held = new Set(boards(shardOf(all, 0.3, game).holdout));
    for (const board of boards(shardOf(some, 0.3, game).holdout)) expect(held.has(board)).toBe(true);
    for (const board of boards(shardOf(some, 0.3, game).train)) expect(held.has(board)).toBe(false);
  });

  test("draws evenly: a tenth of many positions lies below a tenth", () => {
    const random = seededRandom(9);
    const codes = new Uint8Array(game.cells);
    let below = 0;
    for (let i = 0; i < 20_000; i += 1) {
      for (let cell = 0; cell < game.cells; cell += 1) codes[cell] = Math.floor(random.next() * 3);
      if (holdoutDraw(codes, 0, game) < 0.1) below += 1;
    }
    expect(below).toBeGreaterThan(1_800);
    expect(below).toBeLessThan(2_200);
  });
});

test("training files are combined in order, with all their rows, and games stay apart", async () => {
  const shards = await Promise.all(
    segments.map(async (segment, i) => {
      const outcome = await arena.done(job([segment], { holdout_share: 0 }), arena.child());
      return made(outcome, "training_set", `samples-000${i}`);
    }),
  );
  const outcome = await arena.done(job(shards, { mode: "combine", format: "npz" }));
  const combined = rowsOf(made(outcome, "training_set"));
  expect(outcome.metrics).toEqual({ rows: combined.count, files: 3 });
  expect(combined).toEqual(onEnd(shards.map(rowsOf), game));
  expect(boards(combined)).toEqual(shards.flatMap((shard) => boards(rowsOf(shard))));
  expect(new Set(combined.game).size).toBe(15);
});

test("what is broken, empty or of another game fails by name", async () => {
  const damaged = Uint8Array.from(encodeSamples(rows[0]!).bytes);
  damaged[damaged.length >> 1]! ^= 1;
  const uneven = structuredClone(rows[1]!);
  uneven.policy[uneven.policy.findIndex((share) => share > 0)] = Number.NaN;
  const empty = encodeNpz(pickRows(rows[0]!, [], game)).bytes;
  const other = await arena.done({ config_key: "hex7_2p", parameters: { wide: 8, narrow: 8, simulations: 2 } });
  const cases: readonly [readonly Input[], string, RegExp][] = [
    [[segments[0]!, arena.put("samples-0001", damaged)], "ARENA_FILE_CORRUPT", /Input "samples-0001".*SHA-256/],
    [[arena.put("samples-0000", encodeNpz(uneven).bytes)], "ARENA_FILE_CORRUPT", /"samples-0000".*"policy"/],
    [[arena.put("samples-0000", empty)], "ARENA_NOTHING_MADE", /no rows/],
    [[made(other, "samples", "samples-0000")], "WORKLOAD_BAD_INPUT", /rows of hex7_2p, not of othello6_2p/],
    [[], "WORKLOAD_BAD_INPUT", /nothing to export/],
  ];
  for (const [inputs, code, reason] of cases)
    for (const mode of ["shard", "combine"]) {
      const outcome = await arena.run(job(inputs, { mode }));
      expect(outcome).toMatchObject({ status: "failed", artifacts: [], error: { class: "bad_input", code } });
      expect(outcome.reason).toMatch(reason);
    }
});
