/** The check of one champion: its games against the last good one, and what is told of them. */
import { isOperatingError } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import {
  budgetOf,
  type Champion,
  championHistory,
  champions,
  checkOutcomes,
  faultOf,
  lastGood,
  playersOf,
  ratingOf,
  recordCheck,
} from "../../../models/index.ts";
import {
  type ConfigLook,
  cancelJobs,
  followJobs,
  type PartJob,
  putJobs,
  refusedWait,
  waiting,
} from "../../../stage/index.ts";
import { drawBlocks, type Fault, judgeRegression, type Severity } from "../../../statistics/index.ts";
import { addBlocks, batchOf, emptyCounts, type MatchPart, partsOfBatch } from "../../gate.ts";
import { CHECK_BLOCKS, MAX_CHECK_RETRIES, PARTS_PER_BATCH } from "../../limits.ts";
import { matchJob, recordMatch, resultsOf } from "../../match-jobs.ts";
import { isLasting } from "../../match-results.ts";
import { quietTime } from "../../quiet-time.ts";
import { ratingGamesLeft } from "../../rating-budget.ts";
import { type Regression, regressions } from "../../regressions.ts";
import type { EvaluationServices } from "../../services.ts";
import { stabilityUpTo } from "../../stability-up-to.ts";
import { stepAfter } from "./decide.ts";

type Judged = Exclude<Severity, "none">;
export type Look = ConfigLook<
  | "WORK_QUEUED"
  | "REGRESSION_DETECTED"
  | `REGRESSION_${Uppercase<Judged>}`
  | "REGRESSION_CLEARED"
  | "TRAINING_ROLLBACK_NEEDED"
>;

const UNIT = "model_performance_watchdog";

export const jobsOf = ({ jobs, probe }: Regression): string[] => [
  ...Object.values(jobs),
  ...(probe.work_id === null ? [] : [probe.work_id]),
];

export function begin(
  { store }: EvaluationServices,
  look: Look,
  champion: Champion,
  excluded: readonly string[],
): Regression {
  const { configKey, plan, now } = look;
  const before = look.row(regressions);
  // What was restored has shown itself before; there is nothing to ask of it again.
  const isAsked = champion.cause !== "rollback" && plan.kinds.includes("evaluation");
  const good = isAsked
    ? lastGood(championHistory(store, configKey), checkOutcomes(store, configKey), champion.model, excluded)
    : undefined;
  const baseline = good?.model ?? null;
  const row: Regression = {
    generation: champion.generation,
    model: champion.model,
    baseline,
    gated: champion.cause === "gate",
    state: baseline === null ? "unopposed" : "watching",
    severity: "none",
    reason: baseline === null ? "there is no other good champion to compare it with" : "",
    counts: emptyCounts(playersOf(configKey)),
    batches: 0,
    batch_blocks: CHECK_BLOCKS.batch,
    games: 0,
    jobs: {},
    probe: { number: before?.generation === champion.generation ? before.probe.number : 0, work_id: null },
    excluded,
    retries: 0,
    waits: [],
    since: now,
    ended_at: null,
  };
  if (before?.state === "regressed" && before.generation < champion.generation) emitCleared(look, row, before);
  look.put(regressions, row);
  return row;
}

/** The weak champion is gone, or has proven itself: what was paused may go on. */
function emitCleared({ rows, emit, now, configKey, plan }: Look, row: Regression, before: Regression): void {
  emit.REGRESSION_CLEARED({
    config_key: configKey,
    model_id: row.model,
    elo: ratingOf(rows, configKey, budgetOf(plan.evaluation), row.model)?.elo ?? 0,
    games: Math.max(1, before.games),
    duration_seconds: (now - before.since) / 1_000,
  });
}

/** The general word, the one of its severity, and what follows from it. */
function emitRegression({ rows, emit, configKey, plan }: Look, row: Regression, severity: Judged, elo: number): void {
  const { model, baseline, games, reason } = row;
  const base = baseline === null ? 0 : (ratingOf(rows, configKey, budgetOf(plan.evaluation), baseline)?.elo ?? 0);
  const payload = {
    config_key: configKey,
    model_id: model,
    elo: base + elo,
    baseline_elo: base,
    elo_drop: Math.max(0, -elo),
    // A fault needs no games; the one that was tried counts.
    games: Math.max(1, games),
    occurrences: 1,
    reason,
  };
  emit.REGRESSION_DETECTED({ ...payload, regression_severity: severity });
  emit[`REGRESSION_${severity.toUpperCase() as Uppercase<Judged>}`](payload);
  if (severity === "severe" || severity === "critical")
    emit.TRAINING_ROLLBACK_NEEDED({ config_key: configKey, model_id: model, reason, regression_severity: severity });
}

