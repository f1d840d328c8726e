/** What a run comes to: how far it is, that it failed, or the model that it brought. */
import { defined, isOperatingError } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import { epochOfCheckpoint, recordRun, trainingRuns } from "../../../models/index.ts";
import { done, failed, type StageFailure, type StageServices, type Turn } from "../../../stage/index.ts";
import { RUNS_COMPARED } from "../../limits.ts";
import { trainingLines } from "../../tables.ts";
import { unusableCheckpoints, withUnusable } from "../../unusable.ts";
import { type TrainingEvidence, trainingEvidence } from "./evidence.ts";
import { release } from "./lock.ts";
import { lossAnomaly, lossTrend } from "./losses.ts";
import { PART, runOf, type Work, withRun } from "./run.ts";

/** It is told that a run runs when somebody has begun it; a fresh model is no run over data. */
export function emitStart(
  { store }: Pick<StageServices, "store">,
  turn: Turn<"TRAINING_STARTED" | "CHECKPOINT_LOADED" | "CHECKPOINT_SAVED">,
  work: Work,
  job: JobView,
): Work {
  return emitResumed(turn, emitBegun(store, turn, work, job), job);
}

function emitBegun(
  store: StageServices["store"],
  { emit, configKey, jobId }: Turn<"TRAINING_STARTED" | "CHECKPOINT_LOADED">,
  work: Work,
  job: JobView,
): Work {
  const { told, fresh, inputs, rows, base_model, base_checkpoint } = runOf(work);
  if (told || job.started_at === null || job.node_id === null) return work;
  const file = inputs.at(-1);
  if (!fresh && file !== undefined && rows > 0)
    emit.TRAINING_STARTED({
      config_key: configKey,
      job_id: jobId,
      node_id: job.node_id,
      samples: rows,
      artifact_hash: file,
      ...defined({ base_model_id: base_model ?? undefined }),
    });
  if (base_checkpoint !== null)
    emit.CHECKPOINT_LOADED({
      config_key: configKey,
      job_id: jobId,
      training_epoch: epochOfCheckpoint(store, configKey, base_checkpoint),
      artifact_hash: base_checkpoint,
      node_id: job.node_id,
    });
  return withRun(work, { told: true });
}

/** A try that was stopped saved how far it was, and the next one goes on from there: each is told once. */
function emitResumed(
  { emit, configKey, jobId }: Turn<"CHECKPOINT_LOADED" | "CHECKPOINT_SAVED">,
  work: Work,
  { saved, fence, started_at, node_id }: JobView,
): Work {
  if (saved === null) return work;
  const { told_saved, told_resumed } = runOf(work);
  const about = { config_key: configKey, job_id: jobId, training_epoch: saved.epoch, artifact_hash: saved.sha256 };
  if (told_saved !== saved.sha256) emit.CHECKPOINT_SAVED({ ...about, artifact_bytes: saved.bytes });
  const isResumed = fence > saved.fence && started_at !== null && node_id !== null;
  if (isResumed && told_resumed !== fence) emit.CHECKPOINT_LOADED({ ...about, node_id });
  const told = { told_saved: saved.sha256, told_resumed: isResumed ? fence : (told_resumed ?? null) };
  return told_saved === told.told_saved && (told_resumed ?? null) === told.told_resumed ? work : withRun(work, told);
}

/** How far the run is, as often as its job says another loss. */
export function emitProgress({ emit, configKey, jobId }: Turn<"TRAINING_PROGRESS">, work: Work, job: JobView): Work {
  const { loss, validation_loss, epoch = 0 } = job.metrics ?? {};
  if (loss === undefined || loss <= 0 || loss === runOf(work).told_loss) return work;
  const isValid = validation_loss !== undefined && validation_loss > 0;
  emit.TRAINING_PROGRESS({
    config_key: configKey,
    job_id: jobId,
    training_epoch: Math.max(0, Math.floor(epoch)),
    loss,
    ...defined({ validation_loss: isValid ? validation_loss : undefined }),
  });
  return withRun(work, { told_loss: loss });
}

export function refuse(
  turn: Turn<"TRAINING_FAILED" | "TRAINING_LOSS_ANOMALY">,
  work: Work,
  failure: StageFailure,
  job?: JobView,
): Work {
  const { emit, now, configKey: config_key, jobId: job_id } = turn;
  release(turn, job_id);
  emit.TRAINING_FAILED({
    config_key,
    job_id,
    error: failure.message,
    retryable: failure.retryable,
    error_code: failure.code,
    ...defined({ node_id: job?.node_id ?? undefined }),
    duration_seconds: (now - work.since) / 1_000,
  });
  if (failure.code === "TRAINING_LOSS_NOT_FINITE")
    emit.TRAINING_LOSS_ANOMALY({ config_key, job_id, training_epoch: 0, anomaly: "not_finite" });
  return failed(work, now, failure);
}

type Ended = Turn<
  | "TRAINING_FAILED"
  | "TRAINING_LOSS_ANOMALY"
  | "TRAINING_LOSS_TREND"
  | "CHECKPOINT_SAVED"
  | "TRAINING_EARLY_STOPPED"
  | "TRAINING_COMPLETED"
>;

