import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  sha,
  train,
  type WorldOptions,
} from "../../../test/unit/pipeline/learning-world.ts";
import type { ArtifactCatalog, ArtifactEntryInput } from "../../sync/index.ts";
import { recordCrowning } from "../models/champion-history.ts";
import { modelEntry } from "../models/registry.ts";
import { recordRun, trainingRuns } from "../models/training-runs.ts";
import { type Quality, qualities } from "../selfplay/index.ts";
import { type Iteration, iterations, seedFor, trainingWork } from "../stage/index.ts";
import { pipelineSnapshot } from "../views.ts";
import { rollbacks, trainingGates, trainingLines, trainingLocks } from "./tables.ts";

const ONLY = ["training_trigger", "training_coordinator", "auto_promotion"];
const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const open = async (options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld({ only: ONLY, ...options });
  worlds.push(world);
  return world;
};
const scored = (w: LearningWorld, score: number, band = "poor") =>
  w.driven(w.change((rows) => rows.put(qualities, w.configKey, { score, band, at: w.clock.now() } as Quality)));

describe("training_trigger", () => {
  test("stores what each gate saw, and asks for the run", async () => {
    const w = await open();
    await w.first();
    await w.exported(1, 1_000);
    await w.turn("training", 1);
    expect(w.row(trainingGates)).toMatchObject({ iteration: 1, attempt: 1, verdict: "go" });
    expect(w.row(trainingGates)?.gates[0]).toMatchObject({ gate: "rows", passed: true, actual: 1_000, required: 100 });
    expect(w.said("TRAINING_THRESHOLD_REACHED")).toMatchObject([{ payload: { games: 160, samples: 1_000 } }]);
    expect(w.queue.list({ workType: "training", state: "pending" })).toHaveLength(1);
    expect(w.troubles()).toEqual([]);
  });

  test("too few rows: the round goes on without a run, and says why", async () => {
    const w = await open({ plan: { least_rows: 5_000 } });
    await w.first();
    await w.exported(1, 1_000);
    await w.turn("training", 1);
    await w.pass(1_100);
    expect(w.row(trainingWork)).toMatchObject({
      iteration: 1,
      state: "done",
      own: { model: null },
      evidence: { trained: false, skipped: [{ for: "rows", actual: 1_000, required: 5_000 }] },
    });
    expect(w.queue.list({ workType: "training", state: "pending" })).toEqual([]);
  });

  test("poor data: training is withheld, told once, and let go when the score is better", async () => {
    const w = await open({ plan: { kinds: ["selfplay", "validation", "training", "evaluation"] } });
    await w.first();
    await scored(w, 0.3);
    await w.exported(1);
    await w.turn("training", 1);
    await w.pass(5_000);
    expect(w.row(trainingGates)?.verdict).toBe("wait");
    expect(w.row(trainingGates)?.gates.find(({ gate }) => gate === "quality")).toMatchObject({
      actual: 0.3,
      required: 0.5,
    });
    expect(w.said("TRAINING_BLOCKED_BY_QUALITY")).toMatchObject([{ payload: { quality_score: 0.3, threshold: 0.5 } }]);
    expect(w.said("QUALITY_CHECK_REQUESTED")).toHaveLength(1);
    expect(w.row(trainingWork)?.iteration).toBe(0);
    await scored(w, 0.75, "good");
    await w.pass(2_100);
    expect(w.row(trainingWork)).toMatchObject({ iteration: 1, state: "running" });
  });

  test("data that stays poor costs the round its run, not the config its loop", async () => {
    const w = await open({ plan: { kinds: ["selfplay", "validation", "training", "evaluation"] } });
    await w.first();
    await scored(w, 0.3);
    await w.exported(1);
    await w.turn("training", 1);
    await w.pass(310_000);
    expect(w.row(trainingWork)).toMatchObject({ state: "done", own: { model: null }, evidence: { trained: false } });
  });

  test("unchecked games wait, unless that is allowed", async () => {
    const plan = { kinds: ["selfplay", "validation", "training", "evaluation"] as const };
    for (const allowPendingGate of [false, true]) {
      const w = await open({ plan: { kinds: [...plan.kinds] }, settings: { allowPendingGate } });
      await w.first();
      await scored(w, 0.9, "excellent");
      await w.exported(1, 1_000, { unchecked_segments: 2 });
      await w.turn("training", 1);
      await w.pass(1_100);
      expect(w.row(trainingGates)?.verdict).toBe(allowPendingGate ? "go" : "wait");
    }
  });
});

