/** Training jobs beyond the bare loop: the first network, held-out rows, the early end, and the rows a child remembers. */
import { readFileSync, rmSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ArenaBench, type Input, made, openArenaBench } from "../../../../test/unit/workloads/arena-bench.ts";
import { seededRandom } from "../../../kernel/index.ts";
import type { JobRequest } from "../../process/index.ts";
import { decodeCheckpoint } from "../files/checkpoint-file.ts";
import { decodeModel } from "../files/model-file.ts";
import { createGame } from "../games/catalog.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { emptySamples } from "../net/samples.ts";
import { createJobWorld } from "./job-world.ts";
import { bytesOf, createSamplesCache } from "./samples-cache.ts";
import { newestRows } from "./training-run.ts";

const CONFIG_KEY = "connect4_7x6_2p";
const SMALL = { wide: 8, narrow: 8 };
const game = createGame(CONFIG_KEY);
let arena: ArenaBench;
let train: Input;
let holdout: Input;

beforeAll(async () => {
  arena = openArenaBench();
  const parameters = { ...SMALL, simulations: 8, games: 20, format: "npz" };
  const played = await arena.done({ config_key: CONFIG_KEY, parameters });
  const shard = await arena.done({
    kind: "export",
    config_key: CONFIG_KEY,
    parameters: { holdout_share: 0.3 },
    inputs: [made(played, "samples", "samples-0000")],
  });
  train = made(shard, "training_set", "samples-0000");
  holdout = made(shard, "holdout", "holdout-0000");
});
afterAll(() => arena.close());

const training = (parameters: JobRequest["parameters"], inputs: readonly Input[]) => ({
  kind: "training",
  config_key: CONFIG_KEY,
  seed: 5,
  parameters: { ...SMALL, ...parameters },
  inputs: [...inputs],
});

test("a fresh network takes the layers of a related config's that have its shape, and is refused where none has", async () => {
  const fresh = async (config_key: string, parameters: JobRequest["parameters"], inputs: Input[] = []) =>
    arena.run({ kind: "training", config_key, seed: 5, parameters: { ...SMALL, fresh: true, ...parameters }, inputs });
  const other = await fresh("othello6_2p", { network_seed: 3 });
  const related = made(other, "model", "related");
  const taken = await fresh(CONFIG_KEY, { network_seed: 77 }, [related]);
  // Both have the widths and the players in common; cells, patterns and moves are others.
  expect(taken).toMatchObject({ status: "completed", metrics: { fresh: 1, layers_taken: 3 } });
  const { network } = decodeModel(readFileSync(made(taken, "model").path), game);
  const from = decodeModel(readFileSync(related.path), createGame("othello6_2p")).network;
  const { narrowWeights, narrowBias } = network.layout;
  expect(network.weights.slice(narrowWeights, narrowBias)).toEqual(
    from.weights.slice(from.layout.narrowWeights, from.layout.narrowBias),
  );
  const none = await fresh("connect4_8x7_3p", { wide: 16, narrow: 16 }, [related]);
  expect(none).toMatchObject({ status: "failed", error: { class: "bad_input" } });
  expect(none.reason).toMatch(/No layer of the related network/);
});

test("a fresh network is the one of its seed, with a checkpoint to go on from, and is made of nothing", async () => {
  const outcome = await arena.done(training({ fresh: true, network_seed: 77 }, []));
  expect(outcome.metrics).toEqual({ fresh: 1, steps: 0, rows: 0 });
  const { network } = decodeModel(readFileSync(made(outcome, "model").path), game);
  expect(network.weights).toEqual(createNetwork(shapeOf(game, 8, 8), seededRandom(77)).weights);
  const checkpoint = decodeCheckpoint(readFileSync(made(outcome, "checkpoint").path), game);
  expect(checkpoint.network.weights).toEqual(network.weights);
  expect(checkpoint.momentum.steps).toBe(0);
  const both = await arena.run(training({ fresh: true }, [train]));
  expect(both).toMatchObject({ status: "failed", error: { class: "bad_input" } });
  expect(both.reason).toMatch(/"samples-0000" would be left unread/);
});

