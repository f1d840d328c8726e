import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  playMatch,
  train,
  type WorldOptions,
} from "../../../test/unit/pipeline/learning-world.ts";
import type { Lease } from "../../work/index.ts";
import { modelEntry } from "../models/index.ts";
import { queuePopulator } from "../selfplay/index.ts";
import { configs, searchOrders, trainingTunings } from "../stage/index.ts";
import { progressWatchdog } from "../units/progress-watchdog/progress-watchdog.unit.ts";
import { searchSigns } from "../units/progress-watchdog/search-watch.ts";
import { requestSearch, steeringView } from "./console.ts";
import { metricsOrchestrator, optimizationCoordinator, populationSearch } from "./index.ts";
import { roundsOf } from "./search/population.ts";
import { populationRuns } from "./tables.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const POPULATION = {
  every: 2,
  parameters: { rate: { low: 0.0001, high: 0.1, start: 0.03 } },
  members: 4,
  generations: 3,
  steps: 10,
  blocks: 60,
  proof_blocks: 300,
};
const SHAPES = { a: { wide: 8 }, b: { wide: 16 }, c: { wide: 32 }, d: { wide: 64 } };
const ARCHITECTURE = { every: 2, shapes: SHAPES, steps: 10, blocks: 60, proof_blocks: 300 };

const open = async (plan: object, options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld({
    only: ["training_coordinator", "training_trigger", "auto_promotion", "model_coordinator"],
    more: (services) => [
      optimizationCoordinator(services),
      populationSearch(services),
      queuePopulator(services),
      progressWatchdog(services),
      metricsOrchestrator(services),
    ],
    plan: { training: { rate: 0.03 }, ...plan },
    ...options,
  });
  worlds.push(world);
  await world.first();
  return world;
};

/** How strong a network is follows from what it was trained with: the best rate is 0.002, a wider one is better. */
const hill = ({ rate, wide }: Record<string, unknown>): number =>
  -25 * Math.log(Number(rate) / 0.002) ** 2 + (wide === undefined ? 0 : 2 * Number(wide));

interface Played {
  readonly elo?: (parameters: Record<string, unknown>) => number;
  readonly most?: number;
}

/** Does the jobs of a search until none is left, or so many are done. */
async function searched(w: LearningWorld, { elo = hill, most = 1_000 }: Played = {}): Promise<number> {
  let done = 0;
  for (let idle = 0; done < most && idle < 4; ) {
    const lease = await w.claim();
    if (lease === undefined) {
      idle += 1;
      await w.pass(1_500);
      continue;
    }
    idle = 0;
    done += 1;
    await act(w, lease, elo);
  }
  return done;
}

async function act(w: LearningWorld, lease: Lease, elo: NonNullable<Played["elo"]>): Promise<void> {
  const { inputs, parameters } = inputOf(lease);
  await w.queue.start(lease);
  if (lease.work_type === "training") {
    const made = train(lease, w.shelf);
    w.strengths.set(made.outputs![0]!.sha256, elo(parameters));
    await w.queue.complete(lease, made);
  } else {
    const strength = (player: string) =>
      w.strengths.get(
        inputs.find(({ name }) => name === (player === "candidate" ? "candidate" : "opponent"))!.sha256,
      ) ?? -100;
    await w.queue.complete(lease, playMatch(lease, w.shelf, strength));
  }
  await w.pass(20);
}

const begun = async (w: LearningWorld, iteration = 2) => {
  await w.exported(iteration);
  await w.turn("evaluation", iteration);
  await w.pass(2_000);
};