describe("training_coordinator", () => {
  test("the first model comes from nothing but the plan's seed", async () => {
    const w = await open();
    await w.turn("training", 0);
    const lease = (await w.claim("training"))!;
    expect(inputOf(lease)).toEqual({
      parameters: { fresh: true, network_seed: seedFor(7, "network") },
      seed: seedFor(7, "training", 0),
      inputs: [],
    });
    await w.finish(lease);
    expect(w.row(trainingWork)).toMatchObject({ state: "done", evidence: { fresh: true, steps: 0 } });
    expect(w.said("CHECKPOINT_SAVED")).toHaveLength(1);
    expect(w.said("TRAINING_COMPLETED")).toEqual([]);
  });

  test("a run asks for the accelerators of its plan, and goes only where they are", async () => {
    const w = await open({ plan: { gpus: { training: 2 } } });
    await w.turn("training", 0);
    const [job] = w.queue.list({ workType: "training", state: "pending" });
    expect(job).toMatchObject({ gpus: 2 });
    const offer = { cpu: 9, gpu: 1, memory_gb: 9, gpu_memory_gb: 0, tags: [] };
    expect(await w.queue.claim({ node_id: "small", most: 1, offer })).toEqual([]);
    expect(await w.queue.claim({ node_id: "large", most: 1, offer: { ...offer, gpu: 2 } })).toHaveLength(1);
  });

  test("a checkpoint is told with its epoch: that of the run which left it, or where a stopped try of this run was", async () => {
    const w = await open();
    await w.first();
    await w.exported(1, 1_000);
    await w.turn("training", 1);
    const first = (await w.claim("training"))!;
    const base = inputOf(first).inputs.at(-1)!.sha256;
    await w.queue.start(first);
    await w.pass(1_100);
    // The first network was not trained.
    expect(w.said("CHECKPOINT_LOADED").at(-1)?.payload).toMatchObject({ artifact_hash: base, training_epoch: 0 });
    const half = sha("half of a run");
    await w.driven(w.queue.release(first, "preempted", { sha256: half, bytes: 9, epoch: 3 }));
    await w.pass(1_100);
    expect(w.said("CHECKPOINT_SAVED").at(-1)?.payload).toMatchObject({ artifact_hash: half, training_epoch: 3 });
    const second = (await w.claim("training"))!;
    expect(second).toMatchObject({ work_id: first.work_id, resume: { sha256: half, epoch: 3 } });
    await w.finish(second);
    await w.pass(1_100);
    const resumed = { artifact_hash: half, training_epoch: 3, node_id: "worker" };
    expect(w.said("CHECKPOINT_LOADED").map(({ payload }) => payload)).toMatchObject([{ artifact_hash: base }, resumed]);
    // The next run goes on from what this one left, after its one epoch.
    const left = w.row(trainingLines)!.checkpoint;
    await w.exported(2, 1_000);
    await w.turn("training", 2);
    await w.finish((await w.claim("training"))!);
    expect(w.said("CHECKPOINT_LOADED").at(-1)?.payload).toMatchObject({ artifact_hash: left, training_epoch: 1 });
  });

  test("a run sees the window oldest first, its hold-outs, and goes on where the last one stopped", async () => {
    const w = await open();
    await w.first();
    const before = w.row(trainingLines)!.checkpoint;
    await w.exported(2, 1_000);
    await w.turn("training", 2);
    const lease = (await w.claim("training"))!;
    const { inputs, parameters } = inputOf(lease);
    expect(inputs.map(({ name }) => name)).toEqual([
      "samples-0000",
      "samples-0001",
      "holdout-0000",
      "holdout-0001",
      "checkpoint",
    ]);
    expect(inputs[0]?.sha256).toBe(sha("shard tictac_2p 1"));
    expect(inputs.at(-1)?.sha256).toBe(before);
    expect(parameters).toMatchObject({ new_rows: 1_000, total_rows: 2_000, window_base: 20_000, window_share: 0.4 });
    await w.finish(lease);
    const work = w.row(trainingWork)!;
    expect(work.evidence).toMatchObject({ trained: true, steps: 40, loss: 1.7999999999999998, window_files: 2 });
    expect(w.said("TRAINING_STARTED")).toMatchObject([{ payload: { node_id: "worker", samples: 2_000 } }]);
    // The first model began at nothing; this run is the one that goes on from a checkpoint.
    expect(w.said("CHECKPOINT_LOADED")).toMatchObject([
      { payload: { artifact_hash: before, node_id: "worker", training_epoch: 0 } },
    ]);
    expect(w.said("TRAINING_COMPLETED")).toMatchObject([
      { payload: { model_id: work.own.model, validation_loss: 1.9 } },
    ]);
    expect(trainingRuns(w.store, w.configKey)[0]).toMatchObject({
      iteration: 2,
      base_checkpoint: before,
      model: work.own.model,
    });
    expect(w.troubles()).toEqual([]);
  });

  test("says each new loss of a run under way once, and the snapshot shows it", async () => {
    const w = await open();
    await w.first();
    await w.exported(1, 1_000);
    await w.turn("training", 1);
    const lease = (await w.claim("training"))!;
    const heard: unknown[] = [];
    w.router.subscribe("TRAINING_PROGRESS", ({ payload }) => void heard.push(payload));
    await w.queue.start(lease);
    const seen = () =>
      pipelineSnapshot({ store: w.store, queue: w.queue, catalog: { books: () => [] } }, w.clock.now()).configs[0]!
        .training;
    expect(seen()).toBeUndefined();
    for (const loss of [2.5, 2.25, 2.25]) {
      await w.queue.heartbeat(lease, { progress: 0.1, metrics: { loss, validation_loss: 2.75 } });
      await w.pass(3_000);
    }
    const job_id = `${w.configKey}:1:training:1`;
    expect(heard).toEqual(
      [2.5, 2.25].map((loss) => ({
        config_key: w.configKey,
        job_id,
        training_epoch: 0,
        loss,
        validation_loss: 2.75,
      })),
    );
    expect(seen()).toMatchObject({ loss: 2.25, validation_loss: 2.75, metrics: { loss: 2.25 } });
    await w.finish(lease);
    expect(seen()).toBeUndefined();
  });

  test("holds the lock of its config while it runs, and gives it back", async () => {
    const w = await open();
    await w.turn("training", 0);
    const lock = w.row(trainingLocks)!;
    expect(lock).toMatchObject({ holder: "tictac_2p:0:training:1", fence: 1 });
    expect(w.said("TRAINING_LOCK_ACQUIRED")).toHaveLength(1);
    const lease = (await w.claim("training"))!;
    await w.queue.start(lease);
    for (let minute = 0; minute < 5; minute += 1) {
      await w.pass(60_000);
      expect(w.row(trainingLocks)!.expires_at).toBeGreaterThan(w.clock.now());
    }
    await w.queue.complete(lease, train(lease, w.shelf));
    await w.pass(1_100);
    expect(w.row(trainingLocks)).toMatchObject({ holder: null, fence: 1 });
  });

  test("waits for a slot when others train, says so once, and takes it when it is free", async () => {
    const w = await open({ settings: { maxTrainingRuns: 1 } });
    const other = { holder: "other_2p:1:training:1", fence: 4, acquired_at: 0, expires_at: w.clock.now() + 10_000 };
    await w.driven(w.change((rows) => rows.put(trainingLocks, "other_2p", other)));
    await w.turn("training", 0);
    await w.pass(3_000);
    expect(w.row(trainingWork)).toMatchObject({
      state: "running",
      jobs: {},
      waits: [{ for: "training_slot", actual: 1 }],
    });
    expect(w.said("TRAINING_SLOT_UNAVAILABLE")).toMatchObject([
      { payload: { waits_for: "cluster_slot", running_runs: 1 } },
    ]);
    await w.pass(9_000);
    expect(w.row(trainingWork)).toMatchObject({ waits: [] });
    expect(w.queue.list({ workType: "training" })).toHaveLength(1);
  });

  test("an attempt that was given up is taken back before the next one runs", async () => {
    const w = await open();
    await w.turn("training", 0);
    const old = w.row(trainingWork)!.jobs.p0!;
    await w.turn("training", 0, 2);
    await w.pass(1_100);
    expect(w.queue.show(old)?.state).toBe("cancelled");
    expect(w.row(trainingWork)).toMatchObject({ attempt: 2, state: "running" });
    expect(w.row(trainingLocks)).toMatchObject({ holder: "tictac_2p:0:training:2", fence: 2 });
  });

  test("what has no loss or no end is a failure with a name, and the line stays where it was", async () => {
    const w = await open();
    await w.first();
    const line = w.row(trainingLines);
    await w.exported(1);
    await w.turn("training", 1);
    const lease = (await w.claim("training"))!;
    await w.queue.start(lease);
    await w.queue.complete(lease, train(lease, w.shelf, { policy_loss: null }));
    await w.pass(1_100);
    expect(w.row(trainingWork)).toMatchObject({ state: "failed", failure: { code: "TRAINING_LOSS_NOT_FINITE" } });
    expect(w.said("TRAINING_FAILED")).toMatchObject([{ payload: { error_code: "TRAINING_LOSS_NOT_FINITE" } }]);
    expect(w.said("TRAINING_LOSS_ANOMALY")).toMatchObject([{ payload: { anomaly: "not_finite" } }]);
    await w.turn("training", 1, 2);
    const again = (await w.claim("training"))!;
    expect(inputOf(again).seed).toBe(inputOf(lease).seed);
    await w.queue.fail(again, { class: "bad_input", error: "no such board" });
    await w.pass(1_100);
    expect(w.row(trainingWork)).toMatchObject({
      attempt: 2,
      state: "failed",
      failure: { code: "TRAINING_JOB_FAILED" },
    });
    expect(w.row(trainingLines)).toEqual(line);
    expect(w.row(trainingLocks)?.holder).toBeNull();
  });

  test("after a rollback the next run goes on from the restored champion, once", async () => {
    const w = await open();
    await w.first();
    const restored = sha("restored");
    const row = {
      generation: 5,
      withdrawn: sha("bad"),
      restored,
      checkpoint: sha("good checkpoint"),
      reason: "weaker",
      at: 1,
    };
    await w.driven(w.change((rows) => rows.put(rollbacks, w.configKey, row)));
    await w.trained(1, 0);
    expect(w.row(trainingWork)?.evidence.base_checkpoint).toBe(sha("good checkpoint"));
    const { checkpoint } = w.row(trainingLines)!;
    await w.trained(2, 0);
    expect(w.row(trainingWork)?.evidence.base_checkpoint).toBe(checkpoint);
  });

  test("tells an early stop, an odd loss, and a change of direction", async () => {
    const w = await open();
    await w.first();
    const losses = [2, 1.9, 1.8, 1.7, 1.6, 9];
    for (const [i, loss] of losses.entries()) {
      await w.exported(i + 1);
      await w.turn("training", i + 1);
      const lease = (await w.claim("training"))!;
      await w.queue.start(lease);
      const evidence = train(lease, w.shelf, { policy_loss: loss, value_loss: 0.5 });
      const counts = { ...evidence.counts, ...(i === 1 ? { early_stopped: 1, epochs: 3 } : {}) };
      await w.queue.complete(lease, { ...evidence, counts });
      await w.pass(1_100);
    }
    expect(w.said("TRAINING_EARLY_STOPPED")).toMatchObject([
      { payload: { training_epoch: 3, final_loss: 2.4, best_loss: 1.9 } },
    ]);
    expect(w.said("TRAINING_LOSS_ANOMALY")).toMatchObject([{ payload: { anomaly: "spike", loss: 9.5 } }]);
    expect(w.said("TRAINING_LOSS_TREND").map(({ payload }) => payload.trend)).toEqual(["improving", "declining"]);
    expect(w.troubles()).toEqual([]);
  });

  test("writes new models down in the catalog with what they came from", async () => {
    const recorded: ArtifactEntryInput[] = [];
    const accepted: string[] = [];
    const catalog = {
      get: () => undefined,
      join: () => ({
        record: (entries: readonly ArtifactEntryInput[]) => void recorded.push(...entries),
        accept: (sha256s: readonly string[]) => void accepted.push(...sha256s),
        pin: () => undefined,
      }),
    } as unknown as ArtifactCatalog;
    const w = await open({ catalog });
    await w.first();
    await w.trained(1, 0);
    const { model, checkpoint } = w.row(trainingWork)!.own;
    expect(accepted).toEqual(expect.arrayContaining([model, checkpoint]));
    expect(recorded.find(({ sha256 }) => sha256 === model)).toMatchObject({
      kind: "model",
      producer: "worker",
      iteration: 1,
      parents: [sha("shard tictac_2p 1"), w.row(trainingWork)!.evidence.base_checkpoint],
    });
  });
});

