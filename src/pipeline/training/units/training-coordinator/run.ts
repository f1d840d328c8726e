/** A run of training: what it is given, and what is kept of it while it is under way. */
import { defined, sumOf } from "../../../../kernel/index.ts";
import { champions, checkpointOf, faultOf } from "../../../models/index.ts";
import { excluding } from "../../../selfplay/index.ts";
import {
  bufferOf,
  exportWork,
  isFor,
  isPrioritised,
  lostFiles,
  type PartJob,
  rebuildRows,
  replayBuffers,
  type Shard,
  type StageServices,
  type StageWork,
  seedFor,
  startFound,
  type TrainingOwn,
  type Turn,
  trainedWith,
  trainingTunings,
  windowWith,
  withKnobs,
} from "../../../stage/index.ts";
import { CHECKPOINT_TRIES } from "../../limits.ts";
import { NEW_LINE, rollbacks, startOf, type TrainingLine, trainingGates, trainingLines } from "../../tables.ts";
import { heldTrainers, isUnusable, unusableCheckpoints, unusables } from "../../unusable.ts";

export type Work = StageWork<TrainingOwn>;

/** The one part of a run. */
export const PART = "p0";
export const JOB_FAILED = "TRAINING_JOB_FAILED";

/** What the evidence of a run holds while it is under way. */
export interface RunEvidence {
  readonly fresh: boolean;
  readonly inputs: readonly string[];
  readonly rows: number;
  readonly base_checkpoint: string | null;
  readonly base_model: string | null;
  /** A checkpoint that runs of this iteration failed with, and without which this one begins; missing where there is none. */
  readonly without?: string | undefined;
  readonly rollback: number;
  /** The file by which rows are drawn; null where all are drawn alike. Missing in rows of older versions. */
  readonly priorities?: string | null;
  /** Whether it was told that it runs. */
  readonly told: boolean;
  readonly progress: number;
  /** The loss that was told last; null before the first. */
  readonly told_loss: number | null;
  /** The checkpoint of a stopped try that was told last, and the lease that went on from one; null before the first. */
  readonly told_saved?: string | null | undefined;
  readonly told_resumed?: number | null | undefined;
}
export const runOf = (work: Work) => work.evidence as unknown as RunEvidence;
export const withRun = (work: Work, changes: Partial<RunEvidence>): Work => ({
  ...work,
  evidence: { ...work.evidence, ...changes } as unknown as Work["evidence"],
});

type Start = ReturnType<typeof startOf> & { readonly without?: string };

/** The line without a model that nobody could use: it goes on where that one began. */
function soundLine({ row }: Turn): TrainingLine {
  const line = row(trainingLines) ?? NEW_LINE;
  if (!isUnusable(row(unusables), line.model)) return line;
  return { ...line, ...(line.before ?? { model: row(champions)?.model ?? null, checkpoint: null }) };
}

/** Runs of this iteration that failed in a way that speaks of what they were given. */
const failedRuns = ({ at: { failures, iteration } }: Turn): number =>
  failures.filter(
    (each) => each.iteration === iteration && each.code === JOB_FAILED && faultOf(each.code, each.message),
  ).length;

/**
 * Where it would begin if all files were sound: at the champion where an architecture is given up, after a rollback where that says, else at
 * the network that a search found since, else where the line is.
 */
function plannedStart(store: StageServices["store"], turn: Turn): ReturnType<typeof startOf> {
  const { row, at, configKey } = turn;
  const line = soundLine(turn);
  const gates = row(trainingGates);
  if (isFor(gates, at) && gates.back === true && at.champion !== null)
    return { model: at.champion, checkpoint: checkpointOf(store, configKey, at.champion), rollback: line.rollback };
  const usual = startOf(line, row(rollbacks));
  const found =
    usual.rollback === line.rollback ? startFound(row(trainingTunings), at.iteration, line.iteration) : null;
  return found === null ? usual : { ...usual, model: found.model, checkpoint: found.checkpoint };
}

