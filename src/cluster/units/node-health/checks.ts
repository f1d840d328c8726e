/** What speaks for and against a node, check by check, from what it does. Pure. */
import type { NodeCondition } from "../../node-health/conditions.ts";
import type { CheckName } from "../../node-health/health-book.ts";
import type { JobOutcome, WorkSigns } from "../../node-health/node-signs.port.ts";
import type { Reach } from "../../nodes/reach-book.ts";
import type { NodeState } from "../../nodes/states.ts";

/** What is known of a node at one moment. Times are milliseconds since the epoch. */
export interface NodeFacts {
  readonly now: number;
  readonly presence: NodeState;
  readonly isLocal: boolean;
  /** It came with a token: it owes nobody a beat. */
  readonly isGuest: boolean;
  readonly seenAt: number | null;
  /** How many of the nodes that look after it reach it; undefined where none do. */
  readonly reach?: Reach | undefined;
  readonly version: string;
  readonly isDeprecated: boolean;
  /** How far its clock is ahead of ours; null where it did not say. */
  readonly clockAheadMs: number | null;
  /** When it started lately, oldest first. */
  readonly starts: readonly number[];
  /** When it was cut off lately, oldest first. */
  readonly outages: readonly number[];
  readonly work: WorkSigns;
  /** The room on its disk, and what it keeps free of it; null where it did not say. */
  readonly room?: { readonly free_bytes: number; readonly reserve_bytes: number } | null;
  /** Of its failed jobs, those at which others do not fail. */
  readonly isFault: (outcome: JobOutcome) => boolean;
  /** How far its results are from those of the others; null where nothing can be compared, undefined where it was not asked now. */
  readonly residual: number | null | undefined;
}

/** What one check finds; undefined where there is nothing to judge by. */
export interface Finding {
  readonly verdict: "pass" | "warn" | "fail";
  readonly what: string;
  readonly actual: string;
  readonly required: string;
  /** It is as bad as this at once. */
  readonly atLeast?: NodeCondition;
}

const checkLimits = {
  /** Starts within the window that are a crash loop, and those that are worth a word. */
  starts: { windowMs: 600_000, warn: 3, fail: 5 },
  /** Failed attempts at work that others do, and those on trial. */
  jobs: { fail: 3, failOnTrial: 1, pass: 1 },
  /** Jobs that stood still within an hour. */
  stuck: { windowMs: 3_600_000, fail: 2 },
  /** Standard deviations. */
  residual: { warn: 3, fail: 5 },
  /** Times as long as usual. */
  pace: 4,
  clockMs: 60_000,
  outages: { windowMs: 3_600_000, warn: 3 },
};

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
const found = (
  verdict: Finding["verdict"],
  what: string,
  actual: string,
  required: string,
  atLeast?: NodeCondition,
): Finding => ({ verdict, what, actual, required, ...(atLeast === undefined ? {} : { atLeast }) });

/** What counts for a check from when on: after its breaker opened, or after a start, only what came since. */
export interface Evidence {
  readonly since: number;
  readonly isOnTrial: boolean;
}

/** Its line to us may be down, and it works on all the same. */
const reachWords = ({ by, of }: Reach): string => `; ${by} of ${of} other nodes reach it`;

function beats({ presence, isLocal, isGuest, seenAt, reach, now }: NodeFacts): Finding | undefined {
  if (isLocal || isGuest || presence === "joined" || presence === "left") return undefined;
  const heard = seenAt === null ? "never heard" : `heard ${seconds(Math.max(0, now - seenAt))} ago`;
  const silent = `${heard}${reach === undefined ? "" : reachWords(reach)}`;
  if (presence === "dead") return found("fail", "it is silent", silent, "a beat in time", "evicted");
  if (presence === "suspect") return found("warn", "it is late with its beats", silent, "a beat in time");
  return found("pass", "its beats come", silent, "a beat in time");
}

function starts({ starts: all, now }: NodeFacts): Finding | undefined {
  const { windowMs, warn, fail } = checkLimits.starts;
  const lately = all.filter((at) => now - at < windowMs).length;
  const actual = `${lately} starts in ${seconds(windowMs)}`;
  const required = `fewer than ${fail}`;
  if (lately >= fail) return found("fail", "its worker starts again and again", actual, required, "unhealthy");
  if (lately >= warn) return found("warn", "its worker was started several times", actual, required);
  return found("pass", "its worker runs", actual, required);
}

function jobs({ work: { outcomes }, isFault }: NodeFacts, { since, isOnTrial }: Evidence): Finding | undefined {
  const { fail, failOnTrial, pass } = checkLimits.jobs;
  const lately = outcomes.filter(({ at }) => at > since);
  if (lately.length === 0) return undefined;
  const done = lately.filter(({ ok }) => ok).length;
  const faults = lately.filter((outcome) => !outcome.ok && isFault(outcome));
  const error = faults.at(-1)?.error ?? "";
  const actual = `${faults.length} of ${lately.length} attempts failed${error === "" ? "" : `: ${error.slice(0, 200)}`}`;
  const required = "done like those of the others";
  if (faults.length >= (isOnTrial ? failOnTrial : fail) && faults.length > done)
    return found("fail", "its jobs fail, and others do them", actual, required);
  return done >= pass ? found("pass", "its jobs are done", actual, required) : undefined;
}