function close(look: Look, row: Regression): void {
  const { generation, severity, reason, games, baseline, state } = row;
  const outcome = state === "watching" || state === "unopposed" ? "undecided" : state;
  const details = { severity, reason, games, baseline };
  look.rows.apply(recordCheck({ config_key: look.configKey, generation, outcome, details, at: look.now }));
  look.put(regressions, { ...row, waits: [], ended_at: look.now });
}

export async function condemn(
  { queue }: EvaluationServices,
  look: Look,
  row: Regression,
  fault: Fault,
  why: string,
): Promise<void> {
  await cancelJobs(queue, jobsOf(row), "the champion is broken", UNIT);
  const fallen: Regression = { ...row, state: "regressed", severity: "critical", reason: `${fault}: ${why}` };
  emitRegression(look, fallen, "critical", 0);
  close(look, fallen);
}

const jobFor = (
  { plan, configKey }: Look,
  { model, generation, gated }: Regression,
  part: MatchPart,
  opponent: string,
): PartJob => ({
  // What a person put there may be anything: it is looked at before more games are played with it.
  ...matchJob(plan, { candidate: model, opponent }, part, {
    urgency: gated && opponent !== model ? "low" : "high",
    seed: ["regression", generation],
  }),
  dedup_key: `${configKey}:regression:${generation}:${opponent.slice(0, 16)}:${part.name}`,
});

const putChecks = ({ queue }: EvaluationServices, look: Look, row: Regression, parts: { [part: string]: PartJob }) =>
  putJobs(queue, look, { batch: `${look.configKey}:regression:${row.generation}`, by: UNIT, parts });

/** Lets the champion play itself once: what fails then is its own fault. */
export function probe(services: EvaluationServices, look: Look, row: Regression): void {
  const number = row.probe.number + 1;
  const name = `probe${number}`;
  const part = { name, firstBlock: 0, blocks: 1 };
  const put = putChecks(services, look, row, { [name]: jobFor(look, row, part, row.model) });
  look.put(
    regressions,
    "refused" in put
      ? waiting(row, look.now, refusedWait(put.refused))
      : { ...row, probe: { number, work_id: put.jobs[name]! }, waits: [] },
  );
}

/** Follows a probe to its end. Returns whether it is still under way. */
export async function followProbe(services: EvaluationServices, look: Look, row: Regression): Promise<boolean> {
  const { work_id, number } = row.probe;
  if (work_id === null) return false;
  const { completed, failed, open } = followJobs(services.queue, { probe: work_id });
  if (open.length > 0) return true;
  const [lost] = failed;
  const fault = lost === undefined ? undefined : faultOf(lost.code, lost.reason);
  if (fault !== undefined) {
    await condemn(services, look, row, fault, `it cannot play itself: ${lost!.reason}`);
    return true;
  }
  look.put(regressions, { ...row, probe: { number, work_id: null } });
  // The champion plays: what failed against this opponent was the opponent's.
  const isOpponents =
    completed.length > 0 && row.state === "watching" && followJobs(services.queue, row.jobs).failed.length > 0;
  if (!isOpponents) return false;
  await cancelJobs(services.queue, jobsOf(row), "its opponent cannot play", UNIT);
  begin(services, look, look.row(champions)!, [...row.excluded, row.baseline!]);
  return true;
}

