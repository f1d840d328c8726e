import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import type { ArtifactCatalog } from "../artifacts.port.ts";
import { type ConfigPlan, type ConfigRow, configs } from "../config-plan.ts";
import { type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { filesOf } from "../selfplay/segments.ts";
import { type Rejection, rejections, rejectionsOf } from "../selfplay/selfplay-order.ts";
import { failed, putChanged, waiting } from "../stage-rows.ts";
import { beginWork, isFor, type Segment, type StageWork, type SyncOwn, selfplayWork, syncWork } from "../stage-work.ts";
import { gatherCases } from "./cases.ts";
import { addFigures } from "./figures.ts";
import { type Case, gamesByProducer, type JudgedSegment, type Judgement, judgeBatch } from "./judgement.ts";
import { parities } from "./parity-row.ts";
import { type ProducerGames, producerHistories, withBatch } from "./producer-record.ts";
import { type QualityContext, tellQuality } from "./quality-events.ts";
import { type Quality, qualities } from "./quality-row.ts";
import { meanPlies, mixOf, scoreQuality } from "./quality-score.ts";
import { afterVerdict, guiltyIn, suspects } from "./suspects.ts";

export interface QualityMonitorPorts {
  readonly catalog: ArtifactCatalog;
  /** Whether games that nobody could check may be used (RINGRIFT_ALLOW_PENDING_GATE). */
  readonly allowPendingGate: boolean;
  readonly settings?: { readonly everyMs?: number };
}

type Context = UnitContext<QualityContext | "QUALITY_PENALTY_APPLIED">;
type Work = StageWork<SyncOwn>;
type ConfigKey = ConfigPlan["config_key"];

const sum = (segments: readonly Segment[], of: (segment: Segment) => number): number =>
  segments.reduce((total, segment) => total + of(segment), 0);

const acceptedOf = ({ segments }: Pick<Judgement, "segments">): JudgedSegment[] =>
  segments.filter(({ reason }) => reason === null);

/**
 * Judges what came in before it may be used: each segment by what its check found, each producer beside the others, and the
 * batch as a whole by a score. The last to speak in the stage: what it accepts is exported, what it rejects is played again.
 */
export const qualityMonitor = ({ catalog, allowPendingGate, settings = {} }: QualityMonitorPorts) => {
  /** The score of what was judged, written down and told. */
  const score = (context: Context, key: ConfigKey, iteration: number, judgement: Judgement): Quality | undefined => {
    const { rows, now } = context;
    const figures = acceptedOf(judgement).flatMap((one) => (one.figures === null ? [] : [one.figures]));
    const all = addFigures(figures);
    if (all === undefined) return undefined;
    const history = rows.get(producerHistories, key)?.games ?? [];
    const usualPlies = meanPlies(history.filter((one) => one.iteration < iteration).map((one) => one.figures));
    const games = judgement.segments.reduce((total, { segment }) => total + segment.games, 0);
    const rejected = judgement.segments.reduce(
      (total, one) => total + (one.reason === null ? 0 : one.segment.games),
      0,
    );
    const found = scoreQuality(all, { usualPlies, rejectedShare: rejected / games });
    if (found === undefined) return undefined;
    const mix = mixOf(figures, usualPlies);
    const before = rows.get(qualities, key);
    const quality: Quality = {
      ...found,
      at: now,
      iteration,
      games: all.games,
      good_share: mix.good,
      poor_share: mix.poor,
    };
    rows.put(qualities, key, quality);
    tellQuality(context, key, before, quality);
    return quality;
  };

  /** Guilty producers are remembered, cleared ones forgotten. */
  const remember = (
    { rows, emit, now, log }: Context,
    key: ConfigKey,
    iteration: number,
    judgement: Judgement,
    history: readonly ProducerGames[],
  ) => {
    const before = rows.get(suspects, key);
    const after = afterVerdict(before, { iteration, now, judgement, history });
    if (before !== undefined || Object.keys(after).length > 0) putChanged(rows, suspects, key, after);
    const games = judgement.segments.reduce((total, { segment }) => total + segment.games, 0);
    for (const [producer, reasons] of guiltyIn(judgement)) {
      const own = judgement.segments.filter(({ segment, reason }) => segment.producer === producer && reason !== null);
      const lost = own.reduce((total, { segment }) => total + segment.games, 0);
      const reason = `${producer}: ${reasons.join(", ")}: ${own[0]!.because}; it plays nothing before iteration ${after[producer]!.until_iteration}`;
      log.warn("a producer's games are rejected", { config_key: key, producer, reasons, games: lost });
      emit.QUALITY_PENALTY_APPLIED({
        config_key: key,
        penalty: lost / games,
        rate_multiplier: 1 - lost / games,
        reason,
        ...(rows.get(qualities, key) === undefined ? {} : { quality_score: rows.get(qualities, key)!.score }),
      });
    }
  };

  const judge = (
    context: Context,
    config: ConfigRow,
    iteration: Iteration,
    work: Work,
    cases: readonly Case[],
  ): Work => {
    const { rows, now } = context;
    const key = config.plan.config_key;
    const earlier = rejectionsOf(rows.get(rejections, key), iteration.iteration);
    const history = (rows.get(producerHistories, key)?.games ?? []).filter(
      (one) => one.iteration < iteration.iteration,
    );
    const judgement = judgeBatch(iteration.iteration, cases, earlier, history);
    const good = acceptedOf(judgement);
    const bad = judgement.segments.filter(({ reason }) => reason !== null);

    const artifacts = catalog.join(context);
    artifacts.accept(good.flatMap(({ segment }) => filesOf(segment).map(({ sha256 }) => sha256)));
    for (const { segment, reason } of bad)
      artifacts.reject(
        filesOf(segment).map(({ sha256 }) => sha256),
        reason!,
      );
    const quality = score(context, key, iteration.iteration, judgement);
    const made = gamesByProducer(iteration.iteration, good);
    remember(context, key, iteration.iteration, judgement, [...history, ...made]);
    if (made.length > 0)
      putChanged(rows, producerHistories, key, { games: withBatch(history, made, iteration.iteration) });
    if (bad.length > 0)
      rows.put(rejections, key, {
        iteration: iteration.iteration,
        entries: [...earlier, ...bad.map((one) => rejectionOf(one, iteration.attempt))],
      });

    const accepted = good.map(({ segment }) => segment);
    const unchecked = good.filter(({ figures }) => figures === null).length;
    const next: Work = {
      ...work,
      waits: [],
      outputs: accepted.flatMap(filesOf),
      own: {
        accepted,
        rejected: bad.map(({ segment: { part, producer, games }, reason }) => ({
          part,
          producer,
          games,
          reason: reason!,
        })),
      },
      evidence: {
        games: sum(accepted, ({ games }) => games),
        rows: sum(accepted, ({ rows: n }) => n),
        segments: accepted.length,
        unchecked_segments: unchecked,
        rejected_games: bad.reduce((total, { segment }) => total + segment.games, 0),
        cleared: judgement.cleared,
        ...(quality === undefined ? {} : { quality_score: quality.score, quality_band: quality.band }),
        ...(unchecked === 0 ? {} : { unchecked_because: uncheckedReason(config.plan) }),
      },
    };
    if (bad.length === 0) return { ...next, state: "done", ended_at: now };
    const [first] = bad;
    return failed(next, now, {
      code: "SEGMENTS_REJECTED",
      message: `${bad.length} of ${cases.length} segments are rejected; ${first!.segment.part} of ${first!.segment.producer} (${first!.reason}): ${first!.because}`,
      retryable: true,
    });
  };

  /** The row after one more look. */
  const look = (context: Context, config: ConfigRow, iteration: Iteration, work: Work): Work => {
    const { rows, now } = context;
    const key = config.plan.config_key;
    const selfplay = rows.get(selfplayWork, key);
    if (selfplay?.iteration !== iteration.iteration || selfplay.state !== "done")
      return waiting(work, now, [{ for: "games", actual: selfplay?.state ?? null, required: "a batch that is done" }]);
    const parity = rows.get(parities, key);
    if (parity !== undefined && isFor(parity, iteration) && parity.failure !== null)
      return failed(work, now, parity.failure);
    const gathered = gatherCases({ catalog, allowPendingGate }, config, iteration, selfplay.own.segments, parity);
    return "waits" in gathered
      ? waiting(work, now, gathered.waits)
      : judge(context, config, iteration, work, gathered.cases);
  };

  const reconcile = (context: Context, configKey: string): void => {
    const { rows, now } = context;
    const config = rows.get(configs, configKey);
    const iteration = rows.get(iterations, configKey);
    if (config === undefined || !isTurnOf("data_sync", iteration)) return;
    const known = rows.get(syncWork, configKey);
    const isCurrent = known !== undefined && isFor(known, iteration);
    const work = isCurrent ? known : beginWork(iteration, now, { accepted: [], rejected: [] });
    if (work.state === "running") putChanged(rows, syncWork, configKey, look(context, config, iteration, work));
  };

  return defineDaemon({
    name: "quality_monitor_daemon",
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["QUALITY_MONITOR", "QualityMonitorDaemon", "QualityMonitor"],
    pattern: "IMPORT",
    dependsOn: ["pipeline_orchestrator"],
    emits: [
      "QUALITY_SCORE_UPDATED",
      "QUALITY_DISTRIBUTION_CHANGED",
      "HIGH_QUALITY_DATA_AVAILABLE",
      "QUALITY_DEGRADED",
      "LOW_QUALITY_DATA_WARNING",
      "QUALITY_CHECK_FAILED",
      "QUALITY_FEEDBACK_ADJUSTED",
      "QUALITY_PENALTY_APPLIED",
    ],
    state: { tables: { syncWork, qualities, rejections, suspects, producerHistories } },
    on: {
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "data_sync") reconcile(context, payload.config_key);
      },
      ...onEach(
        ["PARITY_VALIDATION_COMPLETED", "PARITY_FAILURE_RATE_CHANGED", "DATA_QUALITY_ALERT"],
        ({ payload: { config_key } }, context: Context) => reconcile(context, config_key),
      ),
      ...onEach(["DATA_SYNC_COMPLETED", "DATA_SYNC_FAILED"], (_event, context: Context) => {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
      }),
      QUALITY_CHECK_REQUESTED: ({ payload: { config_key } }, context: Context) => {
        reconcile(context, config_key);
        const quality = context.rows.get(qualities, config_key);
        if (quality === undefined)
          context.emit.QUALITY_CHECK_FAILED({ config_key, reason: "none of its data was ever checked" });
        else tellQuality(context, config_key, undefined, quality);
      },
    },
    loop: {
      everyMs: settings.everyMs ?? 2_000,
      tick(context) {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
      },
    },
    health: ({ rows }) => {
      const scores = Object.fromEntries(rows.list(qualities).map(([key, { score: n }]) => [key, n]));
      const away = rows
        .list(suspects)
        .flatMap(([key, row]) => Object.keys(row).map((producer) => `${producer} (${key})`));
      const [poor] = rows.list(qualities).filter(([, { band }]) => band === "poor");
      const details = { scores, suspects: away };
      return poor === undefined
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `the data of ${poor[0]} is poor (${poor[1].score.toFixed(2)})`, details };
    },
  });
};

const rejectionOf = ({ segment, reason }: JudgedSegment, attempt: number): Rejection => ({
  attempt,
  part: segment.part,
  work_id: segment.work_id,
  producer: segment.producer,
  games: segment.games,
  reason: reason!,
  samples: segment.samples_file.sha256,
});

const uncheckedReason = ({ kinds }: ConfigPlan): string =>
  kinds.includes("validation") ? "RINGRIFT_ALLOW_PENDING_GATE lets them through" : "the plan has no kind 'validation'";
