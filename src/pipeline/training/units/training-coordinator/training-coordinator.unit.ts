import type { Wiring } from "../../../../daemons/index.ts";
import type { Json } from "../../../../kernel/index.ts";
import {
  cancelJobs,
  defineStage,
  done,
  everyMs,
  exportWork,
  followStageJobs,
  isFor,
  JOB_ENDS,
  jobFailure,
  putJobs,
  refusedWait,
  type StageServices,
  strandedParts,
  type TurnOf,
  takeBackStranded,
  trainingWork,
  undertakingOf,
  waiting,
} from "../../../stage/index.ts";
import { PROGRESS_STEP } from "../../limits.ts";
import { NEW_LINE, trainingGates, trainingLines, trainingLocks } from "../../tables.ts";
import { unusableCheckpoints } from "../../unusable.ts";
import { waitsOf } from "../training-trigger/decide.ts";
import { acquire, lacking, release, renew } from "./lock.ts";
import { complete, emitProgress, emitStart, refuse } from "./outcome.ts";
import { relatedModel } from "./related.ts";
import { beginRun, JOB_FAILED, jobOf, PART, prioritiesFor, runOf, type Work, withRun } from "./run.ts";

const wiring = {
  name: "training_coordinator",
  layer: 3,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "training",
  alsoKnownAs: ["TrainingCoordinator", "EvaluationFeedbackHandler", "AsyncTrainingBridge"],
  pattern: "WIRE",
  dependsOn: ["model_coordinator", "global_task_coordinator"],
  emits: [
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
    "CHECKPOINT_LOADED",
  ],
} as const satisfies Wiring;

type Turn = TurnOf<typeof wiring>;

/**
 * The only one who starts training. A run holds the lock of its config and one of the slots; it counts as done when its
 * evidence holds: a model with its hash, steps, and losses that are finite. It has a loop besides its events, as a lost event
 * would otherwise leave a finished run unseen.
 */
export const trainingCoordinator = (services: StageServices) =>
  defineStage({
    ...wiring,
    stage: "training",
    work: trainingWork,
    state: { tables: { trainingLocks, trainingLines, unusableCheckpoints } },
    wakes: [
      "TRAINING_THRESHOLD_REACHED",
      "TRAINING_BLOCKED_BY_QUALITY",
      "TRAINING_ROLLBACK_NEEDED",
      "TRAINING_ROLLBACK_COMPLETED",
      "PROMOTION_ROLLED_BACK",
      "MODEL_PROMOTED",
      "HYPERPARAMETER_UPDATED",
      "CLUSTER_CAPACITY_CHANGED",
      "WORK_STARTED",
      "PER_BUFFER_REBUILT",
      "PER_PRIORITIES_UPDATED",
      ...JOB_ENDS,
    ],
    jobs: "training",
    everyMs: everyMs(services),
    // The first model knows nothing, and there is nothing to judge; any other run waits for the gates.
    begin: ({ row, at }) => {
      const gates = row(trainingGates);
      const isJudged = isFor(gates, at) && gates.verdict !== "wait";
      return at.iteration === 0 || isJudged ? { model: null, checkpoint: null } : undefined;
    },
    follow: (turn, work) => {
      if (work.jobs[PART] !== undefined) return follow(services, turn, work);
      const gates = turn.row(trainingGates);
      const isSkipped = turn.at.iteration > 0 && isFor(gates, turn.at) && gates.verdict === "skip";
      return isSkipped ? skip(turn, work) : start(services, turn, work);
    },
    async leave(look, work) {
      if (work.state !== "running") return;
      // Somebody gave this attempt up: its job must not run beside the next one's.
      await cancelJobs(services.queue, Object.values(work.jobs), "another attempt took its place", wiring.name);
      release(look, undertakingOf(look.configKey, work, "training"));
    },
  });

/** The round goes on without a run: the next games may open the gate that nothing in this round can. */
function skip({ row, now }: Turn, work: Work): Work {
  const closed = waitsOf(row(trainingGates)?.gates ?? []);
  const { checkpoint } = row(trainingLines) ?? NEW_LINE;
  return done(work, now, { own: { model: null, checkpoint }, evidence: { trained: false, skipped: closed as Json } });
}

function start(services: StageServices, turn: Turn, work: Work): Work {
  const fresh = turn.at.iteration === 0;
  const window = fresh ? [] : (turn.row(exportWork)?.own.window ?? []);
  if (!fresh && window.length === 0) {
    const message = "the export of this iteration left no file to train on";
    return refuse(turn, work, { code: "TRAINING_WITHOUT_DATA", message, retryable: true });
  }
  const missing = lacking(services, turn, work);
  if (missing !== undefined) return waiting(work, turn.now, missing);
  const related = fresh ? relatedModel(services, turn) : undefined;
  if (typeof related === "object") return waiting(work, turn.now, related);
  const priorities = fresh ? null : prioritiesFor(turn, window);
  if (priorities === undefined)
    return waiting(work, turn.now, { for: "priorities", actual: "under way", required: "of this window" });
  const run = beginRun(services, turn, window, fresh, { related, priorities });
  const parts = { [PART]: jobOf(services, turn, run) };
  const put = putJobs(services.queue, turn, { batch: turn.jobId, by: wiring.name, parts });
  if ("refused" in put) return waiting(work, turn.now, refusedWait(put.refused));
  acquire(turn);
  return { ...withRun(work, run), waits: [], jobs: put.jobs };
}

/** All who are there may not have the job, as they brought a model that nobody could use: then it is anybody's. */
function freeStranded(services: StageServices, turn: Turn, work: Work): Work | undefined {
  const { queue, workersFor } = services;
  if (strandedParts(queue, work.jobs, workersFor("training")).size === 0) return undefined;
  const parts = { [PART]: { ...jobOf(services, turn, runOf(work)), dedup_key: `${turn.jobId}:${PART}:anybody` } };
  const put = putJobs(queue, turn, { batch: turn.jobId, by: wiring.name, parts });
  if ("refused" in put || put.jobs[PART] === work.jobs[PART]) return undefined;
  takeBackStranded(services, turn, work.jobs[PART]!, wiring.name);
  return { ...work, jobs: put.jobs };
}

function follow(services: StageServices, turn: Turn, given: Work): Work {
  const { completed, failed, awaited } = followStageJobs(services.queue, turn, given.jobs);
  const [ended] = completed;
  const [lost] = failed;
  if (ended !== undefined) return complete(services, turn, emitStart(services, turn, given, ended.job), ended.job);
  if (lost !== undefined) return refuse(turn, given, jobFailure(JOB_FAILED, "job", lost));
  const freed = freeStranded(services, turn, given);
  if (freed !== undefined) return freed;
  const job = services.queue.show(given.jobs[PART]!)!;
  const told = emitProgress(turn, emitStart(services, turn, given, job), job);
  renew(turn);
  const progress = job.progress ?? 0;
  const isNews = progress - runOf(told).progress >= PROGRESS_STEP;
  return waiting(isNews ? withRun(told, { progress }) : told, turn.now, ...awaited);
}