export function complete(services: StageServices, turn: Ended, work: Work, job: JobView): Work {
  const { now } = turn;
  const run = runOf(work);
  let found: TrainingEvidence;
  try {
    found = trainingEvidence(job, { fresh: run.fresh });
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    const { code, message, retryable } = thrown;
    return refuse(turn, work, { code, message, retryable }, job);
  }
  record(services, turn, work, job, found);
  const { loss } = found;
  const trend = loss === null ? null : watchLoss(services, turn, work, loss, found.epochs);
  const own = { model: found.model.sha256, checkpoint: found.checkpoint?.sha256 ?? null };
  const before = { model: run.base_model, checkpoint: run.base_checkpoint };
  turn.put(trainingLines, { ...own, iteration: work.iteration, rollback: run.rollback, trend, before });
  if (run.without !== undefined) noteCheckpoint(services, turn, run.without);
  release(turn, turn.jobId);
  emitEnd(turn, work, job, found);
  return done(work, now, {
    own,
    outputs: filesOf(found),
    evidence: {
      ...found.numbers,
      trained: true,
      fresh: run.fresh,
      steps: found.steps,
      rows: found.rows,
      window_files: run.inputs.length,
      base_checkpoint: run.base_checkpoint,
      priorities: run.priorities ?? null,
      loss,
      early_stopped: found.earlyStopped,
      loss_trend: trend,
      node_id: job.node_id,
    },
  });
}

/** Runs failed with this checkpoint, and the same run without it did not: that is the checkpoint's fault. */
function noteCheckpoint({ catalog }: StageServices, { row, put, at, now }: Ended, checkpoint: string): void {
  const found = {
    sha256: checkpoint,
    producer: catalog.get(checkpoint)?.producer ?? "unknown",
    reason: "runs failed with its checkpoint, and one without it did not",
    isProven: true,
    iteration: at.iteration,
    now,
  };
  put(unusableCheckpoints, withUnusable(row(unusableCheckpoints), found));
}

const filesOf = ({ model, checkpoint }: TrainingEvidence) => [model, ...(checkpoint === null ? [] : [checkpoint])];

/** The run and its files enter the books. */
function record(services: StageServices, turn: Ended, work: Work, job: JobView, found: TrainingEvidence): void {
  const { iteration, attempt } = work;
  const { inputs, base_checkpoint, fresh } = runOf(work);
  turn.rows.apply(
    recordRun({
      config_key: turn.configKey,
      iteration,
      attempt,
      job_id: turn.jobId,
      work_id: job.work_id,
      node_id: job.node_id,
      model: found.model.sha256,
      model_bytes: found.model.bytes,
      checkpoint: found.checkpoint?.sha256 ?? null,
      base_checkpoint,
      inputs,
      fresh,
      steps: found.steps,
      rows: found.rows,
      loss: found.loss,
      losses: found.numbers,
      ended_at: turn.now,
      recipe: services.queue.payload(job.work_id) ?? null,
    }),
  );
  const files = filesOf(found);
  const artifacts = services.catalog.join(turn);
  const about = {
    games: 0,
    config_key: turn.configKey,
    producer: job.node_id ?? "unknown",
    parents: [...inputs, ...(base_checkpoint === null ? [] : [base_checkpoint])],
    work_id: job.work_id,
    part: PART,
    iteration,
  };
  artifacts.record(files.map((file) => ({ ...file, ...about })));
  artifacts.accept(files.map(({ sha256 }) => sha256));
}

/** What the losses say beside those of the runs before. */
function watchLoss(
  { store }: StageServices,
  { emit, row, configKey, jobId }: Ended,
  work: Work,
  loss: number,
  epochs: number,
): string | null {
  const before = trainingRuns(store, configKey, RUNS_COMPARED)
    .filter((run) => run.loss !== null && run.iteration < work.iteration)
    .map((run) => run.loss!)
    .reverse();
  const about = { config_key: configKey, job_id: jobId, training_epoch: epochs, loss };
  const odd = lossAnomaly(loss, before);
  if (odd !== undefined)
    emit.TRAINING_LOSS_ANOMALY({
      ...about,
      anomaly: odd.anomaly,
      ...defined({ expected_loss: odd.expected, threshold: odd.threshold }),
    });
  const known = row(trainingLines)?.trend ?? null;
  const found = lossTrend([...before, loss]);
  if (found === undefined) return known;
  if (found.trend !== known)
    emit.TRAINING_LOSS_TREND({
      ...about,
      trend: found.trend,
      previous_loss: found.first,
      window_epochs: found.runs,
    });
  return found.trend;
}

function emitEnd({ emit, now, configKey, jobId }: Ended, work: Work, job: JobView, found: TrainingEvidence): void {
  const { model, checkpoint, loss, validationLoss, policyAccuracy, epochs, earlyStopped, bestLoss } = found;
  const about = { config_key: configKey, job_id: jobId };
  if (checkpoint !== null)
    emit.CHECKPOINT_SAVED({
      ...about,
      artifact_hash: checkpoint.sha256,
      training_epoch: found.fresh ? 0 : epochs,
      artifact_bytes: checkpoint.bytes,
      ...defined({ loss: loss ?? undefined }),
    });
  if (loss === null) return;
  if (earlyStopped)
    emit.TRAINING_EARLY_STOPPED({
      ...about,
      training_epoch: epochs,
      final_loss: loss,
      best_loss: bestLoss ?? validationLoss ?? loss,
    });
  const run = runOf(work);
  emit.TRAINING_COMPLETED({
    ...about,
    node_id: job.node_id ?? "unknown",
    model_id: model.sha256,
    artifact_hash: model.sha256,
    final_loss: loss,
    epochs,
    samples: Math.max(1, found.rows, run.rows),
    duration_seconds: (now - work.since) / 1_000,
    early_stopped: earlyStopped,
    ...defined({
      validation_loss: validationLoss ?? undefined,
      policy_accuracy: policyAccuracy ?? undefined,
      base_model_id: run.base_model ?? undefined,
    }),
  });
}
