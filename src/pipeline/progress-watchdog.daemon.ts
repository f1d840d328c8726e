import { defineDaemon, onEach, type UnitContext } from "../daemons/index.ts";
import type { PayloadFor } from "../events/index.ts";
import { defineTable } from "../router/index.ts";
import { eloVelocity } from "./evaluation/statistics/index.ts";
import { type Iteration, iterations } from "./iteration.ts";
import type { Stage } from "./stages.ts";

export interface ProgressWatchdogSettings {
  readonly everyMs: number;
  /** Elo a day under which a config no longer gains, and how long it is looked at before that is said. */
  readonly leastEloPerDay: number;
  readonly strengthMs: number;
}

const progressWatchdogDefaults: ProgressWatchdogSettings = {
  everyMs: 5_000,
  leastEloPerDay: 12,
  strengthMs: 6 * 3_600_000,
};

/** A config that stands still, since when, and what was said about it. Times are milliseconds since the epoch. */
type Stall = {
  readonly stage: Stage;
  readonly iteration: number;
  readonly since: number;
  readonly kind: "stage" | "strength";
};
const stalls = defineTable<Stall>("pipeline_stalls");

/** Ratings of a config's champions as they came. */
type Rated = { readonly points: readonly { readonly at: number; readonly elo: number; readonly error: number }[] };
const strengths = defineTable<Rated>("pipeline_strengths");

/** The last sign that something began for a config: what `why` shows of one that stands still. */
export type Sign = { readonly event: string; readonly at: number };
const signs = defineTable<Sign>("pipeline_signs");

const SIGNS = [
  "PARITY_VALIDATION_STARTED",
  "NPZ_EXPORT_STARTED",
  "NPZ_COMBINATION_STARTED",
  "TRAINING_LOCK_ACQUIRED",
  "TRAINING_STARTED",
  "EVALUATION_STARTED",
  "EVALUATION_PROGRESS",
  "PROMOTION_STARTED",
  "MODEL_DISTRIBUTION_STARTED",
] as const;

const MOST_POINTS = 500;
const DAY_MS = 86_400_000;

type Context = UnitContext<"PROGRESS_STALL_DETECTED" | "PROGRESS_RECOVERED">;
type ConfigKey = PayloadFor<"PROGRESS_STALL_DETECTED">["config_key"];

/** The stage's own deadline, which the reconciler set when the config entered it; null while it is in time. */
export const lateBy = ({ state, deadline, not_before }: Iteration, now: number): number | null => {
  if (state === "paused" || state === "complete") return null;
  const until = Math.max(deadline, not_before ?? 0);
  return now > until ? now - until : null;
};

/** Elo gained a day with its upper bound; undefined while too little is known. */
export function strengthOf({ points }: Rated, now: number, windowMs: number) {
  const recent = points.filter(({ at }) => now - at <= windowMs * 2);
  const first = recent[0];
  if (first === undefined || now - first.at < windowMs || recent.length < 4) return undefined;
  if (new Set(recent.map(({ at }) => at)).size < 2) return undefined;
  return eloVelocity(recent.map(({ at, elo, error }) => ({ at: at / DAY_MS, elo, standardError: error })));
}

/** Holds a deadline for every stage under way and for the gain in strength, and names what stalls. It mends nothing. */
export const progressWatchdog = (given: Partial<ProgressWatchdogSettings> = {}) => {
  const settings = { ...progressWatchdogDefaults, ...given };

  const say = (
    configKey: string,
    stall: Stall,
    deadlineMs: number,
    { rows, emit, now }: Context,
    eloPerDay?: number,
  ) => {
    rows.put(stalls, configKey, stall);
    emit.PROGRESS_STALL_DETECTED({
      config_key: configKey as ConfigKey,
      pipeline_stage: stall.stage,
      stalled_seconds: (now - stall.since) / 1_000,
      deadline_seconds: deadlineMs / 1_000,
      ...(eloPerDay === undefined ? {} : { elo_per_day: eloPerDay }),
    });
  };

  const look = (configKey: string, iteration: Iteration, context: Context) => {
    const { rows, emit, now } = context;
    const known = rows.get(stalls, configKey);
    const late = lateBy(iteration, now);
    const strength = strengthOf(rows.get(strengths, configKey) ?? { points: [] }, now, settings.strengthMs);
    const weak =
      iteration.state === "running" && strength !== undefined && strength.upperBound < settings.leastEloPerDay;
    if (known !== undefined) {
      const over =
        known.kind === "strength"
          ? !weak
          : known.iteration !== iteration.iteration || known.stage !== iteration.stage || late === null;
      if (!over) return;
      rows.delete(stalls, configKey);
      emit.PROGRESS_RECOVERED({
        config_key: configKey as ConfigKey,
        pipeline_stage: known.stage,
        stalled_seconds: (now - known.since) / 1_000,
        ...(strength === undefined ? {} : { elo_per_day: strength.slope.estimate }),
      });
      return;
    }
    const { stage, stage_since, deadline } = iteration;
    if (late !== null)
      say(
        configKey,
        { stage, iteration: iteration.iteration, since: stage_since, kind: "stage" },
        deadline - stage_since,
        context,
      );
    else if (weak)
      say(
        configKey,
        { stage, iteration: iteration.iteration, since: now - settings.strengthMs, kind: "strength" },
        settings.strengthMs,
        context,
        strength.slope.estimate,
      );
  };

  return defineDaemon({
    name: "progress_watchdog",
    layer: 7,
    placement: "leader",
    alsoKnownAs: [
      "PROGRESS_WATCHDOG",
      "ProgressWatchdogDaemon",
      "ProgressMonitor",
      "ProgressTracker",
      "TrainingWatchdogDaemon",
    ],
    dependsOn: ["pipeline_orchestrator", "elo_service"],
    emits: ["PROGRESS_STALL_DETECTED", "PROGRESS_RECOVERED"],
    state: { tables: { stalls, strengths, signs } },
    on: {
      ...onEach(SIGNS, ({ eventType, payload }, { rows, now }: Context) => {
        if (payload.config_key !== undefined) rows.put(signs, payload.config_key, { event: eventType, at: now });
      }),
      ELO_UPDATED: ({ payload, timestamp }, { rows, now }) => {
        const { config_key, elo, elo_low, elo_high } = payload;
        if (elo_low === undefined || elo_high === undefined || elo_high <= elo_low) return;
        const at = Number.isFinite(timestamp) ? timestamp * 1_000 : now;
        const point = { at, elo, error: (elo_high - elo_low) / (2 * 1.96) };
        const points = [...(rows.get(strengths, config_key)?.points ?? []), point].slice(-MOST_POINTS);
        rows.put(strengths, config_key, { points });
      },
    },
    loop: {
      everyMs: settings.everyMs,
      tick(context) {
        for (const [configKey, iteration] of context.rows.list(iterations)) look(configKey, iteration, context);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(stalls);
      return all.length === 0
        ? { status: "running", message: "" }
        : {
            status: "degraded",
            message: `stands still: ${all.map(([key, { stage }]) => `${key} in ${stage}`).join(", ")}`,
          };
    },
  });
};