test("held-out rows are measured and change nothing in the network", async () => {
  const plain = await arena.done(training({ steps: 40 }, [train]));
  const measured = await arena.done(training({ steps: 40 }, [train, holdout]));
  expect(made(measured, "model").sha256).toBe(made(plain, "model").sha256);
  expect(plain.metrics).not.toHaveProperty("validation_loss");
  const { policy_loss, value_loss, loss, validation_loss, policy_accuracy } = measured.metrics;
  expect(loss).toBeCloseTo(policy_loss! + value_loss!, 12);
  expect(validation_loss).toBeGreaterThan(0.5);
  expect(policy_accuracy).toBeGreaterThan(1 / 7);
  expect(policy_accuracy).toBeLessThanOrEqual(1);
  expect(measured.metrics).toMatchObject({ steps: 40, kept_step: 40, early_stopped: 0 });
  // A network that knows nothing is surer to be surprised.
  const before = await arena.done(training({ steps: 1, rate: 1e-12 }, [train, holdout]));
  expect(before.metrics.validation_loss).toBeGreaterThan(validation_loss!);
});

test("training that learns by heart ends early and keeps the network of the best measurement", async () => {
  const long = { steps: 400, rate: 0.02, patience: 2, check_steps: 5 };
  const stopped = await arena.done(training(long, [train, holdout]));
  const { steps, kept_step: kept, validation_loss } = stopped.metrics;
  expect(stopped.metrics.early_stopped).toBe(1);
  expect(steps).toBe(kept! + 10);
  expect(steps).toBeLessThan(400);
  const short = await arena.done(training({ ...long, patience: 0, steps: kept! }, [train, holdout]));
  expect(short.metrics).toMatchObject({ early_stopped: 0, validation_loss: validation_loss! });
  for (const [kind, decode] of [
    ["model", decodeModel],
    ["checkpoint", decodeCheckpoint],
  ] as const) {
    const [one, two] = [stopped, short].map((each) => decode(readFileSync(made(each, kind).path), game));
    expect(one!.network.weights).toEqual(two!.network.weights);
  }
  const worse = await arena.done(training({ ...long, patience: 0, steps: steps! }, [train, holdout]));
  expect(worse.metrics.validation_loss).toBeGreaterThan(validation_loss!);
});

test("losses that are no numbers are a failure and no model", async () => {
  const outcome = await arena.run(training({ steps: 200, rate: 1e30 }, [train]));
  expect(outcome).toMatchObject({
    status: "failed",
    artifacts: [],
    error: { class: "bad_input", code: "ARENA_TRAINING_DIVERGED" },
  });
});

/** The run until it is told to end for a reason, after some batches. */
const interrupted = async (job: ReturnType<typeof training>, reason: string) => {
  const ending = new AbortController();
  return arena.child().runJob(arena.bench.job(job), {
    signal: ending.signal,
    progress: ({ done }) => {
      if (done >= 32) ending.abort(reason);
    },
  });
};
const LONG = { steps: 1_600, rate: 0.02, patience: 1_000, check_steps: 5 };

test("a run that makes room saves how far it is, and the next try goes on from there to the very same bytes", async () => {
  const job = training(LONG, [train, holdout]);
  const whole = await arena.done(job);
  const stopped = await interrupted(job, "preempted");
  expect(stopped).toMatchObject({ status: "preempted", artifacts: [{ kind: "checkpoint", path: "unfinished.arena" }] });
  const { step, epoch } = stopped.artifacts[0]!.meta as { step: number; epoch: number };
  expect(step).toBeGreaterThanOrEqual(32);
  expect(step).toBeLessThan(1_600);
  expect(epoch).toBeGreaterThan(0);
  const told: number[] = [];
  const next = await arena
    .child()
    .runJob(arena.bench.job({ ...job, inputs: [...job.inputs, made(stopped, "checkpoint", "resume")] }), {
      progress: ({ done }) => void told.push(done),
    });
  expect(next, next.stderr_tail).toMatchObject({ status: "completed" });
  // It was not begun again: what it says first after it has read its rows is how far the other was.
  expect(told.find((done) => done > 0)).toBeGreaterThanOrEqual(step);
  expect(next.metrics).toEqual(whole.metrics);
  for (const kind of ["model", "checkpoint"]) expect(made(next, kind).sha256).toBe(made(whole, kind).sha256);
});

