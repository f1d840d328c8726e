import { onEach, type Wiring } from "../../../../daemons/index.ts";
import { defined, sumOf } from "../../../../kernel/index.ts";
import { trainingRuns } from "../../../models/index.ts";
import {
  defineConfigUnit,
  everyMs,
  iterations,
  type LookOf,
  type StageServices,
  selfplayWork,
  syncWork,
} from "../../../stage/index.ts";
import { type GateWord, gatesBefore, growthOf, type Measured, oneAnIteration, strengths } from "../../gates.ts";
import { TREND_WINDOW } from "../../limits.ts";
import { METRICS, type Measures, type Metric, measures, type Trend } from "../../tables.ts";
import { trendOf } from "./decide.ts";

const wiring = {
  name: "metrics_orchestrator",
  layer: 8,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "metrics",
  daemonTypes: ["METRICS_ANALYSIS"],
  alsoKnownAs: ["MetricsAnalysisOrchestrator", "MetricsAnalysis"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["PLATEAU_DETECTED", "METRICS_UPDATED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

const NOTHING: Measures = { trends: {}, seen: {}, retried: { iteration: 0, times: 0 } };

/**
 * Keeps a window over everything that is measured of a config, and says where each measure goes: its trend, a plateau, a value
 * that is far off. Gates and losses are read where they are kept; what nothing else keeps it keeps itself.
 */
export const metricsOrchestrator = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { measures } },
    wakes: ["EVALUATION_COMPLETED", "TRAINING_COMPLETED", "QUALITY_SCORE_UPDATED", "SELFPLAY_COMPLETE"],
    on: {
      P2P_SELFPLAY_SCALED({ payload: { config_key, jobs } }, { emit }) {
        emit.METRICS_UPDATED({
          node_id: services.nodeId,
          config_key,
          metrics: { [`${config_key}_selfplay_jobs`]: jobs },
        });
      },
      ...onEach(["PBT_STARTED", "NAS_STARTED"] as const, ({ payload }, { rows }: Pick<Look, "rows">) => {
        const { config_key, run_id, population: members } = payload;
        const known = rows.get(measures, config_key) ?? NOTHING;
        if (known.population?.run_id !== run_id)
          rows.put(measures, config_key, { ...known, population: { run_id, members, best: [] } });
      }),
      ...onEach(
        ["PBT_GENERATION_COMPLETE", "NAS_GENERATION_COMPLETE"] as const,
        ({ payload }, { rows }: Pick<Look, "rows">) => {
          const { config_key, run_id, generation, best_score } = payload;
          const known = config_key === undefined ? undefined : rows.get(measures, config_key);
          const own = known?.population?.run_id === run_id ? known.population : undefined;
          if (config_key === undefined || known === undefined || own === undefined) return;
          const best = [...own.best];
          if (generation - 1 > best.length) return;
          best[generation - 1] = best_score;
          rows.put(measures, config_key, { ...known, population: { ...own, best } });
        },
      ),
      WORK_RETRY({ payload: { config_key } }, { rows }) {
        const at = config_key === undefined ? undefined : rows.get(iterations, config_key);
        if (config_key === undefined || at === undefined) return;
        const known = rows.get(measures, config_key) ?? NOTHING;
        const times = known.retried.iteration === at.iteration ? known.retried.times : 0;
        rows.put(measures, config_key, { ...known, retried: { iteration: at.iteration, times: times + 1 } });
      },
    },
    everyMs: everyMs(services, 10_000),
    look: (look) => measure(services, look),
    health: ({ rows }) => {
      const still = rows
        .list(measures)
        .flatMap(([key, { trends }]) =>
          METRICS.flatMap((metric) => (trends[metric]?.plateau_since == null ? [] : [`${key} ${metric}`])),
        );
      return { status: "running", message: "", details: { plateaus: still } };
    },
  });

