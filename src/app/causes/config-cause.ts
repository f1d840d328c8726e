/** Why a config does not go on: from the config over its stage, its units and jobs, to the node and the gate there. Pure. */
import { type Cause, type CauseAdvice, causeOf } from "../../daemons/index.ts";
import { type ConfigStanding, failuresInARow, type UnitWait, unitsOf } from "../../pipeline/index.ts";
import type { JobView } from "../../work/index.ts";
import type { WorkFacts } from "./facts.ts";
import { jobCause } from "./job-cause.ts";

export interface ConfigFacts {
  readonly config: ConfigStanding;
  /** Of the stage at which it is. */
  readonly jobs: readonly JobView[];
  readonly work: WorkFacts;
  /** What keeps a unit from running; undefined where it runs. */
  unitCause(name: string): Cause | undefined;
  /** The disk that takes nothing. */
  readonly fault: Cause | undefined;
}

/** What is told of the round before, or of games beside the stages: nothing waits for it. */
const ASIDE = new Set([
  "given_up",
  "skipped_gate",
  "steady_champion",
  "producer",
  "rebuild",
  "rating_games",
  "quiet_time",
  "second_checker",
]);
/** How far a stage is, told as what it waits for. */
const PROGRESS = new Set(["games", "open_jobs", "parity", "verified_segments", "match_results", "goal"]);
/** A wait without work for so long is worth a look. */
const PATIENCE_MS = 60_000;

/** Jobs at work that are asked whether they go on. */
const MAX_AT_WORK = 100;
const STILL = new Set(["job_stuck", "job_unrelieved", "job_without_progress"]);

/** What a person can do about a wait, by the unit that waits. */
const ADVICE: Readonly<Record<string, CauseAdvice["action"]>> = {
  pipeline_orchestrator: "history",
  quality_monitor_daemon: "ledger",
};

const isWorking = ({ state }: JobView): boolean => state === "claimed" || state === "running";

/** Whether a wait is how far the stage is, or an aside: no refusal. */
export const isProgress = ({ code = "", since }: UnitWait, jobs: readonly JobView[], now: number): boolean =>
  ASIDE.has(code) ||
  (PROGRESS.has(code) && jobs.length > 0) ||
  (jobs.some(isWorking) && code !== "queue") ||
  now - since < 1_000;

const stopped = ({ config }: ConfigFacts): Cause | undefined => {
  const { config_key: key, state, waits, failures } = config;
  const [wait] = waits as readonly UnitWait[];
  const since = wait?.since ?? null;
  const failure = failures.at(-1);
  if (state === "paused")
    return causeOf("warn", "paused", key, `${key} is paused: ${wait?.actual ?? "somebody paused it"}`, {
      actual: wait?.actual ?? "paused",
      required: "resumed",
      since,
      advice: { action: "resume_config", subject: key },
    });
  const said = failure === undefined ? (wait?.actual ?? "it failed") : `${failure.message} (${failure.code})`;
  const about = { actual: failure?.message ?? wait?.actual ?? null, required: "done", since: failure?.at ?? since };
  const advice = { action: "retry_config", subject: key } as const;
  if (state === "failed")
    return causeOf("bad", "stage_given_up", key, `${config.stage} of ${key} needs help: ${said}`, {
      ...about,
      advice,
    });
  if (state === "waiting")
    return causeOf("warn", "stage_failing", key, `${config.stage} of ${key} fails and will be tried again: ${said}`, {
      ...about,
      advice,
    });
  return undefined;
};

/** It failed, somebody has it again, and it has not got anywhere yet. */
const isTriedAgain = (job: JobView): boolean => isWorking(job) && job.failure !== null && (job.progress ?? 0) === 0;

/** Jobs that fail say more than those that wait: they come first. */
function ofJobs({ jobs, work }: ConfigFacts): Cause | undefined {
  const open = jobs.filter(({ state }) => state === "pending" || state === "delayed" || state === "blocked");
  const isSome = jobs.some(isWorking);
  const failing = open.find(({ failure, state }) => failure !== null && state === "delayed") ?? jobs.find(isTriedAgain);
  if (failing !== undefined) {
    const found = jobCause(failing, work);
    const failures = failing.attempts - (isWorking(failing) ? 1 : 0);
    // One failure is no reason to call anybody while others do their work, or while it is tried again.
    return found && isSome && failures < 2 ? { ...found, level: "note" } : found;
  }
  const atWork = jobs.filter((job) => isWorking(job) || job.lapses.length > 0).slice(0, MAX_AT_WORK);
  const stuck = atWork.map((job) => jobCause(job, work)).find((found) => found !== undefined && STILL.has(found.code));
  if (stuck !== undefined) return stuck;
  const waiting = open.find(({ state }) => state !== "blocked") ?? open[0];
  return waiting === undefined || isSome ? undefined : jobCause(waiting, work);
}