/**
 * Where the next run begins. A checkpoint that nobody can make again, that was shown to be unusable, or with which runs of this iteration
 * failed again and again, costs the run its momentum, not its network.
 */
function startFor(store: StageServices["store"], turn: Turn): Start {
  const { row } = turn;
  const start = plannedStart(store, turn);
  if (start.checkpoint === null) return start;
  const isGone =
    lostFiles(row(rebuildRows)).has(start.checkpoint) || isUnusable(row(unusableCheckpoints), start.checkpoint);
  if (isGone) return { ...start, checkpoint: null };
  const isTried = start.model !== null && failedRuns(turn) >= CHECKPOINT_TRIES;
  return isTried ? { ...start, checkpoint: null, without: start.checkpoint } : start;
}

/** The file by which rows are drawn; null where all are drawn alike, undefined while it is being made. */
export function prioritiesFor({ plan, at, row }: Turn, window: readonly Shard[]): string | null | undefined {
  if (!isPrioritised(plan)) return null;
  const buffer = bufferOf(row(replayBuffers), at.iteration, window);
  if (buffer?.state === "failed") return null;
  return buffer?.file?.sha256;
}

export function beginRun(
  { store }: Pick<StageServices, "store">,
  turn: Turn,
  window: readonly Shard[],
  fresh: boolean,
  { related, priorities = null }: { readonly related?: string | undefined; readonly priorities?: string | null } = {},
): RunEvidence {
  const from: Start = fresh ? startOf(NEW_LINE, undefined) : startFor(store, turn);
  return {
    fresh,
    inputs: window.map(({ sha256 }) => sha256),
    rows: sumOf(window, (shard) => shard.rows),
    base_checkpoint: from.checkpoint,
    base_model: related ?? from.model,
    ...defined({ without: from.without }),
    rollback: from.rollback,
    priorities,
    told: false,
    progress: 0,
    told_loss: null,
  };
}

const numbered = (name: string, at: number) => `${name}-${String(at).padStart(4, "0")}`;

/** The job of a run. What it is given follows from the plan, the iteration and files by their hash. */
export function jobOf(
  { workersFor }: Pick<StageServices, "workersFor">,
  { plan, at, row }: Turn,
  run: RunEvidence,
): PartJob {
  const network = {
    ...withKnobs({ ...plan.training, ...trainedWith(row(trainingTunings), at.iteration) }, at.knobs, "learning_rate"),
    network_seed: seedFor(plan.seed, "network"),
  };
  const seed = seedFor(plan.seed, "training", at.iteration);
  const away = heldTrainers(row, at.iteration).map(({ producer }) => producer);
  const spec = {
    work_type: "training",
    urgency: "high",
    ...(away.length === 0 ? {} : { excluded_nodes: excluding(workersFor("training"), away) }),
  } as const;
  if (run.fresh) {
    const related = run.base_model === null ? [] : [{ name: "related", sha256: run.base_model }];
    return { ...spec, payload: { parameters: { ...network, fresh: true }, seed, inputs: related } };
  }
  const { window, new_rows, total_rows } = row(exportWork)!.own;
  const { base, share, most } = windowWith(plan.window, at.knobs);
  const inputs = window.map(({ sha256 }, n) => ({ name: numbered("samples", n), sha256 }));
  for (const [n, { holdout }] of window.entries())
    if (holdout !== null) inputs.push({ name: numbered("holdout", n), sha256: holdout.sha256 });
  if (run.base_checkpoint !== null) inputs.push({ name: "checkpoint", sha256: run.base_checkpoint });
  else if (run.base_model !== null) inputs.push({ name: "model", sha256: run.base_model });
  if (run.priorities != null) inputs.push({ name: "priorities", sha256: run.priorities });
  const { exponent, correction } = plan.replay ?? {};
  const drawn = run.priorities == null ? {} : { priority_exponent: exponent!, priority_correction: correction! };
  const rows = { ...drawn, new_rows, total_rows, window_base: base, window_share: share, window_most: most };
  return { ...spec, payload: { parameters: { ...network, ...rows }, seed, inputs } };
}
