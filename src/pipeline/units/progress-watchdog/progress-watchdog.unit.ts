import { onEach, type Wiring } from "../../../daemons/index.ts";
import { defined } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { MAX_STRENGTHS, MIN_ELO_PER_DAY, STRENGTH_MS, WATCH_MS } from "../../limits.ts";
import {
  defineConfigUnit,
  everyMs,
  type Iteration,
  iterations,
  type LookOf,
  type Stage,
  type StageServices,
} from "../../stage/index.ts";
import { eloVelocity } from "../../statistics/index.ts";
import { bookAlarms, watchBooks } from "./book-watch.ts";
import { lateMerges, watchMerge } from "./consolidation-watch.ts";
import { searchSigns, watchSearch } from "./search-watch.ts";
import { currentStep, deadlineOf, STEPS, type Step, type StepEvent, stepOf, steps } from "./steps.ts";

const wiring = {
  name: "progress_watchdog",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["PROGRESS_WATCHDOG"],
  alsoKnownAs: ["ProgressWatchdogDaemon", "ProgressMonitor", "ProgressTracker", "TrainingWatchdogDaemon"],
  dependsOn: ["pipeline_orchestrator", "elo_service"],
  emits: ["PROGRESS_STALL_DETECTED", "PROGRESS_RECOVERED", "DATA_QUALITY_ALERT"],
} as const satisfies Wiring;

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

const SEARCH_SIGNS = ["PBT_STARTED", "PBT_GENERATION_COMPLETE", "NAS_STARTED", "NAS_GENERATION_COMPLETE"] as const;

const DAY_MS = 86_400_000;

type Look = LookOf<typeof wiring>;

/** By how much a config missed the deadline of its stage or of the step that it is at; null while it is in time. */
export const lateBy = (at: Iteration, now: number, step?: Step): number | null => {
  if (at.state === "paused" || at.state === "complete") return null;
  const until = Math.max(deadlineOf(at, step), at.not_before ?? 0);
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

/**
 * Holds a deadline for every stage under way and for the gain in strength, looks whether the books balance, and names what
 * is wrong. It mends nothing.
 */
export const progressWatchdog = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { stalls, strengths, steps, bookAlarms, lateMerges, searchSigns } },
    // The clock of a merge runs from its first sign.
    wakes: ["CONSOLIDATION_STARTED", "CONSOLIDATION_COMPLETE"],
    on: {
      ...onEach(
        Object.keys(STEPS) as StepEvent[],
        ({ eventType, payload }, { rows, now }: Pick<Look, "rows" | "now">) => {
          const { config_key } = payload;
          const step =
            config_key && stepOf(eventType, rows.get(iterations, config_key), now, rows.get(steps, config_key));
          if (config_key && step) rows.put(steps, config_key, step);
        },
      ),
      ...onEach(SEARCH_SIGNS, ({ payload }, { rows, now }: Pick<Look, "rows" | "now">) => {
        const { config_key, run_id } = payload;
        const generation = "generation" in payload ? payload.generation : 0;
        const known = config_key === undefined ? undefined : rows.get(searchSigns, config_key);
        if (config_key === undefined || (known?.run_id === run_id && known.generation >= generation)) return;
        const told = known?.run_id === run_id && known.told;
        rows.put(searchSigns, config_key, { run_id, generation, at: now, told });
      }),
      ELO_UPDATED: ({ payload, timestamp }, { rows, now }) => {
        const { config_key, elo, elo_low, elo_high } = payload;
        if (elo_low === undefined || elo_high === undefined || elo_high <= elo_low) return;
        const at = Number.isFinite(timestamp) ? timestamp * 1_000 : now;
        const point = { at, elo, error: (elo_high - elo_low) / (2 * 1.96) };
        const points = [...(rows.get(strengths, config_key)?.points ?? []), point].slice(-MAX_STRENGTHS);
        rows.put(strengths, config_key, { points });
      },
    },
    everyMs: everyMs(services, WATCH_MS),
    look: watch,
    afterAll: (context) => watchBooks(context, services.catalog),
    health: ({ rows }) => {
      const still = rows.list(stalls).map(([key, { stage }]) => `${key} in ${stage}`);
      const wrong = rows.list(bookAlarms).map(([key]) => key);
      const message = [
        ...(still.length === 0 ? [] : [`no progress: ${still.join(", ")}`]),
        ...(wrong.length === 0 ? [] : [`the books do not balance: ${wrong.join(", ")}`]),
      ].join("; ");
      return { status: message === "" ? "running" : "degraded", message };
    },
  });

function watch(look: Look): void {
  watchMerge(look);
  watchSearch(look);
  const { rows, row, emit, now, at, configKey: config_key } = look;
  if (at === undefined) return;
  const known = row(stalls);
  const late = lateBy(at, now, row(steps));
  const strength = strengthOf(row(strengths) ?? { points: [] }, now, STRENGTH_MS);
  const isWeak = at.state === "running" && strength !== undefined && strength.upperBound < MIN_ELO_PER_DAY;
  const elo_per_day = strength?.slope.estimate;
  if (known !== undefined) {
    const isOther = known.iteration !== at.iteration || known.stage !== at.stage;
    const isOver = known.kind === "strength" ? !isWeak : isOther || late === null;
    if (!isOver) return;
    rows.delete(stalls, config_key);
    const stalled_seconds = (now - known.since) / 1_000;
    emit.PROGRESS_RECOVERED({ config_key, pipeline_stage: known.stage, stalled_seconds, ...defined({ elo_per_day }) });
    return;
  }
  if (late === null && !isWeak) return;
  const { iteration, stage, stage_since } = at;
  const deadline = deadlineOf(at, row(steps));
  // The stage itself may be in time: then it is the step that shows nothing more.
  const step = deadline < at.deadline ? currentStep(row(steps), at) : undefined;
  const [kind, since, deadlineMs] =
    late === null
      ? (["strength", now - STRENGTH_MS, STRENGTH_MS] as const)
      : (["stage", step?.at ?? stage_since, deadline - (step?.at ?? stage_since)] as const);
  look.put(stalls, { stage, iteration, since, kind });
  emit.PROGRESS_STALL_DETECTED({
    config_key,
    pipeline_stage: stage,
    stalled_seconds: (now - since) / 1_000,
    deadline_seconds: deadlineMs / 1_000,
    ...defined({ elo_per_day: late === null ? elo_per_day : undefined }),
  });
}
