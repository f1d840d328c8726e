import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { isOperatingError, type Json } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { JobView, WorkQueue } from "../../work/index.ts";
import type { ModelArtifacts } from "../artifacts.port.ts";
import { type ConfigPlan, configs } from "../config-plan.ts";
import { awaitedInput, followJobs } from "../followed-jobs.ts";
import { type Iteration, isTurnOf, iterations, type StageFailure, type Wait } from "../iteration.ts";
import { type ConfigKey, cancelJobs, doneWork, eachConfig, failedWork, sameWaits } from "../models/loop-parts.ts";
import { recordRun, type TrainingRun, trainingRuns } from "../models/training-runs.ts";
import { INPUT_LOST, lostFiles, NO_REBUILDS, rebuildRows } from "../rebuild-rows.ts";
import { seedFor } from "../seeds.ts";
import { putJobs, refusedWait, undertakingOf, waitsSince } from "../stage-rows.ts";
import { beginWork, exportWork, isFor, type StageWork, type TrainingOwn, trainingWork } from "../stage-work.ts";
import { waitsOf } from "./gates.ts";
import { holderOf, trainingGates, trainingLocks } from "./gates-table.ts";
import { lossAnomaly, lossTrend } from "./loss-watch.ts";
import { type TrainingEvidence, trainingEvidence } from "./training-evidence.ts";
import { NEW_LINE, rollbacks, startOf, trainingLines } from "./training-line.ts";

export interface TrainingCoordinatorPorts {
  readonly queue: Pick<WorkQueue, "join" | "show" | "cancel" | "payload">;
  readonly store: Pick<Store, "read">;
  /** Where new models are written down; without it nobody keeps books of them. */
  readonly artifacts?: ModelArtifacts;
  readonly settings?: Partial<TrainingCoordinatorSettings>;
}

export interface TrainingCoordinatorSettings {
  readonly everyMs: number;
  /** Runs at a time, over all configs. */
  readonly mostRuns: number;
  /** How long a lock holds without being renewed. */
  readonly lockMs: number;
}

export const trainingCoordinatorDefaults: TrainingCoordinatorSettings = {
  everyMs: 2_000,
  mostRuns: 3,
  lockMs: 120_000,
};

const SAID = [
  "WORK_QUEUED",
  "TRAINING_STARTED",
  "TRAINING_PROGRESS",
  "TRAINING_COMPLETED",
  "TRAINING_FAILED",
  "TRAINING_LOCK_ACQUIRED",
  "TRAINING_SLOT_UNAVAILABLE",
  "TRAINING_EARLY_STOPPED",
  "TRAINING_LOSS_ANOMALY",
  "TRAINING_LOSS_TREND",
  "CHECKPOINT_SAVED",
] as const;
type Context = UnitContext<(typeof SAID)[number]>;
type Work = StageWork<TrainingOwn>;

const UNIT = "training_coordinator";
const PART = "p0";
const RUN: TrainingOwn = { model: null, checkpoint: null };
/** Progress is written down in steps, not with every beat. */
const PROGRESS_STEP = 0.1;

/** What the evidence of a run holds while it is under way. */
interface RunEvidence {
  readonly fresh: boolean;
  readonly inputs: readonly string[];
  readonly rows: number;
  readonly base_checkpoint: string | null;
  readonly base_model: string | null;
  readonly rollback: number;
  /** Whether it was told that it runs. */
  readonly told: boolean;
  readonly progress: number;
  /** The loss that was told last; null before the first. */
  readonly told_loss: number | null;
}
const runOf = (work: Work) => work.evidence as unknown as RunEvidence;
const withRun = (work: Work, run: RunEvidence): Work => ({ ...work, evidence: run as unknown as Work["evidence"] });

/** Where the next run begins. A checkpoint that nobody can make again costs the run its momentum, not its network. */
function startFor(configKey: ConfigKey, { rows }: Pick<Context, "rows">) {
  const start = startOf(rows.get(trainingLines, configKey) ?? NEW_LINE, rows.get(rollbacks, configKey));
  const lost = lostFiles(rows.get(rebuildRows, configKey));
  return start.checkpoint !== null && lost.has(start.checkpoint) ? { ...start, checkpoint: null } : start;
}