describe("population-based training", () => {
  test("is begun by plan, moves towards better settings, is proven against the settings of now, and applied from the next iteration", async () => {
    const w = await open({ population: POPULATION });
    await begun(w, 1);
    expect(w.row(searchOrders)).toBeUndefined();
    await begun(w, 2);
    expect(w.row(searchOrders)).toMatchObject({ run_id: "tictac_2p:pbt:1", method: "pbt", incumbent: { rate: 0.03 } });
    await searched(w);
    expect(w.row(searchOrders)).toMatchObject({ outcome: "applied" });
    const [step] = w.row(trainingTunings)!.steps;
    expect(step).toMatchObject({ from_iteration: 3, run_id: "tictac_2p:pbt:1", start: null });
    expect(step!.evidence.low).toBeGreaterThan(0);
    expect(step!.values.rate).toBeLessThan(0.03);
    expect(w.said("PBT_STARTED")).toMatchObject([{ payload: { population: 5, generations: 3 } }]);
    expect(w.said("PBT_GENERATION_COMPLETE").map(({ payload }) => payload.generation)).toEqual([1, 2, 3]);
    expect(w.said("PBT_COMPLETED")).toMatchObject([{ payload: { best_parameters: step!.values, generations: 3 } }]);
    expect(w.said("HYPERPARAMETER_UPDATED")).toMatchObject([{ payload: { parameter: "rate", previous_value: 0.03 } }]);
    const { members } = w.row(populationRuns)!;
    expect(members[0]).toMatchObject({ name: "control", values: { rate: 0.03 }, parent: null });
    expect(members.some(({ parent }) => parent !== null)).toBe(true);
    const [view] = steeringView(w.store).configs;
    expect(view!.search!.best_scores).toHaveLength(3);
    await w.exported(3);
    await w.turn("training", 3);
    await w.pass(2_000);
    const lease = (await w.claim("training"))!;
    expect(inputOf(lease).parameters.rate).toBe(step!.values.rate);
    expect(w.troubles()).toEqual([]);
  });

  test("changes nothing where no settings are better", async () => {
    const w = await open({ population: POPULATION });
    await begun(w);
    await searched(w, { elo: () => 0 });
    expect(w.row(searchOrders)).toMatchObject({ outcome: "kept", ended: expect.stringContaining("not proven better") });
    expect(w.row(trainingTunings)).toBeUndefined();
  });

  test("goes on where it was, number by number, in another process", async () => {
    const found: unknown[] = [];
    for (const stops of [[], [2, 4, 9]]) {
      const w = await open({ population: POPULATION });
      await begun(w);
      for (const most of stops) {
        await searched(w, { most });
        await w.restart();
      }
      await searched(w);
      const { members, proof, found: best } = w.row(populationRuns)!;
      found.push({ members, proof, best });
    }
    expect(found[0]).toStrictEqual(found[1]);
  });

  test.each([
    ["a job that fails for good", "SEARCH_JOB_FAILED"],
    ["a loss that is no number", "TRAINING_LOSS_NOT_FINITE"],
    ["a member without a checkpoint", "POPULATION_WITHOUT_CHECKPOINT"],
  ])("ends with a typed failure and applies nothing: %s", async (_, code) => {
    const w = await open({ population: POPULATION });
    await begun(w);
    const lease = (await w.claim("training"))!;
    await w.queue.start(lease);
    const made = train(lease, w.shelf, code === "TRAINING_LOSS_NOT_FINITE" ? { policy_loss: "NaN" } : {});
    if (code === "SEARCH_JOB_FAILED")
      await w.queue.fail(lease, { class: "bad_input", error: "the checkpoint is not there", error_code: "NO_INPUT" });
    else
      await w.queue.complete(
        lease,
        code === "POPULATION_WITHOUT_CHECKPOINT" ? { ...made, outputs: made.outputs!.slice(0, 1) } : made,
      );
    await w.pass(4_000);
    expect(w.row(populationRuns)).toMatchObject({ state: "failed", failure: { code } });
    expect(w.row(searchOrders)!.outcome).toBe("failed");
    expect(w.row(trainingTunings)).toBeUndefined();
    expect(await w.claim("training")).toBeUndefined();
  });

  test.each([
    ["no setting that may differ", { population: { ...POPULATION, every: null, parameters: {} } }, "NOTHING_TO_TUNE"],
    [
      "a setting out of its bounds",
      { population: { ...POPULATION, every: null, parameters: { rate: { low: 0.1, high: 1, start: 0.5 } } } },
      "KNOB_OUT_OF_BOUNDS",
    ],
  ])("is refused with %s", async (_, plan, code) => {
    const w = await open(plan);
    const ports = { router: w.router as never, store: w.store, clock: w.clock };
    const by = { actor: "ann", reason: "a trial", dryRun: false };
    await expect(w.driven(requestSearch(ports, w.configKey, by, "pbt"))).rejects.toMatchObject({ code });
  });

  test("without anybody in it is not begun; one that was ordered before ends with a typed failure, and nothing is applied", async () => {
    const w = await open({ population: POPULATION });
    const nobody = { ...POPULATION, parameters: {} };
    const replan = (population: object) =>
      w.driven(
        w.change((rows) => rows.put(configs, w.configKey, { plan: { ...w.plan, population } as never, paused: null })),
      );
    await replan(nobody);
    await begun(w);
    await w.pass(4_000);
    expect(w.row(searchOrders)).toBeUndefined();
    await w.driven(w.manager().stop("population_search"));
    await replan(POPULATION);
    await w.pass(2_000);
    expect(w.row(searchOrders)).toMatchObject({ method: "pbt", outcome: null });
    await replan(nobody);
    await w.driven(w.manager().start("population_search"));
    await w.pass(4_000);
    expect(w.row(populationRuns)).toMatchObject({ state: "failed", failure: { code: "POPULATION_EMPTY" } });
    expect(w.row(searchOrders)!.outcome).toBe("failed");
    expect(w.row(trainingTunings)).toBeUndefined();
    expect(await w.claim("training")).toBeUndefined();
  });

  test("is named by the watchdog when no generation comes, and given up after an hour", async () => {
    const w = await open({ population: POPULATION });
    await begun(w);
    const sign = w.row(searchSigns)!;
    await w.driven(w.change((rows) => rows.put(searchSigns, w.configKey, { ...sign, at: sign.at - 1_800_000 })));
    await w.pass(6_000);
    expect(w.said("DATA_QUALITY_ALERT")).toMatchObject([{ payload: { error_code: "SEARCH_LATE" } }]);
    const ordered = w.row(searchOrders)!;
    await w.driven(w.change((rows) => rows.put(searchOrders, w.configKey, { ...ordered, at: ordered.at - 3_600_000 })));
    await w.pass(6_000);
    expect(w.row(searchOrders)).toMatchObject({ outcome: "failed", ended: "it took longer than 60 minutes" });
    expect(w.row(populationRuns)).toMatchObject({ state: "failed", failure: { code: "SEARCH_GIVEN_UP" } });
    expect(w.said("DATA_QUALITY_ALERT").map(({ payload }) => payload.severity)).toEqual(["warning", "info"]);
  });
});