describe("the first network of a config that begins with a related one", () => {
  const OTHER = "nim_2p";
  const from = { config_key: OTHER, iteration: 2 } as const;
  const crowned = (generation: number, iteration: number, cause: "first" | "gate" | "rollback") =>
    recordCrowning({
      ...{ config_key: OTHER, generation, model: sha(`${cause} ${iteration}`), previous: null, iteration, cause },
      ...{ by: "test", evidence: {}, at: 0 },
    });
  const otherAt = (w: LearningWorld, iteration: number) =>
    w.driven(w.change((rows) => rows.put(iterations, OTHER, { iteration, state: "running" } as Iteration)));

  test("waits for the end of the iteration that the plan names, and takes what gates had made champion by then", async () => {
    const w = await open({ plan: { start_from: from } });
    await w.turn("training", 0);
    expect(w.row(trainingWork)!.waits).toMatchObject([
      { for: "related_champion", actual: `${OTHER} does not train here`, required: "the end of its iteration 2" },
    ]);
    await w.driven(
      w.change((rows) => {
        rows.apply(crowned(1, 0, "first"));
        rows.apply(crowned(2, 1, "gate"));
        rows.apply(crowned(3, 2, "rollback"));
        rows.apply(crowned(4, 3, "gate"));
      }),
    );
    await otherAt(w, 2);
    await w.pass(1_100);
    expect(w.row(trainingWork)!.waits).toMatchObject([{ actual: `${OTHER} is in iteration 2` }]);
    expect(w.queue.list({ workType: "training" })).toEqual([]);
    await otherAt(w, 3);
    await w.pass(1_100);
    const [job] = w.queue.list({ workType: "training" });
    const payload = w.queue.payload(job!.work_id)!;
    expect(payload.parameters).toMatchObject({ fresh: true });
    expect(payload.inputs).toEqual([{ name: "related", sha256: sha("gate 1") }]);
    expect(w.troubles()).toEqual([]);
  });
});