/** The job of a run. What it is given follows from the plan, the iteration and files by their hash. */
function jobOf(configKey: ConfigKey, plan: ConfigPlan, run: RunEvidence, iteration: Iteration, context: Context) {
  const exported = context.rows.get(exportWork, configKey)?.own;
  const network_seed = seedFor(plan.seed, "network");
  const batch_id = undertakingOf(configKey, iteration, "training");
  const inputs: { name: string; sha256: string }[] = [];
  let parameters: { [name: string]: Json } = { ...plan.training, network_seed };
  if (run.fresh) parameters = { ...parameters, fresh: true };
  else {
    const window = exported!.window;
    const numbered = (name: string, at: number) => `${name}-${String(at).padStart(4, "0")}`;
    for (const [at, shard] of window.entries()) inputs.push({ name: numbered("samples", at), sha256: shard.sha256 });
    for (const [at, { holdout }] of window.entries())
      if (holdout !== null) inputs.push({ name: numbered("holdout", at), sha256: holdout.sha256 });
    parameters = {
      ...parameters,
      new_rows: exported!.new_rows,
      total_rows: exported!.total_rows,
      window_base: plan.window.base,
      window_share: plan.window.share,
      window_most: plan.window.most,
    };
    const start = startFor(configKey, context);
    if (start.checkpoint !== null) inputs.push({ name: "checkpoint", sha256: start.checkpoint });
    else if (start.model !== null) inputs.push({ name: "model", sha256: start.model });
  }
  return {
    work_type: "training",
    config_key: configKey,
    urgency: "high" as const,
    payload: { parameters, seed: seedFor(plan.seed, "training", iteration.iteration), inputs },
    batch_id,
    dedup_key: `${batch_id}:${PART}`,
    requested_by: UNIT,
  };
}

/**
 * The only one who starts training. A run holds the lock of its config and one of the slots; it counts as done when its
 * evidence holds: a model with its hash, steps, and losses that are finite. It has a loop besides its events, as a lost event
 * would otherwise leave a finished run unseen.
 */
