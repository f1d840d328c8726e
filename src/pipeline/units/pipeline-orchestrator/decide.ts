/**
 * What the loop of one config does next, as a pure function of its rows. It knows no events and no clock but the argument:
 * whoever calls it, however often, the same rows lead to the same step.
 */
import { backoffMs, defined } from "../../../kernel/index.ts";
import { BREAKER, DEADLINE_MS, FALL_BACK, MAX_FAILURES, RETRY } from "../../limits.ts";
import {
  type ConfigRow,
  failuresInARow,
  type Iteration,
  isFor,
  type Knobs,
  MODEL_UNUSABLE,
  SEGMENTS_REJECTED,
  STAGES,
  type Stage,
  type StageFailure,
  type StageWork,
  stageAfter,
  type Wait,
} from "../../stage/index.ts";

export interface PipelineView {
  readonly now: number;
  readonly config: ConfigRow;
  readonly iteration: Iteration | undefined;
  /** The last work on each stage, of whatever iteration. */
  readonly work: Readonly<Record<Stage, StageWork<never> | undefined>>;
  /** SHA-256 of the champion; undefined before the first. */
  readonly champion: string | undefined;
  /** What steering says of an iteration that opens now; undefined where it says nothing. */
  readonly knobs?: (iteration: number) => Knobs | undefined;
  /** Whether the first model has to play before it is crowned: only use can show that a model of another program is one. */
  readonly isTriedFirst?: boolean;
}

/** `ended` is the work that this step closes: it goes into the history. */
export interface Step {
  readonly kind: "stay" | "entered" | "closed" | "failed" | "held" | "released";
  readonly iteration: Iteration;
  readonly ended?: { readonly stage: Stage; readonly work: StageWork<never> };
}

const attemptAt = (view: PipelineView, iteration: number, stage: Stage): number => {
  const work = view.work[stage];
  return work !== undefined && work.iteration === iteration ? work.attempt + 1 : 1;
};

function enter(view: PipelineView, from: Iteration, stage: Stage): Iteration {
  return {
    ...from,
    stage,
    attempt: attemptAt(view, from.iteration, stage),
    state: "running",
    stage_since: view.now,
    deadline: view.now + DEADLINE_MS[stage],
    waits: [],
    not_before: null,
  };
}

/** The first champion is made, not earned: iteration 0 only trains nothing, and crowns it. */
function open(view: PipelineView, number: number, failures: Iteration["failures"]): Iteration {
  const stage: Stage = number === 0 ? "training" : "selfplay";
  const blank: Iteration = {
    iteration: number,
    stage,
    attempt: 1,
    state: "running",
    opened_at: view.now,
    stage_since: view.now,
    deadline: 0,
    champion: view.champion ?? null,
    waits: [],
    failures,
    not_before: null,
    ...defined({ knobs: view.knobs?.(number) }),
  };
  return enter(view, blank, stage);
}

/** A candidate can be given up and the next one tried; games and training files cannot be done without. */
const DISPENSABLE: readonly Stage[] = ["training", "evaluation", "promotion"];

/** Where what a stage found bad is made again. */
const MADE_AGAIN_IN: Readonly<Record<string, Stage>> = {
  [SEGMENTS_REJECTED]: "selfplay",
  [MODEL_UNUSABLE]: "training",
};

/** Rounds in a row, before this one, that this stage gave up. */
const roundsGivenUp = (iteration: Iteration, stage: Stage): number => {
  const inARow = iteration.failures.slice(iteration.failures.length - failuresInARow(iteration, stage));
  return new Set(inARow.map((failure) => failure.iteration).filter((round) => round !== iteration.iteration)).size;
};

/** Tries again, goes on without the candidate, or waits for a person. */
function fail(view: PipelineView, iteration: Iteration, failure: StageFailure): Iteration {
  const { stage, attempt } = iteration;
  const noted = { ...failure, iteration: iteration.iteration, stage, attempt, at: view.now };
  const failed = { ...iteration, failures: [...iteration.failures, noted].slice(-MAX_FAILURES) };
  const ofThisRound = failed.failures.filter((each) => each.iteration === iteration.iteration && each.stage === stage);
  const isHopeless = !failure.retryable || ofThisRound.length >= FALL_BACK.failures;
  const isDispensable = DISPENSABLE.includes(stage) && iteration.iteration > 0;
  if (isHopeless && isDispensable && roundsGivenUp(failed, stage) < FALL_BACK.rounds)
    return open(view, iteration.iteration + 1, failed.failures);
  if (!failure.retryable || (isHopeless && isDispensable))
    return {
      ...failed,
      state: "failed",
      waits: [{ for: "person", actual: failure.message, required: null, since: view.now }],
    };
  const inARow = failuresInARow(failed, stage);
  const over = inARow - BREAKER.threshold;
  const waitMs =
    over >= 0
      ? Math.min(BREAKER.maxMs, BREAKER.openMs * 2 ** over)
      : backoffMs(RETRY, inARow, { next: () => 0, bits: () => 0 });
  const wait: Wait = {
    for: over >= 0 ? "stage_breaker" : "next_try",
    about: { stage, failures: inARow },
    actual: failure.message,
    required: null,
    since: view.now,
  };
  return { ...failed, state: "waiting", not_before: view.now + waitMs, waits: [wait] };
}

