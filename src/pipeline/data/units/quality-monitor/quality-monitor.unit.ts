import type { Wiring } from "../../../../daemons/index.ts";
import { sumOf } from "../../../../kernel/index.ts";
import { filesOf, type Quality, qualities, rejections, rejectionsOf, suspects } from "../../../selfplay/index.ts";
import {
  defineStage,
  done,
  doneIn,
  everyMs,
  failed,
  isFor,
  SEGMENTS_REJECTED,
  type Segment,
  type StageServices,
  type StageWork,
  type SyncOwn,
  selfplayWork,
  syncWork,
  type TurnOf,
  waiting,
} from "../../../stage/index.ts";
import { addFigures } from "../../figures.ts";
import { parities } from "../../tables.ts";
import { type Case, gamesByProducer, type JudgedSegment, type Judgement, judgeBatch } from "./decide.ts";
import { gatherCases } from "./gather-cases.ts";
import { type ProducerGames, producerHistories, withBatch } from "./producers.ts";
import { gamesIn, rejectionOf, remember } from "./remember.ts";
import { meanPlies, mixOf, scoreQuality, scoresOf } from "./score.ts";
import { emitQuality } from "./score-events.ts";

const wiring = {
  name: "quality_monitor_daemon",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "quality",
  daemonTypes: ["QUALITY_MONITOR"],
  alsoKnownAs: ["QualityMonitorDaemon", "QualityMonitor"],
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
} as const satisfies Wiring;

type Turn = TurnOf<typeof wiring>;
type Work = StageWork<SyncOwn>;

/**
 * Judges what came in before it may be used: each segment by what its check found, each producer beside the others, and the
 * batch as a whole by a score. The last to speak in the stage: what it accepts is exported, what it rejects is played again.
 */
export const qualityMonitor = (services: StageServices) =>
  defineStage({
    ...wiring,
    stage: "data_sync",
    work: syncWork,
    state: { tables: { qualities, rejections, suspects, producerHistories } },
    wakes: [
      "PARITY_VALIDATION_COMPLETED",
      "PARITY_FAILURE_RATE_CHANGED",
      "DATA_QUALITY_ALERT",
      "DATA_SYNC_COMPLETED",
      "DATA_SYNC_FAILED",
      "QUALITY_CHECK_REQUESTED",
    ],
    on: {
      QUALITY_CHECK_REQUESTED({ payload: { config_key } }, { rows, emit }) {
        const quality = rows.get(qualities, config_key);
        if (quality === undefined)
          emit.QUALITY_CHECK_FAILED({ config_key, reason: "none of its data was ever checked" });
        else emitQuality(emit, config_key, undefined, quality);
      },
    },
    everyMs: everyMs(services),
    begin: () => ({ accepted: [], rejected: [] }),
    follow: (turn, work) => {
      const { row, at, now } = turn;
      const selfplay = row(selfplayWork);
      const segments = doneIn(selfplay, at)?.own.segments;
      if (segments === undefined)
        return waiting(work, now, { for: "games", actual: selfplay?.state ?? null, required: "a batch that is done" });
      const parity = row(parities);
      if (isFor(parity, at) && parity.failure !== null) return failed(work, now, parity.failure);
      const gathered = gatherCases(services, turn, segments, parity);
      return "waits" in gathered ? waiting(work, now, ...gathered.waits) : judge(services, turn, work, gathered.cases);
    },
    health: ({ rows }) => {
      const all = rows.list(qualities);
      const away = rows
        .list(suspects)
        .flatMap(([key, row]) => Object.keys(row).map((producer) => `${producer} (${key})`));
      const [poor] = all.filter(([, { band }]) => band === "poor");
      return {
        status: poor === undefined ? "running" : "degraded",
        message: poor === undefined ? "" : `the data of ${poor[0]} is poor (${poor[1].score.toFixed(2)})`,
        details: { scores: Object.fromEntries(all.map(([key, { score }]) => [key, score])), suspects: away },
      };
    },
  });