describe("a search for a better network", () => {
  test("halves the shapes, trains the others twice as long, and lets the line go on from what beat the champion", async () => {
    const w = await open({ architecture: ARCHITECTURE });
    await begun(w);
    expect(w.said("NAS_TRIGGERED")).toMatchObject([{ payload: { search_space: SHAPES } }]);
    await searched(w);
    expect(w.row(searchOrders)).toMatchObject({ run_id: "tictac_2p:nas:1", outcome: "applied" });
    expect(w.said("NAS_STARTED")).toMatchObject([{ payload: { population: 4, generations: 2 } }]);
    expect(w.said("NAS_GENERATION_COMPLETE")).toHaveLength(2);
    const [step] = w.row(trainingTunings)!.steps;
    expect(step).toMatchObject({ from_iteration: 3, values: { wide: 64 }, start: { architecture: "d" } });
    expect(w.said("NAS_COMPLETED")).toMatchObject([{ payload: { architecture: "d", evaluations: 6 } }]);
    const [best] = w.said("NAS_BEST_ARCHITECTURE");
    expect(best).toMatchObject({ payload: { architecture: "d" } });
    const model = String((best!.payload as { architecture_spec: { model_id: string } }).architecture_spec.model_id);
    expect(modelEntry(w.store, w.configKey, model)).toMatchObject({ state: "staging", derived: { kind: "nas" } });
    await w.exported(3);
    await w.turn("training", 3);
    // Nobody weighs architectures here: training waits for that word, and goes on without it.
    await w.pass(62_000);
    const { inputs, parameters } = inputOf((await w.claim("training"))!);
    expect(parameters.wide).toBe(64);
    expect(inputs).toContainEqual({ name: "checkpoint", sha256: step!.start!.checkpoint });
    expect(w.troubles()).toEqual([]);
  });

  test("leaves the line as it is where no network beats the champion", async () => {
    const w = await open({ architecture: ARCHITECTURE });
    await begun(w);
    await searched(w, { elo: () => -150 });
    expect(w.row(searchOrders)!.outcome).toBe("kept");
    expect(w.row(trainingTunings)).toBeUndefined();
  });

  test("has as many rounds as halving takes", () => {
    expect([1, 2, 3, 4, 5, 8, 9].map(roundsOf)).toEqual([1, 1, 2, 2, 3, 3, 4]);
  });
});