function afterDone(view: PipelineView, iteration: Iteration): Iteration {
  // A stage that succeeded has no failures in a row.
  const calm = { ...iteration, failures: iteration.failures.filter(({ stage }) => stage !== iteration.stage) };
  const isMade = iteration.iteration === 0 && iteration.stage === "training" && view.isTriedFirst !== true;
  const next = isMade ? "promotion" : stageAfter(iteration.stage);
  if (next !== undefined) return enter(view, calm, next);
  const max = view.config.plan.most_iterations;
  if (max !== null && iteration.iteration >= max)
    return {
      ...calm,
      state: "complete",
      waits: [{ for: "nothing", actual: iteration.iteration, required: max, since: view.now }],
    };
  return open(view, iteration.iteration + 1, calm.failures);
}

/** Whether somebody has said, since the last failure, that it shall be tried again. */
const isAskedAgain = ({ retried }: Pick<ConfigRow, "retried">, { failures }: Pick<Iteration, "failures">): boolean =>
  retried !== undefined && retried.at >= (failures.at(-1)?.at ?? 0);

/** The next step of one config. */
export function reconcile(view: PipelineView): Step {
  const { config, now } = view;
  if (view.iteration === undefined)
    return { kind: "entered", iteration: open(view, view.champion === undefined ? 0 : 1, []) };
  const { iteration } = view;
  if (config.paused !== null) {
    if (iteration.state === "paused" || iteration.state === "complete") return { kind: "stay", iteration };
    const { by, at, reason } = config.paused;
    const wait: Wait = { for: "resume", about: { by }, actual: reason, required: null, since: at };
    return { kind: "held", iteration: { ...iteration, state: "paused", waits: [wait] } };
  }
  if (iteration.state === "paused")
    return {
      kind: "released",
      // The time it stood still is no delay of the stage.
      iteration: { ...iteration, state: "running", waits: [], deadline: now + DEADLINE_MS[iteration.stage] },
    };
  if (iteration.state === "complete") {
    const max = config.plan.most_iterations;
    return max === null || iteration.iteration < max
      ? { kind: "entered", iteration: open(view, iteration.iteration + 1, iteration.failures) }
      : { kind: "stay", iteration };
  }
  if ((iteration.state === "failed" || iteration.state === "waiting") && isAskedAgain(config, iteration)) {
    // Somebody has mended the cause: what failed before says nothing of what comes.
    const failures = iteration.failures.filter(({ stage }) => stage !== iteration.stage);
    return { kind: "entered", iteration: enter(view, { ...iteration, failures }, iteration.stage) };
  }
  if (iteration.state === "failed") return { kind: "stay", iteration };
  if (iteration.state === "waiting") {
    if (iteration.not_before !== null && now < iteration.not_before) return { kind: "stay", iteration };
    return { kind: "entered", iteration: enter(view, iteration, iteration.stage) };
  }
  const work = view.work[iteration.stage];
  if (!isFor(work, iteration) || work!.state === "running") return { kind: "stay", iteration };
  const ended = { stage: iteration.stage, work: work! };
  if (work!.state === "done") return { kind: "closed", iteration: afterDone(view, iteration), ended };
  const failure = work!.failure ?? { code: "NO_REASON", message: "it failed without a reason", retryable: true };
  const failed = fail(view, iteration, failure);
  const again = MADE_AGAIN_IN[failure.code];
  if (again === undefined || failed.state === "failed" || failed.iteration !== iteration.iteration)
    return { kind: "failed", iteration: failed, ended };
  // Straight back to those who make it, while the breaker is shut.
  const isOpen = failuresInARow(failed, iteration.stage) >= BREAKER.threshold;
  return isOpen
    ? { kind: "failed", iteration: { ...failed, stage: again }, ended }
    : { kind: "failed", iteration: enter(view, failed, again), ended };
}

/** The state of each stage's breaker, for people. */
export function breakersOf(iteration: Iteration, now: number) {
  return STAGES.map((stage) => {
    const failures = failuresInARow(iteration, stage);
    const isOver = failures >= BREAKER.threshold;
    const isOpen = isOver && iteration.stage === stage && (iteration.not_before ?? 0) > now;
    return { stage, failures, state: isOpen ? "open" : isOver ? "half_open" : "closed" } as const;
  });
}