/** Accepts and rejects, in one commit with the books, and says what it comes to. */
function judge({ catalog }: StageServices, turn: Turn, work: Work, cases: readonly Case[]): Work {
  const { row, put, rows, now, plan, configKey } = turn;
  const { iteration, attempt } = turn.at;
  const earlier = rejectionsOf(row(rejections), iteration);
  const history = (row(producerHistories)?.games ?? []).filter((one) => one.iteration < iteration);
  const judgement = judgeBatch(iteration, cases, earlier, history);
  const good = judgement.segments.filter(({ reason }) => reason === null);
  const bad = judgement.segments.filter(({ reason }) => reason !== null);

  const artifacts = catalog.join(turn);
  const hashesOf = (segment: Segment) => filesOf(segment).map(({ sha256 }) => sha256);
  artifacts.accept(good.flatMap(({ segment }) => hashesOf(segment)));
  for (const { segment, reason } of bad) artifacts.reject(hashesOf(segment), reason!);
  // Until the next batch is judged: however long the export of this one has to wait, its files are there.
  artifacts.pin(
    `batch:${configKey}`,
    good.flatMap(({ segment }) => hashesOf(segment)),
  );
  const quality = score(turn, judgement, good, history);
  const made = gamesByProducer(iteration, good);
  remember(turn, judgement, [...history, ...made], earlier);
  if (made.length > 0) put(producerHistories, { games: withBatch(history, made, iteration) });
  if (bad.length > 0)
    rows.put(rejections, configKey, {
      iteration,
      entries: [...earlier, ...bad.map((one) => rejectionOf(one, attempt))],
    });

  const accepted = good.map(({ segment }) => segment);
  const unchecked = good.filter(({ figures }) => figures === null).length;
  const selfChecked = cases.filter(({ check }) => check?.self_checked === true).length;
  const unchecked_because = plan.kinds.includes("validation")
    ? "RINGRIFT_ALLOW_PENDING_GATE lets them through"
    : "the plan has no kind 'validation'";
  const judged = {
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
      games: gamesIn(good),
      rows: sumOf(accepted, (segment) => segment.rows),
      segments: accepted.length,
      unchecked_segments: unchecked,
      ...(selfChecked === 0 ? {} : { self_checked_segments: selfChecked }),
      rejected_games: gamesIn(bad),
      cleared: judgement.cleared,
      ...(quality === undefined ? {} : { quality_score: quality.score, quality_band: quality.band }),
      ...(unchecked === 0 ? {} : { unchecked_because }),
    },
  };
  const [first] = bad;
  if (first === undefined) return done(work, now, judged);
  const { part, producer } = first.segment;
  // Who is accused and who accuses: whoever looks into it must know both, since either may be wrong.
  const check = cases.find(({ segment }) => segment.part === part)?.check ?? null;
  const isByCheck = first.reason !== "producer" && first.reason !== "corrupt";
  const foundBy = isByCheck && check !== null ? `, found by ${check.validator}` : "";
  return failed({ ...work, ...judged }, now, {
    code: SEGMENTS_REJECTED,
    message: `${bad.length} of ${cases.length} segments are rejected; ${part} of ${producer} (${first.reason}${foundBy}): ${first.because}`,
    retryable: true,
  });
}

/** The score of what was judged, written down and told. */
function score(
  { row, rows, emit, now, at, configKey }: Turn,
  { segments }: Judgement,
  good: readonly JudgedSegment[],
  history: readonly ProducerGames[],
): Quality | undefined {
  const figures = good.flatMap((one) => one.figures ?? []);
  const all = addFigures(figures);
  if (all === undefined) return undefined;
  const usualPlies = meanPlies(history.map((one) => one.figures));
  const games = gamesIn(segments);
  const found = scoreQuality(all, { usualPlies, rejectedShare: (games - gamesIn(good)) / games });
  if (found === undefined) return undefined;
  const mix = mixOf(figures, usualPlies);
  const before = row(qualities);
  const quality: Quality = {
    ...found,
    at: now,
    iteration: at.iteration,
    games: all.games,
    good_share: mix.good,
    poor_share: mix.poor,
  };
  rows.put(qualities, configKey, quality);
  const bySegment = good.map((one) => ({
    files: filesOf(one.segment).map(({ sha256 }) => sha256),
    figures: one.figures,
  }));
  emitQuality(emit, configKey, before, quality, scoresOf(bySegment, usualPlies));
  return quality;
}