function progress({ work: { stuckAt, outcomes }, now }: NodeFacts, { since }: Evidence): Finding | undefined {
  const { windowMs, fail } = checkLimits.stuck;
  const lately = stuckAt.filter((at) => at > since && now - at < windowMs);
  const done = outcomes.some(({ ok, at }) => ok && at > Math.max(since, lately.at(-1) ?? 0));
  const actual = `${lately.length} jobs stood still in ${seconds(windowMs)}`;
  const required = `fewer than ${fail}`;
  if (done) return found("pass", "its jobs go on", actual, required);
  if (lately.length >= fail) return found("fail", "its jobs stand still", actual, required);
  if (lately.length > 0) return found("warn", "a job stood still", actual, required);
  return undefined;
}

function results({ residual }: NodeFacts): Finding | undefined {
  if (residual == null) return undefined;
  const { warn, fail } = checkLimits.residual;
  const actual = `${residual.toFixed(1)} standard deviations from the others`;
  const required = `less than ${fail}`;
  if (residual >= fail) return found("fail", "its results are not like the others'", actual, required);
  if (residual >= warn) return found("warn", "its results are strange", actual, required);
  return found("pass", "its results are like the others'", actual, required);
}

function speed({ work: { pace } }: NodeFacts): Finding | undefined {
  if (pace === undefined) return undefined;
  const isSlow = pace >= checkLimits.pace;
  const actual = `${pace.toFixed(1)} times as long as usual`;
  return found(isSlow ? "warn" : "pass", isSlow ? "it is slow" : "it is fast enough", actual, `${checkLimits.pace}`);
}

const sizeOf = (bytes: number): string =>
  bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;

/** What it says with its beats counts first: what it would write down to tell us, a full disk does not take. */
function disk({ work, room }: NodeFacts): Finding {
  const required = "room for one more job";
  if (room && room.free_bytes < room.reserve_bytes) {
    const actual = `${sizeOf(room.free_bytes)} free, and it keeps ${sizeOf(room.reserve_bytes)}, worker.disk_reserve_gb`;
    return found("fail", "its disk is full", actual, required);
  }
  if (work.disk !== undefined) return found("fail", "its disk is full", work.disk, required);
  return found("pass", "its disk has room", room ? `${sizeOf(room.free_bytes)} free` : "room", required);
}

function clock({ clockAheadMs: ahead }: NodeFacts): Finding | undefined {
  if (ahead === null) return undefined;
  const isOff = Math.abs(ahead) > checkLimits.clockMs;
  const actual = `${seconds(Math.abs(ahead))} ${ahead < 0 ? "behind" : "ahead"}`;
  return found(
    isOff ? "warn" : "pass",
    isOff ? "its clock is wrong" : "its clock is right",
    actual,
    "at most 60 s off",
  );
}

const version = ({ isDeprecated, version: runs }: NodeFacts): Finding | undefined =>
  runs === ""
    ? undefined
    : found(
        isDeprecated ? "warn" : "pass",
        isDeprecated ? "it runs an older version" : "its version is right",
        runs,
        "not older than the coordinator's",
      );

function link({ outages, now }: NodeFacts): Finding | undefined {
  const { windowMs, warn } = checkLimits.outages;
  const lately = outages.filter((at) => now - at < windowMs).length;
  if (lately === 0) return found("pass", "its line holds", "no outage in an hour", `fewer than ${warn}`);
  const actual = `${lately} outages in an hour`;
  const isBad = lately >= warn;
  return found(
    isBad ? "warn" : "pass",
    isBad ? "its line breaks again and again" : "its line holds",
    actual,
    `fewer than ${warn}`,
  );
}

/** A check as a row: what it looks at, how bad it may make a node, how long its breaker stays open, and what shows that it is well. */
export interface CheckRule {
  readonly find: (facts: NodeFacts, evidence: Evidence) => Finding | undefined;
  readonly worst: NodeCondition;
  /** Only work can show that it is well again: the node gets one job when its breaker has been open for so long. */
  readonly isShownByWork: boolean;
  readonly openMs: readonly number[];
}

const MINUTE = 60_000;
/** By how often it opened lately. */
const USUAL = [MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE];
const rule = (find: CheckRule["find"], worst: NodeCondition, isShownByWork = false, openMs = USUAL): CheckRule => ({
  find,
  worst,
  isShownByWork,
  openMs,
});

export const checkRules: Readonly<Record<CheckName, CheckRule>> = {
  beats: rule(beats, "evicted"),
  starts: rule(starts, "unhealthy"),
  jobs: rule(jobs, "unhealthy", true),
  progress: rule(progress, "unhealthy", true),
  results: rule(results, "evicted", true, [15 * MINUTE, 60 * MINUTE]),
  speed: rule(speed, "degraded"),
  disk: rule(disk, "unhealthy"),
  clock: rule(clock, "degraded"),
  version: rule(version, "degraded"),
  link: rule(link, "degraded"),
};