describe("training that learns nothing more", () => {
  const learned = (w: LearningWorld, iteration: number, loss: number) =>
    w.driven(
      w.change((rows) =>
        rows.apply(
          recordRun({
            ...{ config_key: w.configKey, iteration, attempt: 1, job_id: `j${iteration}`, work_id: `w${iteration}` },
            ...{ node_id: "n1", model: `m${iteration}`, model_bytes: 1, checkpoint: null, base_checkpoint: null },
            ...{ inputs: [], fresh: false, steps: 1, rows: 1, loss, losses: {}, ended_at: 0, recipe: null },
          }),
        ),
      ),
    );

  test("asks for harder games, once in twelve runs", async () => {
    const w = await open();
    await w.first();
    for (let n = 1; n <= 12; n += 1) await learned(w, n, n < 6 ? 2 - n / 10 : 1.5);
    await w.exported(13);
    await w.turn("training", 13);
    expect(w.said("CURRICULUM_ADVANCEMENT_NEEDED")).toMatchObject([{ payload: { config_key: w.configKey } }]);
    expect(w.row(trainingGates)).toMatchObject({ verdict: "go", asked: 13 });
    await w.turn("training", 14);
    expect(w.row(trainingGates)).toMatchObject({ iteration: 14, asked: 13 });
    expect(w.said("CURRICULUM_ADVANCEMENT_NEEDED")).toHaveLength(1);
  });
});