/**
 * What failed before and is under way again: until something comes of it, what failed is what there is to know. More than once in a
 * row it stays so until it succeeds, also while what it needs is made again: whoever looks in the midst of the next try would be told
 * that all is well.
 */
function failedBefore({ config, jobs }: ConfigFacts): Cause | undefined {
  const { config_key: key, stage, attempt, failures } = config;
  const failure = failures.at(-1);
  if (failure === undefined) return undefined;
  const said = `${failure.message} (${failure.code})`;
  const inARow = failuresInARow(config, failure.stage);
  const advice = { action: "history", subject: key } as const;
  const about = { actual: failure.message, required: "done", advice };
  if (inARow > 1) {
    const goesOn = stage === failure.stage ? "it is being tried again" : `${stage} is under way again`;
    const what = `${failure.stage} of ${key} failed ${inARow} times in a row, and ${goesOn}: ${said}`;
    return causeOf("warn", "stage_failing", key, what, { ...about, since: failures.at(-inARow)!.at });
  }
  if (attempt < 2 || failure.stage !== stage || jobs.some(({ state }) => state === "completed")) return undefined;
  const level = jobs.some(({ progress }) => (progress ?? 0) > 0) ? "note" : "warn";
  const what = `${stage} of ${key} failed and is being tried again, attempt ${attempt}: ${said}`;
  return causeOf(level, "stage_failing", key, what, { ...about, since: failure.at });
}

/** What a job does by itself in a moment does not hide what fails again and again. */
function ofWork(facts: ConfigFacts): Cause | undefined {
  const ofJob = ofJobs(facts);
  if (ofJob !== undefined && ofJob.level !== "note") return ofJob;
  const before = failedBefore(facts);
  return before?.level === "warn" ? before : (ofJob ?? before);
}

function ofWaits({ config, jobs, work: { now } }: ConfigFacts): Cause | undefined {
  const { config_key: key } = config;
  const wait = (config.waits as readonly UnitWait[]).find((each) => !isProgress(each, jobs, now));
  if (wait === undefined) return undefined;
  const level = now - wait.since >= PATIENCE_MS || wait.code === "queue" ? "warn" : "note";
  const must = wait.required === null ? "" : `, must be ${wait.required}`;
  const what = `${wait.unit} waits for ${wait.for.replaceAll("_", " ")}: ${wait.actual ?? "nothing"}${must}`;
  const { actual, required, since } = wait;
  const advice = { action: ADVICE[wait.unit] ?? "pipeline", subject: key };
  const because = [{ kind: "unit", subject: wait.unit, what: wait.for }];
  return causeOf(level, "waits", key, what, { actual, required, since, advice, because });
}

/** Work that goes on and shows nothing of itself: what is told of it hides nothing, so it comes before the deadline. */
const silent = ({ config, work: { now } }: ConfigFacts): Cause | undefined => {
  const { config_key: key, stage, last_sign: sign } = config;
  if (sign === undefined || now <= sign.until) return undefined;
  return causeOf("warn", "stage_silent", key, `${stage} of ${key} has made no progress since ${sign.event}`, {
    actual: `${Math.round((now - sign.at) / 1_000)} s without progress`,
    required: `progress within ${Math.round((sign.until - sign.at) / 1_000)} s`,
    since: sign.at,
    advice: { action: "pipeline", subject: key },
  });
};

const late = ({ config, jobs, work: { now } }: ConfigFacts): Cause | undefined =>
  now <= config.deadline || jobs.some(isWorking)
    ? undefined
    : causeOf("warn", "stage_late", config.config_key, `${config.stage} of ${config.config_key} is late`, {
        since: config.deadline,
        advice: { action: "pipeline", subject: config.config_key },
      });

/** The root of why a config does not go on; null while it is at work, or done. */
export function configCause(facts: ConfigFacts): Cause | null {
  const { config, fault } = facts;
  if (config.state === "complete") return null;
  const unit = () => {
    const found = unitsOf(config.stage, config.waits as readonly UnitWait[])
      .map((name) => ({ name, cause: facts.unitCause(name) }))
      .find(({ cause }) => cause !== undefined);
    return (
      found && {
        ...found.cause!,
        level: "bad" as const,
        because: [{ kind: "unit", subject: found.name, what: "does not run" }],
      }
    );
  };
  const found =
    fault ??
    (config.state === "paused" ? stopped(facts) : undefined) ??
    unit() ??
    stopped(facts) ??
    ofWork(facts) ??
    silent(facts) ??
    ofWaits(facts) ??
    late(facts);
  if (found === undefined) return null;
  const path = [
    { kind: "config", subject: config.config_key, what: config.state },
    { kind: "stage", subject: config.stage, what: `iteration ${config.iteration}, attempt ${config.attempt}` },
  ];
  return { ...found, because: [...path, ...found.because], affects: [config.config_key] };
}