export const trainingCoordinator = (ports: TrainingCoordinatorPorts) => {
  const { queue, store, artifacts } = ports;
  const settings = { ...trainingCoordinatorDefaults, ...ports.settings };

  const wait = (configKey: ConfigKey, work: Work, waits: readonly Omit<Wait, "since">[], { rows, now }: Context) => {
    const since = waitsSince(work.waits, now, waits);
    if (!isFor(rows.get(trainingWork, configKey), work) || !sameWaits(work.waits, since))
      rows.put(trainingWork, configKey, { ...work, waits: since });
  };

  /** The round goes on without a run: the next games may open the gate that nothing in this round can. */
  const skip = (configKey: ConfigKey, iteration: Iteration, { rows, now }: Context) => {
    const line = rows.get(trainingLines, configKey) ?? NEW_LINE;
    const closed = waitsOf(rows.get(trainingGates, configKey)?.gates ?? []);
    const work = beginWork<TrainingOwn>(iteration, now, { model: null, checkpoint: line.checkpoint });
    rows.put(trainingWork, configKey, doneWork(work, now, { evidence: { trained: false, skipped: closed as Json } }));
  };

  const release = (configKey: string, jobId: string, { rows, now }: Context) => {
    const lock = rows.get(trainingLocks, configKey);
    if (lock?.holder === jobId) rows.put(trainingLocks, configKey, { ...lock, holder: null, expires_at: now });
  };

  /** Whether the lock and a slot are free; says what is missing where they are not. */
  const isFree = (configKey: ConfigKey, work: Work, context: Context): boolean => {
    const { rows, emit, now } = context;
    const jobId = undertakingOf(configKey, work, "training");
    const lock = rows.get(trainingLocks, configKey);
    const holder = holderOf(lock, now);
    const others = rows
      .list(trainingLocks)
      .filter(([key, each]) => key !== configKey && holderOf(each, now) !== null).length;
    const isLocked = holder !== null && holder !== jobId;
    if (isLocked || others >= settings.mostRuns) {
      const missing = isLocked
        ? { for: "the training lock of the config", actual: holder, required: "free" }
        : { for: "a training slot", actual: others, required: `fewer than ${settings.mostRuns}` };
      if (!work.waits.some((known) => known.for === missing.for))
        emit.TRAINING_SLOT_UNAVAILABLE({
          config_key: configKey,
          waits_for: isLocked ? "config_lock" : "cluster_slot",
          running_runs: others + (isLocked ? 1 : 0),
          allowed_runs: settings.mostRuns,
        });
      wait(configKey, work, [missing], context);
    }
    return !isLocked && others < settings.mostRuns;
  };

  const acquire = (configKey: ConfigKey, work: Work, { rows, emit, now }: Context) => {
    const holder = undertakingOf(configKey, work, "training");
    const fence = (rows.get(trainingLocks, configKey)?.fence ?? 0) + 1;
    const expires_at = now + settings.lockMs;
    rows.put(trainingLocks, configKey, { holder, fence, acquired_at: now, expires_at });
    emit.TRAINING_LOCK_ACQUIRED({ config_key: configKey, job_id: holder, expires_at: expires_at / 1_000 });
  };

  const start = (configKey: ConfigKey, iteration: Iteration, context: Context) => {
    const { rows, now } = context;
    const { plan } = rows.get(configs, configKey)!;
    const known = rows.get(trainingWork, configKey);
    const work = isFor(known, iteration) ? known! : beginWork<TrainingOwn>(iteration, now, RUN);
    const fresh = iteration.iteration === 0;
    const window = fresh ? [] : (rows.get(exportWork, configKey)?.own.window ?? []);
    if (!fresh && window.length === 0) {
      const message = "the export of this iteration left no file to train on";
      return refuse(configKey, work, { code: "TRAINING_WITHOUT_DATA", message, retryable: true }, context);
    }
    if (!isFree(configKey, work, context)) return;
    const from = fresh ? startOf(NEW_LINE, undefined) : startFor(configKey, context);
    const run: RunEvidence = {
      fresh,
      inputs: window.map(({ sha256 }) => sha256),
      rows: window.reduce((sum, shard) => sum + shard.rows, 0),
      base_checkpoint: from.checkpoint,
      base_model: from.model,
      rollback: from.rollback,
      told: false,
      progress: 0,
      told_loss: null,
    };
    const put = putJobs(queue, context, [jobOf(configKey, plan, run, iteration, context)]);
    if ("refused" in put) return wait(configKey, work, [refusedWait(put.refused)], context);
    acquire(configKey, work, context);
    rows.put(trainingWork, configKey, { ...withRun(work, run), waits: [], jobs: { [PART]: put.added[0]!.work_id } });
  };

  const refuse = (configKey: ConfigKey, work: Work, failure: StageFailure, context: Context, job?: JobView) => {
    const { rows, emit, now } = context;
    const job_id = undertakingOf(configKey, work, "training");
    rows.put(trainingWork, configKey, failedWork(work, now, failure));
    release(configKey, job_id, context);
    emit.TRAINING_FAILED({
      config_key: configKey,
      job_id,
      error: failure.message,
      retryable: failure.retryable,
      error_code: failure.code,
      ...(job?.node_id == null ? {} : { node_id: job.node_id }),
      duration_seconds: (now - work.since) / 1_000,
    });
    if (failure.code === "TRAINING_LOSS_NOT_FINITE")
      emit.TRAINING_LOSS_ANOMALY({ config_key: configKey, job_id, training_epoch: 0, anomaly: "not_finite" });
  };

  /** It is told that a run runs when somebody has begun it; a fresh model is no run over data. */
  const tellStart = (configKey: ConfigKey, work: Work, job: JobView, { emit }: Context): Work => {
    const run = runOf(work);
    if (run.told || job.started_at === null || job.node_id === null) return work;
    const file = run.inputs.at(-1);
    if (!run.fresh && file !== undefined && run.rows > 0)
      emit.TRAINING_STARTED({
        config_key: configKey,
        job_id: undertakingOf(configKey, work, "training"),
        node_id: job.node_id,
        samples: run.rows,
        artifact_hash: file,
        ...(run.base_model === null ? {} : { base_model_id: run.base_model }),
      });
    return withRun(work, { ...run, told: true });
  };

  /** How far the run is, as often as its job says another loss. */
  const tellProgress = (configKey: ConfigKey, work: Work, job: JobView, { emit }: Context): Work => {
    const { loss, validation_loss, epoch = 0 } = job.metrics ?? {};
    if (loss === undefined || loss <= 0 || loss === runOf(work).told_loss) return work;
    emit.TRAINING_PROGRESS({
      config_key: configKey,
      job_id: undertakingOf(configKey, work, "training"),
      training_epoch: Math.max(0, Math.floor(epoch)),
      loss,
      ...(validation_loss === undefined || validation_loss <= 0 ? {} : { validation_loss }),
    });
    return withRun(work, { ...runOf(work), told_loss: loss });
  };

  /** What the losses say beside those of the runs before. */
  const watchLoss = (
    configKey: ConfigKey,
    work: Work,
    loss: number,
    epochs: number,
    context: Context,
  ): string | null => {
    const { emit, rows } = context;
    const job_id = undertakingOf(configKey, work, "training");
    const before = trainingRuns(store, configKey, 20)
      .filter((run) => run.loss !== null && run.iteration < work.iteration)
      .map((run) => run.loss!)
      .reverse();
    const odd = lossAnomaly(loss, before);
    if (odd !== undefined)
      emit.TRAINING_LOSS_ANOMALY({
        config_key: configKey,
        job_id,
        training_epoch: epochs,
        anomaly: odd.anomaly,
        loss,
        ...(odd.expected === undefined ? {} : { expected_loss: odd.expected }),
        ...(odd.threshold === undefined ? {} : { threshold: odd.threshold }),
      });
    const known = rows.get(trainingLines, configKey)?.trend ?? null;
    const found = lossTrend([...before, loss]);
    if (found === undefined) return known;
    if (found.trend !== known)
      emit.TRAINING_LOSS_TREND({
        config_key: configKey,
        job_id,
        training_epoch: epochs,
        trend: found.trend,
        loss,
        previous_loss: found.first,
        window_epochs: found.runs,
      });
    return found.trend;
  };

  const tellEnd = (configKey: ConfigKey, work: Work, job: JobView, found: TrainingEvidence, { emit, now }: Context) => {
    const job_id = undertakingOf(configKey, work, "training");
    const { model, checkpoint, loss, validationLoss, policyAccuracy, epochs, earlyStopped, bestLoss } = found;
    if (checkpoint !== null)
      emit.CHECKPOINT_SAVED({
        config_key: configKey,
        job_id,
        artifact_hash: checkpoint.sha256,
        training_epoch: found.fresh ? 0 : epochs,
        artifact_bytes: checkpoint.bytes,
        ...(loss === null ? {} : { loss }),
      });
    if (loss === null) return;
    const run = runOf(work);
    if (earlyStopped)
      emit.TRAINING_EARLY_STOPPED({
        config_key: configKey,
        job_id,
        training_epoch: epochs,
        final_loss: loss,
        best_loss: bestLoss ?? validationLoss ?? loss,
      });
    emit.TRAINING_COMPLETED({
      config_key: configKey,
      job_id,
      node_id: job.node_id ?? "unknown",
      model_id: model.sha256,
      artifact_hash: model.sha256,
      final_loss: loss,
      epochs,
      samples: Math.max(1, found.rows, run.rows),
      duration_seconds: (now - work.since) / 1_000,
      early_stopped: earlyStopped,
      ...(validationLoss === null ? {} : { validation_loss: validationLoss }),
      ...(policyAccuracy === null ? {} : { policy_accuracy: policyAccuracy }),
      ...(run.base_model === null ? {} : { base_model_id: run.base_model }),
    });
  };

  const complete = (configKey: ConfigKey, work: Work, job: JobView, context: Context) => {
    const { rows, now } = context;
    const run = runOf(work);
    let found: TrainingEvidence;
    try {
      found = trainingEvidence(job, { fresh: run.fresh });
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      const { code, message, retryable } = thrown;
      return refuse(configKey, work, { code, message, retryable }, context, job);
    }
    const { model, checkpoint, loss } = found;
    const files = [model, ...(checkpoint === null ? [] : [checkpoint])];
    const job_id = undertakingOf(configKey, work, "training");
    const record: TrainingRun = {
      config_key: configKey,
      iteration: work.iteration,
      attempt: work.attempt,
      job_id,
      work_id: job.work_id,
      node_id: job.node_id,
      model: model.sha256,
      model_bytes: model.bytes,
      checkpoint: checkpoint?.sha256 ?? null,
      base_checkpoint: run.base_checkpoint,
      inputs: run.inputs,
      fresh: run.fresh,
      steps: found.steps,
      rows: found.rows,
      loss,
      losses: found.numbers,
      ended_at: now,
      recipe: queue.payload(job.work_id) ?? null,
    };
    rows.apply(recordRun(record));
    const parents = [...run.inputs, ...(run.base_checkpoint === null ? [] : [run.base_checkpoint])];
    const joined = artifacts?.join(context);
    joined?.record(
      files.map((file) => ({
        ...file,
        games: 0,
        config_key: configKey,
        producer: job.node_id ?? "unknown",
        parents,
        work_id: job.work_id,
        part: PART,
        iteration: work.iteration,
      })),
    );
    joined?.accept(files.map(({ sha256 }) => sha256));
    const trend = loss === null ? null : watchLoss(configKey, work, loss, found.epochs, context);
    const own = { model: model.sha256, checkpoint: checkpoint?.sha256 ?? null };
    rows.put(trainingLines, configKey, { ...own, iteration: work.iteration, rollback: run.rollback, trend });
    const evidence = {
      trained: true,
      fresh: run.fresh,
      steps: found.steps,
      rows: found.rows,
      window_files: run.inputs.length,
      base_checkpoint: run.base_checkpoint,
      loss,
      ...found.numbers,
      early_stopped: found.earlyStopped,
      node_id: job.node_id,
    };
    rows.put(trainingWork, configKey, doneWork(work, now, { own, outputs: files, evidence }));
    release(configKey, job_id, context);
    tellEnd(configKey, work, job, found, context);
  };

  const follow = (configKey: ConfigKey, given: Work, context: Context) => {
    const { rows, now } = context;
    const followed = followJobs(queue, given.jobs, rows.get(rebuildRows, configKey) ?? NO_REBUILDS);
    const { completed, failed } = followed;
    const [done] = completed;
    const [lost] = failed;
    if (done !== undefined)
      return complete(configKey, tellStart(configKey, given, done.job, context), done.job, context);
    if (lost !== undefined) {
      const message = `job ${lost.workId} failed: ${lost.reason}`;
      return refuse(
        configKey,
        given,
        { code: lost.code === INPUT_LOST ? INPUT_LOST : "TRAINING_JOB_FAILED", message, retryable: true },
        context,
      );
    }
    const job = queue.show(given.jobs[PART]!)!;
    let work = tellProgress(configKey, tellStart(configKey, given, job, context), job, context);
    const progress = job.progress ?? 0;
    if (progress - runOf(work).progress >= PROGRESS_STEP) work = withRun(work, { ...runOf(work), progress });
    const waits = waitsSince(work.waits, now, awaitedInput(followed));
    if (!sameWaits(work.waits, waits)) work = { ...work, waits };
    if (work !== given) rows.put(trainingWork, configKey, work);
    const lock = rows.get(trainingLocks, configKey);
    if (lock !== undefined && lock.expires_at - now < settings.lockMs / 2)
      rows.put(trainingLocks, configKey, { ...lock, expires_at: now + settings.lockMs });
  };

  const reconcile = async (configKey: ConfigKey, context: Context) => {
    const { rows } = context;
    const iteration = rows.get(iterations, configKey);
    const work = rows.get(trainingWork, configKey);
    if (work?.state === "running" && iteration !== undefined && !isFor(work, iteration)) {
      // Somebody gave this attempt up: its job must not run beside the next one's.
      await cancelJobs(queue, Object.values(work.jobs), "another attempt took its place", UNIT);
      release(configKey, undertakingOf(configKey, work, "training"), context);
    }
    if (!isTurnOf("training", iteration) || rows.get(configs, configKey) === undefined) return;
    const isMine = isFor(work, iteration);
    if (isMine && work!.state !== "running") return;
    if (isMine && work!.jobs[PART] !== undefined) return follow(configKey, work!, context);
    if (iteration.iteration > 0 && !isMine) {
      const gates = rows.get(trainingGates, configKey);
      if (gates === undefined || !isFor(gates, iteration) || gates.verdict === "wait") return;
      if (gates.verdict === "skip") return skip(configKey, iteration, context);
    }
    start(configKey, iteration, context);
  };

  return defineDaemon({
    name: UNIT,
    layer: 3,
    placement: "leader",
    alsoKnownAs: ["TrainingCoordinator", "EvaluationFeedbackHandler", "AsyncTrainingBridge"],
    pattern: "WIRE",
    dependsOn: ["model_coordinator", "global_task_coordinator"],
    emits: SAID,
    state: { tables: { trainingWork, trainingLocks, trainingLines } },
    on: {
      ...onEach(
        [
          "PIPELINE_STAGE_ENTERED",
          "TRAINING_THRESHOLD_REACHED",
          "TRAINING_BLOCKED_BY_QUALITY",
          "TRAINING_ROLLBACK_NEEDED",
          "TRAINING_ROLLBACK_COMPLETED",
          "PROMOTION_ROLLED_BACK",
          "MODEL_PROMOTED",
        ],
        ({ payload }, context: Context) => reconcile(payload.config_key, context),
      ),
      ...onEach(
        ["WORK_STARTED", "WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"],
        async ({ payload }, context: Context) => {
          if (payload.work_type === "training" && payload.config_key !== undefined)
            await reconcile(payload.config_key, context);
        },
      ),
    },
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
    health: ({ rows }) => {
      const all = rows.list(trainingWork);
      const failed = all.filter(([, { state }]) => state === "failed").map(([key]) => key);
      const details = Object.fromEntries(all.map(([key, { state, iteration }]) => [key, `${iteration} ${state}`]));
      return failed.length === 0
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `training of ${failed.join(", ")} failed`, details };
    },
  });
};