describe("the window", () => {
  test("of a run is that of its plan, turned by the knob that its iteration was opened with", async () => {
    const w = await open({ plan: { window: { base: 1_000, share: 0.4, most: 4_000 } } });
    await w.first();
    await w.exported(1, 1_000);
    await w.turn("training", 1, 1, { knobs: { window: 0.5 } });
    const [job] = w.queue.list({ workType: "training", state: "pending" });
    expect(w.queue.payload(job!.work_id)!.parameters).toMatchObject({
      ...{ window_base: 500, window_share: 0.2, window_most: 2_000 },
    });
  });
});

describe("model_coordinator", () => {
  test("notes the tier that a model rose to and the configs that began with it; its history shows both", async () => {
    const w = await open({ only: [...ONLY, "model_coordinator"] });
    const model_id = await w.first();
    await w.pass(1_100);
    const tell = (event: string, payload: object) =>
      w.driven(w.router.publish(event as never, payload as never, { source: "test" } as never));
    const tier = { tier: "tier-1", previous_tier: "tier-0", games: 20, elo: 90 };
    await tell("TIER_PROMOTION", { config_key: w.configKey, model_id, ...tier });
    await tell("CROSSBOARD_PROMOTION", {
      model_id,
      config_keys: [w.configKey, "nim_2p"],
      elo: 90,
      min_elo: 60,
      games: 20,
    });
    await w.pass(1_100);
    expect(modelEntry(w.store, w.configKey, model_id)!.standing).toMatchObject({
      tier: { name: "tier-1" },
      boards: { config_keys: [w.configKey, "nim_2p"] },
    });
    const changed = w.said("MODEL_UPDATED").map(({ payload }) => payload.changed_fields);
    expect(changed.filter((fields) => String(fields) === "standing")).toHaveLength(2);
    expect(w.troubles()).toEqual([]);
  });
});