/** The windows of what nothing else keeps, with what this iteration has brought. */
function seenSoFar({ row, at, now }: Look, { seen, retried }: Measures): Measures["seen"] {
  const [played, judged] = [row(selfplayWork), row(syncWork)];
  const found: { [metric in Metric]?: { iteration: number; value: number; at: number } } = {};
  if (played?.state === "done" && played.ended_at !== null && played.ended_at > played.since) {
    const games = sumOf(played.own.segments, (segment) => segment.games);
    const value = games / ((played.ended_at - played.since) / 1_000);
    found.games_per_second = { iteration: played.iteration, value, at: played.ended_at };
  }
  const score = judged?.state === "done" ? judged.evidence.quality_score : undefined;
  if (typeof score === "number")
    found.quality = { iteration: judged!.iteration, value: score, at: judged!.ended_at ?? now };
  // An iteration is counted when it is over.
  const over = (at?.iteration ?? 0) - 1;
  if (over > 0) found.retries = { iteration: over, value: retried.iteration === over ? retried.times : 0, at: now };
  const next = { ...seen };
  for (const metric of METRICS) {
    const [own, known] = [found[metric], seen[metric] ?? []];
    if (own !== undefined && (known.at(-1)?.iteration ?? -1) < own.iteration)
      next[metric] = [...known, own].slice(-TREND_WINDOW - 1);
  }
  return next;
}

function measuredOf(
  { store }: StageServices,
  { configKey }: Look,
  seen: Measures["seen"],
  gates: readonly GateWord[],
): Record<Metric, Measured[]> {
  const own = (metric: Metric) => (seen[metric] ?? []).map((each) => ({ ...each, error: 0 }));
  const losses = trainingRuns(store, configKey, 2 * TREND_WINDOW).filter(({ fresh }) => !fresh);
  return {
    elo: strengths(gates),
    loss: oneAnIteration(losses).flatMap(({ iteration, loss, losses: all, ended_at: at }) => {
      // What was held out tells more than what was learned by heart.
      const value = typeof all.validation_loss === "number" ? all.validation_loss : loss;
      return value === null || !(value > 0) ? [] : [{ iteration, value, error: 0, at }];
    }),
    quality: own("quality"),
    games_per_second: own("games_per_second"),
    retries: own("retries"),
  };
}

/** What of the trends goes out as figures, by name. */
const figuresOf = (trends: Measures["trends"]): Record<string, number> =>
  Object.fromEntries(
    METRICS.flatMap((metric) => {
      const trend = trends[metric];
      if (trend === undefined) return [];
      const { value, slope, plateau_since } = trend;
      return [
        [metric, value] as const,
        ...(slope === null ? [] : [[`${metric}_slope`, slope.estimate] as const]),
        [`${metric}_plateau`, plateau_since === null ? 0 : 1] as const,
      ];
    }),
  );

function measure(services: StageServices, look: Look): void {
  const { row, put, emit, configKey: config_key } = look;
  const before = row(measures) ?? NOTHING;
  const seen = seenSoFar(look, before);
  const gates = gatesBefore(services.store, config_key);
  const measured = measuredOf(services, look, seen, gates);
  const trends: { [metric in Metric]?: Trend } = {};
  for (const metric of METRICS) {
    const known = before.trends[metric];
    const last = measured[metric].at(-1);
    // One look at each iteration: what is odd stays odd when it is looked at again.
    const isKnown = last?.iteration === known?.iteration && last?.value === known?.value;
    const facts = metric === "elo" ? { before: known, line: growthOf(gates) } : { before: known };
    const trend = isKnown ? known : trendOf(metric, measured[metric], facts);
    if (trend !== undefined) trends[metric] = trend;
  }
  const isNews = METRICS.some((metric) => trends[metric] !== before.trends[metric]);
  put(measures, { ...before, seen, trends });
  if (!isNews) return;
  const figures = Object.entries(figuresOf(trends)).map(([name, value]) => [`${config_key}_${name}`, value]);
  emit.METRICS_UPDATED({ node_id: services.nodeId, config_key, metrics: Object.fromEntries(figures) });
  for (const metric of ["elo", "loss"] as const)
    if (before.trends[metric]?.plateau_since == null) emitPlateau(look, metric, trends[metric]);
}

/** Told once, when a measure is found to stand still. */
function emitPlateau({ emit, plan, now, configKey: config_key }: Look, metric: "elo" | "loss", trend?: Trend): void {
  if (trend?.plateau_since == null) return;
  const { value, best, iteration } = trend;
  emit.PLATEAU_DETECTED({
    config_key,
    metric_name: metric,
    value,
    best_value: best.value,
    plateau_seconds: Math.max(0, now - best.at) / 1_000,
    ...defined({ plateau_games: gamesSince(plan.games_per_iteration, iteration - best.iteration) }),
    recommended_search: metric === "elo" ? "cmaes" : "nas",
  });
}

const gamesSince = (games: number, rounds: number): number | undefined => (rounds > 0 ? games * rounds : undefined);
