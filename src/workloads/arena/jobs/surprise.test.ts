/** Training by what a teacher says, and by how much rows surprise. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ArenaBench, type Input, made, openArenaBench } from "../../../../test/unit/workloads/arena-bench.ts";
import { seededRandom } from "../../../kernel/index.ts";
import type { JobRequest } from "../../process/index.ts";
import { decodeModel } from "../files/model-file.ts";
import { decodePriorities } from "../files/priorities-file.ts";
import { readBytes } from "../files/structure.ts";
import { createGame } from "../games/catalog.ts";
import { createDraw } from "../net/priorities.ts";

const CONFIG_KEY = "connect4_7x6_2p";
const SMALL = { wide: 8, narrow: 8 };
let arena: ArenaBench;
let rows: Input;
let teacher: Input;

const training = (parameters: JobRequest["parameters"], inputs: readonly Input[]) => ({
  kind: "training",
  config_key: CONFIG_KEY,
  seed: 5,
  parameters: { ...SMALL, ...parameters },
  inputs: [...inputs],
});

beforeAll(async () => {
  arena = openArenaBench();
  const played = await arena.done({ config_key: CONFIG_KEY, parameters: { ...SMALL, simulations: 8, games: 20 } });
  rows = made(played, "samples", "samples-0000");
  teacher = made(
    await arena.done(training({ wide: 16, narrow: 16, steps: 120, rate: 0.01 }, [rows])),
    "model",
    "teacher",
  );
});
afterAll(() => arena.close());

test("a smaller student learns what its teacher says, the same in every run", async () => {
  const blank = await arena.done(training({ steps: 1, rate: 1e-12 }, [rows, teacher]));
  const taught = await arena.done(training({ steps: 200, rate: 0.01, batch: 64 }, [rows, teacher]));
  expect(taught.metrics.loss).toBeLessThan(blank.metrics.loss! - 0.05);
  const again = await arena.done(training({ steps: 200, rate: 0.01, batch: 64 }, [rows, teacher]), arena.child());
  expect(made(again, "model").sha256).toBe(made(taught, "model").sha256);
  const { layout } = decodeModel(readFileSync(made(taught, "model").path), createGame(CONFIG_KEY)).network;
  expect(layout.shape).toMatchObject(SMALL);
  expect(made(taught, "model").sha256).not.toBe(
    made(await arena.done(training({ steps: 200, rate: 0.01, batch: 64 }, [rows])), "model").sha256,
  );
});

test("a teacher whose word counts for nothing changes nothing", async () => {
  const plain = await arena.done(training({ steps: 20 }, [rows]));
  const deaf = await arena.done(training({ steps: 20, teacher_share: 0 }, [rows, teacher]));
  const weights = [plain, deaf].map(
    (each) => decodeModel(readFileSync(made(each, "model").path), createGame(CONFIG_KEY)).network.weights,
  );
  expect(weights[1]).toEqual(weights[0]);
});

const prioritised = (inputs: readonly Input[]) => ({
  kind: "export",
  config_key: CONFIG_KEY,
  parameters: { mode: "priorities" },
  inputs: [...inputs],
});

test("rows get priorities by the loss of a model, and training draws by them", async () => {
  const outcome = await arena.done(prioritised([rows, { ...teacher, name: "model" }]));
  const file = made(outcome, "priorities");
  const bytes = readFileSync(file.path);
  const priorities = decodePriorities(bytes, CONFIG_KEY);
  expect(priorities).toHaveLength(outcome.metrics.rows!);
  expect(outcome.metrics.max_priority).toBe(priorities.reduce((most, each) => Math.max(most, each), 0));
  expect(outcome.metrics.max_priority).toBeGreaterThan(outcome.metrics.min_priority!);
  expect(readBytes("priorities", bytes, false)).toMatchObject({
    format: "arena",
    config_key: CONFIG_KEY,
    rows: priorities.length,
  });
  const weightsOf = async (parameters: JobRequest["parameters"], inputs: readonly Input[]) => {
    const run = await arena.done(training({ steps: 20, ...parameters }, inputs));
    return decodeModel(readFileSync(made(run, "model").path), createGame(CONFIG_KEY)).network.weights;
  };
  const plain = await weightsOf({}, [rows]);
  expect(await weightsOf({ priority_exponent: 0, priority_correction: 0 }, [rows, file])).toEqual(plain);
  expect(await weightsOf({}, [rows, file])).not.toEqual(plain);
});

test("priorities of other rows, or without a model, are refused", async () => {
  const missing = await arena.run(prioritised([rows]));
  expect(missing).toMatchObject({ status: "failed", error: { class: "bad_input" } });
  const played = await arena.done({
    config_key: CONFIG_KEY,
    seed: 9,
    parameters: { ...SMALL, simulations: 4, games: 2 },
  });
  const other = made(played, "samples", "samples-0000");
  const file = made(await arena.done(prioritised([other, { ...teacher, name: "model" }])), "priorities");
  const wrong = await arena.run(training({ steps: 2 }, [rows, file]));
  expect(wrong).toMatchObject({ status: "failed", error: { class: "bad_input" } });
});

test("rows are drawn in proportion, and weights take the bias back", () => {
  const priorities = Float32Array.of(1, 2, 5, 0, 2);
  const draw = createDraw(priorities, { exponent: 1, correction: 1 });
  const random = seededRandom(3);
  const seen = new Float64Array(5);
  const weighed = new Float64Array(5);
  for (let i = 0; i < 200_000; i += 1) {
    const row = draw.row(random.next());
    seen[row] = seen[row]! + 1;
    weighed[row] = weighed[row]! + draw.weight(row);
  }
  expect(seen[2]! / seen[0]!).toBeCloseTo(5, 0);
  expect(seen[1]! / seen[0]!).toBeCloseTo(2, 1);
  // With all of the bias taken back, every row counts as if all were drawn alike.
  for (const row of [1, 2, 4]) expect(weighed[row]! / weighed[0]!).toBeCloseTo(1, 1);
  expect(draw.row(0)).toBe(0);
  expect(draw.row(1 - 1e-12)).toBe(4);
  for (let row = 0; row < 5; row += 1) expect(draw.weight(row)).toBeLessThanOrEqual(1 + 1e-9);
});