test("what nobody goes on with is not saved, and what cannot be used costs nothing but the time", async () => {
  const job = training(LONG, [train, holdout]);
  expect(await interrupted(job, "cancelled")).toMatchObject({ status: "cancelled", artifacts: [] });
  const other = await interrupted(training({ ...LONG, rate: 0.03 }, [train, holdout]), "shutdown");
  const short = training({ steps: 20 }, [train]);
  const [plain, ofAnother, broken] = [
    await arena.done(short),
    await arena.done({ ...short, inputs: [...short.inputs, made(other, "checkpoint", "resume")] }),
    await arena.done({ ...short, inputs: [...short.inputs, arena.put("resume", Buffer.from("nonsense"))] }),
  ];
  for (const each of [ofAnother, broken]) expect(made(each, "model").sha256).toBe(made(plain, "model").sha256);
});

test("progress tells the losses", async () => {
  const told: (Record<string, number> | undefined)[] = [];
  const ending = new AbortController();
  const job = arena.bench.job(training({ steps: 10_000_000, patience: 1_000_000, check_steps: 10 }, [train, holdout]));
  await arena.child().runJob(job, {
    signal: ending.signal,
    progress({ metrics }) {
      if (metrics === undefined) return;
      told.push(metrics);
      if (metrics.validation_loss !== undefined) ending.abort("cancelled");
    },
  });
  expect(Object.keys(told.at(-1)!).sort()).toEqual(["loss", "policy_loss", "validation_loss", "value_loss"]);
});

test("a resident child that remembers its rows makes the same bytes as one that reads them", async () => {
  const [resident, other] = [arena.child(), arena.child()];
  const job = training({ steps: 10 }, [train, holdout]);
  const outcomes = [await arena.done(job, resident), await arena.done(job, resident), await arena.done(job, other)];
  for (const kind of ["model", "checkpoint"])
    expect(new Set(outcomes.map((each) => made(each, kind).sha256)).size).toBe(1);
});

test("rows that were read once are not read again", async () => {
  const world = createJobWorld();
  const copy = arena.put("samples-0000", readFileSync(train.path));
  const rows = await world.samples(copy, game);
  rmSync(copy.path);
  expect(await world.samples(copy, game)).toBe(rows);
  await expect(world.samples(copy, createGame("hex7_2p"))).rejects.toMatchObject({ code: "ARENA_FILE_NOT_FOUND" });
});

test("remembered rows stay within the bound, and the longest unused go first", () => {
  const rows = emptySamples(game, 10);
  const cache = createSamplesCache(bytesOf(rows) * 3);
  for (const name of ["a", "b", "c"]) cache.keep(name, rows);
  expect(cache.get("a")).toBe(rows);
  cache.keep("d", rows);
  expect(["a", "b", "c", "d"].filter((name) => cache.get(name) !== undefined)).toEqual(["a", "c", "d"]);
  cache.keep("d", rows);
  expect(cache.bytes).toBe(bytesOf(rows) * 3);
  cache.keep("huge", emptySamples(game, 31));
  expect(cache.get("huge")).toBeUndefined();
  expect(cache.bytes).toBe(bytesOf(rows) * 3);
});

test("the window is the end of all files, however they are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), fc.integer({ min: 1, max: 40 }), (sizes, most) => {
      let next = 0;
      const parts = sizes.map((size) => {
        const part = emptySamples(game, size);
        for (let row = 0; row < size; row += 1) part.game[row] = next++;
        return part;
      });
      const all = Array.from({ length: next }, (_, i) => i);
      expect([...newestRows(parts, most, game).game]).toEqual(all.slice(-most));
    }),
  );
});