function order(services: EvaluationServices, look: Look, row: Regression): Regression {
  const parts = partsOfBatch(row.batches, CHECK_BLOCKS.batch, PARTS_PER_BATCH).filter(
    ({ name }) => row.jobs[name] === undefined,
  );
  if (parts.length === 0) return row;
  // A champion without a gate is not counted against any budget, and looked at before more is made with it.
  if (row.gated) {
    const needed = CHECK_BLOCKS.batch * playersOf(look.configKey);
    const isAfforded = row.batches > 0 || ratingGamesLeft(look, services.store) >= needed;
    if (!isAfforded)
      return waiting(row, look.now, { for: "rating_games", actual: "too few", required: CHECK_BLOCKS.batch });
    const busy = quietTime(look.at, look.now);
    if (busy !== undefined) return waiting(row, look.now, busy);
  }
  const specs = parts.map((part) => [part.name, jobFor(look, row, part, row.baseline!)]);
  const put = putChecks(services, look, row, Object.fromEntries(specs));
  if ("refused" in put) return waiting(row, look.now, refusedWait(put.refused));
  return { ...row, jobs: { ...row.jobs, ...put.jobs }, waits: [] };
}

/** The next whole batch, counted; undefined while a part is missing. */
async function countBatch(
  services: EvaluationServices,
  look: Look,
  row: Regression,
  completed: ReadonlyMap<string, JobView>,
): Promise<Regression | undefined> {
  const parts = partsOfBatch(row.batches, CHECK_BLOCKS.batch, PARTS_PER_BATCH);
  if (parts.some(({ name }) => !completed.has(name))) return undefined;
  const pair = { candidate: row.model, opponent: row.baseline! };
  let { counts, games } = row;
  for (const part of parts) {
    const job = completed.get(part.name)!;
    const results = await resultsOf(services, look, pair, part, job);
    recordMatch(look, "regression", pair, part, job, results);
    counts = addBlocks(counts, results.blocks, playersOf(look.configKey));
    games += results.games;
  }
  return { ...row, counts, games, batches: row.batches + 1 };
}

export async function follow(services: EvaluationServices, look: Look, given: Regression): Promise<void> {
  const open = Object.entries(given.jobs).filter(([part]) => batchOf(part) >= given.batches);
  const { completed, failed } = followJobs(services.queue, Object.fromEntries(open));
  let counted: Regression | undefined;
  try {
    const jobs = new Map(completed.map(({ part, job }) => [part, job]));
    counted = await countBatch(services, look, given, jobs);
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    // Results that are wrong or lost say nothing of the champion.
    if (isLasting(thrown)) return close(look, { ...given, state: "undecided", reason: thrown.message });
    const wait = { for: "match_results", actual: thrown.message, required: null };
    return look.put(regressions, waiting(given, look.now, wait));
  }
  if (counted !== undefined) return judge(services, look, given, counted);
  if (failed.some(({ code, reason }) => faultOf(code, reason) !== undefined)) return probe(services, look, given);
  if (failed.length === 0) return look.put(regressions, order(services, look, given));
  // Jobs that failed for reasons of their own are played again, a few times.
  const lost = new Set(failed.map(({ part }) => part));
  const jobs = Object.fromEntries(Object.entries(given.jobs).filter(([part]) => !lost.has(part)));
  const retries = given.retries + 1;
  if (retries <= MAX_CHECK_RETRIES) return look.put(regressions, { ...given, jobs, retries });
  close(look, { ...given, state: "undecided", reason: `its games were not played: ${failed[0]!.reason}` });
}

/** What a whole batch more says of the champion. */
function judge(services: EvaluationServices, look: Look, before: Regression, counted: Regression): void {
  const stability = stabilityUpTo(services.store, look.configKey, look.row(champions)?.iteration);
  const weight = stability?.weight ?? 1;
  const verdict = judgeRegression(counted.counts, drawBlocks(playersOf(look.configKey)), weight);
  const { severity, outcome } = stepAfter(verdict, counted.gated);
  const { estimate, low, high } = verdict.elo;
  const numbers = `${estimate.toFixed(0)} Elo (${low.toFixed(0)} to ${high.toFixed(0)}) over ${verdict.blocks} blocks`;
  const against = `${numbers} against ${counted.baseline!.slice(0, 12)}, the last good champion`;
  const reason =
    weight === 1 ? against : `${against}; its gains are ${stability!.level}, so it weighs ${weight.toFixed(2)}`;
  const row = { ...counted, severity, reason };
  if (severity !== "none" && severity !== before.severity) emitRegression(look, row, severity, estimate);
  if (outcome === undefined) {
    look.put(regressions, order(services, look, row));
    return;
  }
  const ended = { ...row, state: outcome };
  if (outcome === "cleared" && before.severity !== "none") emitCleared(look, ended, before);
  close(look, ended);
}
