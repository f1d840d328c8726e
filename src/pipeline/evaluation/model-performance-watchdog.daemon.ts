import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { isOperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { JobView, WorkQueue } from "../../work/index.ts";
import { type ConfigPlan, configs } from "../config-plan.ts";
import { followJobs } from "../followed-jobs.ts";
import { iterations, type Wait } from "../iteration.ts";
import { type Champion, champions, lastGood } from "../models/champion.ts";
import { championHistory, checkOutcomes, recordCheck } from "../models/champion-rows.ts";
import { type ConfigKey, cancelJobs, eachConfig, sameWaits } from "../models/loop-parts.ts";
import { modelEntry } from "../models/registry.ts";
import { lostFiles, rebuildRows } from "../rebuild-rows.ts";
import { seedFor } from "../seeds.ts";
import { putJobs, refusedWait, waitsSince } from "../stage-rows.ts";
import { addBlocks, batchOf, emptyCounts, partsOfBatch } from "./gate.ts";
import { appendMatches } from "./ledger.ts";
import { matchResults, type ReadArtifact } from "./match-results.ts";
import { quietTime } from "./quiet-time.ts";
import { ratingGamesLeft } from "./rating-budget.ts";
import { ratingOf } from "./ratings-table.ts";
import { type CheckPolicy, checkPolicyDefaults, faultOf, stepAfter } from "./regression-check.ts";
import { type Regression, regressions } from "./regressions-table.ts";
import { budgetOf, playersOf } from "./search-budget.ts";
import { drawBlocks, type Fault, judgeRegression, type Severity } from "./statistics/index.ts";

export interface WatchdogPorts {
  readonly queue: Pick<WorkQueue, "join" | "show" | "cancel">;
  readonly store: Pick<Store, "read">;
  readonly readArtifact: ReadArtifact;
  readonly settings?: Partial<WatchdogSettings>;
}

export interface WatchdogSettings extends CheckPolicy {
  readonly everyMs: number;
  readonly partsPerBatch: number;
  /** Failed rounds of self-play since the crowning after which the champion itself is tried. */
  readonly failedRounds: number;
  /** How often games that were not played for want of time, place or a worker are ordered again. */
  readonly mostRetries: number;
}

export const watchdogDefaults: WatchdogSettings = {
  ...checkPolicyDefaults,
  everyMs: 2_000,
  partsPerBatch: 2,
  failedRounds: 2,
  mostRetries: 5,
};

const SAID = [
  "WORK_QUEUED",
  "REGRESSION_DETECTED",
  "REGRESSION_MINOR",
  "REGRESSION_MODERATE",
  "REGRESSION_SEVERE",
  "REGRESSION_CRITICAL",
  "REGRESSION_CLEARED",
  "TRAINING_ROLLBACK_NEEDED",
] as const;
type Context = UnitContext<(typeof SAID)[number]>;
type Judged = Exclude<Severity, "none">;

const UNIT = "model_performance_watchdog";
const short = (model: string): string => model.slice(0, 12);

/**
 * Judges every champion after it is crowned, however that came about: games against the last good one, and at once where it
 * is broken. It tells; `model_rollback` acts.
 */
export const modelPerformanceWatchdog = (ports: WatchdogPorts) => {
  const { queue, store, readArtifact } = ports;
  const settings = { ...watchdogDefaults, ...ports.settings };

  const put = (configKey: ConfigKey, row: Regression, { rows }: Context) => rows.put(regressions, configKey, row);

  const opponentOf = (configKey: ConfigKey, model: string, excluded: readonly string[]): string | null =>
    lastGood(championHistory(store, configKey), checkOutcomes(store, configKey), model, excluded)?.model ?? null;

  const begin = (
    configKey: ConfigKey,
    champion: Champion,
    excluded: readonly string[],
    context: Context,
  ): Regression => {
    const { rows, now } = context;
    const before = rows.get(regressions, configKey);
    const { plan } = rows.get(configs, configKey)!;
    const canPlay = plan.kinds.includes("evaluation");
    // What was restored has shown itself before; there is nothing to ask of it again.
    const baseline = champion.cause === "rollback" || !canPlay ? null : opponentOf(configKey, champion.model, excluded);
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
      batch_blocks: settings.batchBlocks,
      games: 0,
      jobs: {},
      probe: { number: before?.generation === champion.generation ? before.probe.number : 0, work_id: null },
      excluded,
      retries: 0,
      waits: [],
      since: now,
      ended_at: null,
    };
    if (before?.state === "regressed" && before.generation < champion.generation)
      tellCleared(configKey, row, before, context);
    put(configKey, row, context);
    return row;
  };

  /** The weak champion is gone, or has proven itself: what was paused may go on. */
  const tellCleared = (configKey: ConfigKey, row: Regression, before: Regression, { rows, emit, now }: Context) => {
    const budget = budgetOf(rows.get(configs, configKey)!.plan.evaluation);
    const rated = ratingOf(rows, configKey, budget, row.model)?.elo ?? 0;
    emit.REGRESSION_CLEARED({
      config_key: configKey,
      model_id: row.model,
      elo: rated,
      games: Math.max(1, before.games),
      duration_seconds: (now - before.since) / 1_000,
    });
  };

  /** The general word, the one of its severity, and what follows from it. */
  const tell = (
    configKey: ConfigKey,
    row: Regression,
    severity: Judged,
    elo: number,
    occurrences: number,
    context: Context,
  ) => {
    const { rows, emit } = context;
    const budget = budgetOf(rows.get(configs, configKey)!.plan.evaluation);
    const base = row.baseline === null ? 0 : (ratingOf(rows, configKey, budget, row.baseline)?.elo ?? 0);
    const payload = {
      config_key: configKey,
      model_id: row.model,
      elo: base + elo,
      baseline_elo: base,
      elo_drop: Math.max(0, -elo),
      // A fault needs no games; the one that was tried counts.
      games: Math.max(1, row.games),
      occurrences,
      reason: row.reason,
    };
    emit.REGRESSION_DETECTED({ ...payload, regression_severity: severity });
    emit[`REGRESSION_${severity.toUpperCase() as Uppercase<Judged>}`](payload);
    if (severity === "severe" || severity === "critical")
      emit.TRAINING_ROLLBACK_NEEDED({
        config_key: configKey,
        model_id: row.model,
        reason: row.reason,
        regression_severity: severity,
      });
  };

  const close = (configKey: ConfigKey, row: Regression, context: Context) => {
    const { now } = context;
    const { generation, severity, reason, games, baseline } = row;
    const outcome = row.state === "watching" || row.state === "unopposed" ? "undecided" : row.state;
    context.rows.apply(
      recordCheck({
        config_key: configKey,
        generation,
        outcome,
        details: { severity, reason, games, baseline },
        at: now,
      }),
    );
    put(configKey, { ...row, waits: [], ended_at: now }, context);
  };

  const condemn = async (configKey: ConfigKey, row: Regression, fault: Fault, why: string, context: Context) => {
    await cancelJobs(queue, jobsOf(row), "the champion is broken", UNIT);
    const reason = `${fault}: ${why}`;
    const fallen: Regression = { ...row, state: "regressed", severity: "critical", reason };
    tell(configKey, fallen, "critical", 0, 1, context);
    close(configKey, fallen, context);
  };

  const jobsOf = ({ jobs, probe }: Regression): string[] => [
    ...Object.values(jobs),
    ...(probe.work_id === null ? [] : [probe.work_id]),
  ];

  const jobFor = (
    configKey: ConfigKey,
    plan: ConfigPlan,
    row: Regression,
    part: { name: string; firstBlock: number; blocks: number },
    opponent: string,
  ) => ({
    work_type: "evaluation",
    config_key: configKey,
    // What a person put there may be anything: it is looked at before more games are played with it.
    urgency: row.gated ? ("low" as const) : ("high" as const),
    payload: {
      parameters: {
        ...plan.evaluation,
        blocks: part.blocks,
        first_block: part.firstBlock,
        candidate: row.model,
        opponent,
      },
      seed: seedFor(plan.seed, "regression", row.generation),
      inputs: [
        { name: "candidate", sha256: row.model },
        { name: "opponent", sha256: opponent },
      ],
    },
    batch_id: `${configKey}:regression:${row.generation}`,
    dedup_key: `${configKey}:regression:${row.generation}:${opponent.slice(0, 16)}:${part.name}`,
    requested_by: UNIT,
  });

  /** Lets the champion play itself once: what fails then is its own fault. */
  const probe = (configKey: ConfigKey, row: Regression, context: Context) => {
    const { plan } = context.rows.get(configs, configKey)!;
    const number = row.probe.number + 1;
    const part = { name: `probe${number}`, firstBlock: 0, blocks: 1 };
    const spec = { ...jobFor(configKey, plan, row, part, row.model), urgency: "high" as const };
    const done = putJobs(queue, context, [spec]);
    if ("refused" in done) {
      const waits = waitsSince(row.waits, context.now, [refusedWait(done.refused)]);
      if (!sameWaits(row.waits, waits)) put(configKey, { ...row, waits }, context);
      return;
    }
    put(configKey, { ...row, probe: { number, work_id: done.added[0]!.work_id }, waits: [] }, context);
  };

  /** Follows a probe to its end. Returns whether it is still under way. */
  const followProbe = async (configKey: ConfigKey, row: Regression, context: Context): Promise<boolean> => {
    const { work_id, number } = row.probe;
    if (work_id === null) return false;
    const { completed, failed } = followJobs(queue, { probe: work_id });
    if (completed.length === 0 && failed.length === 0) return true;
    const [lost] = failed;
    const fault = lost === undefined ? undefined : faultOf(lost.code, lost.reason);
    if (fault !== undefined) {
      await condemn(configKey, row, fault, `it cannot play itself: ${lost!.reason}`, context);
      return true;
    }
    const done = { ...row, probe: { number, work_id: null } };
    // The champion plays: what failed against this opponent was the opponent's.
    const isOpponents =
      completed.length > 0 && row.state === "watching" && followJobs(queue, row.jobs).failed.length > 0;
    if (!isOpponents) {
      put(configKey, done, context);
      return false;
    }
    await cancelJobs(queue, jobsOf(row), "its opponent cannot play", UNIT);
    const champion = context.rows.get(champions, configKey)!;
    put(configKey, done, context);
    begin(configKey, champion, [...row.excluded, row.baseline!], context);
    return true;
  };

  /** Games that the check may still order. A champion without a gate is not counted against any budget. */
  const mayOrder = (configKey: ConfigKey, plan: ConfigPlan, row: Regression, context: Context): boolean => {
    if (!row.gated || row.batches > 0) return true;
    return ratingGamesLeft(context.rows, store, configKey, plan) >= settings.batchBlocks * playersOf(configKey);
  };

  const order = (configKey: ConfigKey, plan: ConfigPlan, row: Regression, context: Context): Regression => {
    const parts = partsOfBatch(row.batches, settings.batchBlocks, settings.partsPerBatch).filter(
      ({ name }) => row.jobs[name] === undefined,
    );
    if (parts.length === 0) return row;
    const { rows, now } = context;
    const waitFor = (wait: Omit<Wait, "since">): Regression => {
      const waits = waitsSince(row.waits, now, [wait]);
      return sameWaits(row.waits, waits) ? row : { ...row, waits };
    };
    if (!mayOrder(configKey, plan, row, context))
      return waitFor({ for: "games that ratings may have", actual: "too few", required: settings.batchBlocks });
    // What a person has put there is looked at before more is made with it.
    const busy = row.gated ? quietTime(rows.get(iterations, configKey), now) : undefined;
    if (busy !== undefined) return waitFor(busy);
    const specs = parts.map((part) => jobFor(configKey, plan, row, part, row.baseline!));
    const done = putJobs(queue, context, specs);
    if ("refused" in done) return waitFor(refusedWait(done.refused));
    const jobs = { ...row.jobs, ...Object.fromEntries(parts.map(({ name }, i) => [name, done.added[i]!.work_id])) };
    return { ...row, jobs, waits: [] };
  };

  /** The next whole batch, counted; undefined while a part is missing. */
  const countBatch = async (
    configKey: ConfigKey,
    plan: ConfigPlan,
    row: Regression,
    completed: ReadonlyMap<string, JobView>,
    { rows, now }: Context,
  ): Promise<Regression | undefined> => {
    const parts = partsOfBatch(row.batches, settings.batchBlocks, settings.partsPerBatch);
    if (parts.some(({ name }) => !completed.has(name))) return undefined;
    const players = playersOf(configKey);
    let { counts, games } = row;
    for (const part of parts) {
      const job = completed.get(part.name)!;
      const expected = { candidate: row.model, opponent: row.baseline!, blocks: part.blocks, players };
      const results = await matchResults(readArtifact, job, expected);
      rows.apply(
        appendMatches({
          config_key: configKey,
          budget: budgetOf(plan.evaluation),
          purpose: "regression",
          work_id: job.work_id,
          candidate: row.model,
          opponent: row.baseline!,
          blocks: results.blocks.map((block) => ({ ...block, block: part.firstBlock + block.block })),
          at: now,
        }),
      );
      counts = addBlocks(counts, results.blocks, players);
      games += results.games;
    }
    return { ...row, counts, games, batches: row.batches + 1 };
  };

  const follow = async (configKey: ConfigKey, given: Regression, context: Context): Promise<void> => {
    const { plan } = context.rows.get(configs, configKey)!;
    const open = Object.fromEntries(Object.entries(given.jobs).filter(([part]) => batchOf(part) >= given.batches));
    const followed = followJobs(queue, open);
    const completed = new Map(followed.completed.map(({ part, job }) => [part, job]));
    let row: Regression | undefined;
    try {
      row = await countBatch(configKey, plan, given, completed, context);
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      // Results that are wrong or lost say nothing of the champion.
      if (thrown.code.startsWith("MATCH_") || !thrown.retryable)
        return close(configKey, { ...given, state: "undecided", reason: thrown.message }, context);
      const wait = { for: "the results of its games", actual: thrown.message, required: null };
      const waits = waitsSince(given.waits, context.now, [wait]);
      if (!sameWaits(given.waits, waits)) put(configKey, { ...given, waits }, context);
      return;
    }
    if (row === undefined) {
      const { failed } = followed;
      if (failed.some(({ code, reason }) => faultOf(code, reason) !== undefined))
        return probe(configKey, given, context);
      if (failed.length > 0) return again(configKey, given, failed, context);
      const next = order(configKey, plan, given, context);
      if (next !== given) put(configKey, next, context);
      return;
    }
    const verdict = judgeRegression(row.counts, drawBlocks(playersOf(configKey)));
    const { severity, outcome } = stepAfter(verdict, row.gated, settings);
    const { estimate, low, high } = verdict.elo;
    const numbers = `${estimate.toFixed(0)} Elo (${low.toFixed(0)} to ${high.toFixed(0)}) over ${verdict.blocks} blocks`;
    row = { ...row, severity, reason: `${numbers} against ${short(row.baseline!)}, the last good champion` };
    const isNews = severity !== "none" && severity !== given.severity;
    if (isNews) tell(configKey, row, severity, estimate, 1, context);
    if (outcome === undefined) return put(configKey, order(configKey, plan, row, context), context);
    row = { ...row, state: outcome };
    if (outcome === "cleared" && given.severity !== "none") tellCleared(configKey, row, given, context);
    close(configKey, row, context);
  };

  /** Jobs that failed for reasons of their own are played again, a few times. */
  const again = (
    configKey: ConfigKey,
    row: Regression,
    failed: readonly { readonly part: string; readonly reason: string }[],
    context: Context,
  ) => {
    const lost = new Set(failed.map(({ part }) => part));
    const retries = row.retries + 1;
    const jobs = Object.fromEntries(Object.entries(row.jobs).filter(([part]) => !lost.has(part)));
    if (retries <= settings.mostRetries) return put(configKey, { ...row, jobs, retries }, context);
    close(
      configKey,
      { ...row, state: "undecided", reason: `its games were not played: ${failed[0]!.reason}` },
      context,
    );
  };

  /** Self-play failed again and again since this champion was crowned: it may be its fault. */
  const isSuspect = (configKey: ConfigKey, champion: Champion, row: Regression, { rows }: Context): boolean => {
    const failures = rows.get(iterations, configKey)?.failures ?? [];
    const since = failures.filter(({ stage, at }) => stage === "selfplay" && at > champion.since).length;
    return since >= settings.failedRounds * (row.probe.number + 1);
  };

  const reconcile = async (configKey: ConfigKey, context: Context) => {
    const { rows } = context;
    const champion = rows.get(champions, configKey);
    if (champion === undefined || rows.get(configs, configKey) === undefined) return;
    let row = rows.get(regressions, configKey);
    if (row !== undefined && row.generation !== champion.generation)
      await cancelJobs(queue, jobsOf(row), "another champion has come", UNIT);
    if (row === undefined || row.generation !== champion.generation) row = begin(configKey, champion, [], context);
    if (row.state === "regressed") return;
    const corrupted = modelEntry(store, configKey, champion.model)?.corrupted;
    // A file that is made again is the same champion: only one that is lost for good has to go.
    if (corrupted != null && lostFiles(rows.get(rebuildRows, configKey)).has(champion.model))
      return condemn(configKey, row, "hash_mismatch", `its file is damaged (${String(corrupted.damage)})`, context);
    if (await followProbe(configKey, row, context)) return;
    row = rows.get(regressions, configKey)!;
    if (row.probe.work_id === null && isSuspect(configKey, champion, row, context))
      return probe(configKey, row, context);
    if (row.state === "watching") await follow(configKey, row, context);
  };

  return defineDaemon({
    name: UNIT,
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["MODEL_PERFORMANCE_WATCHDOG", "ModelPerformanceWatchdog", "RegressionDetector"],
    dependsOn: ["elo_service"],
    emits: SAID,
    state: { tables: { regressions } },
    on: {
      ...onEach(
        ["PIPELINE_STAGE_ENTERED", "MODEL_PROMOTED", "PROMOTION_ROLLED_BACK", "EVALUATION_COMPLETED"],
        ({ payload }, context: Context) => reconcile(payload.config_key, context),
      ),
      MODEL_CORRUPTED: (_event, context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], async ({ payload }, context: Context) => {
        if (payload.work_type === "evaluation" && payload.config_key !== undefined)
          await reconcile(payload.config_key, context);
      }),
    },
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
    health: ({ rows }) => {
      const all = rows.list(regressions);
      const weak = all.filter(([, { state }]) => state === "regressed").map(([key]) => key);
      const details = Object.fromEntries(all.map(([key, { state, reason }]) => [key, `${state} ${reason}`.trim()]));
      return weak.length === 0
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `weaker than before: ${weak.join(", ")}`, details };
    },
  });
};
