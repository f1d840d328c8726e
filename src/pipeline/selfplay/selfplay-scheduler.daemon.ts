import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { type ConfigRow, configs } from "../config-plan.ts";
import { qualities } from "../data/quality-row.ts";
import { type Iteration, iterations } from "../iteration.ts";
import { putChanged, undertakingOf } from "../stage-rows.ts";
import { selfplayWork } from "../stage-work.ts";
import {
  type Allocation,
  type AllocationPolicy,
  allocate,
  allocationDefaults,
  type ConfigFacts,
  isNoticeable,
  tellReasons,
} from "./allocation.ts";
import { type AllocationRow, allocations } from "./allocations.ts";
import { goals } from "./goals.ts";
import { queuePressure } from "./queue-pressure.ts";
import { selfplayOrders } from "./selfplay-order.ts";

export interface SelfplaySchedulerPorts {
  readonly settings?: Partial<SelfplaySchedulerSettings>;
}

export interface SelfplaySchedulerSettings {
  readonly everyMs: number;
  readonly policy: AllocationPolicy;
}

export const selfplaySchedulerDefaults: SelfplaySchedulerSettings = { everyMs: 5_000, policy: allocationDefaults };

type Context = UnitContext<"SELFPLAY_ALLOCATION_UPDATED" | "BATCH_SCHEDULED">;
type Playing = ConfigRow & { readonly iteration: Iteration };

/** What may be played: neither held by people, nor ended, nor given up. */
const isPlaying = ({ paused }: ConfigRow, iteration: Iteration | undefined): iteration is Iteration =>
  paused === null && iteration !== undefined && iteration.state !== "complete" && iteration.state !== "failed";

/** Staleness moves all the time: it counts in steps, so that rows do not change with every look. */
const STALE_STEP_MS = 300_000;

/**
 * Divides self-play among the configs and says why; the only author of the allocation. It gives shares and never jobs:
 * `queue_populator` fills the queue by them, and a batch that is out is announced here.
 */
export const selfplayScheduler = ({ settings: given = {} }: SelfplaySchedulerPorts = {}) => {
  const settings = { ...selfplaySchedulerDefaults, ...given };

  const factsOf = ({ rows, now }: Context, { plan, iteration }: Playing): ConfigFacts => {
    const key = plan.config_key;
    const goal = rows.get(goals, key);
    const work = rows.get(selfplayWork, key);
    const isCurrent = work?.iteration === iteration.iteration;
    const wanted = goal?.target_games ?? plan.games_per_iteration;
    const done = isCurrent ? work.own.segments.reduce((sum, { games }) => sum + games, 0) : 0;
    const lastAt = work === undefined ? null : (work.ended_at ?? work.since);
    const staleMs = lastAt === null ? null : Math.floor(Math.max(0, now - lastAt) / STALE_STEP_MS) * STALE_STEP_MS;
    return {
      configKey: key,
      staleMs,
      wanted,
      done: iteration.stage === "selfplay" ? done : wanted,
      gap: goal?.gap ?? null,
      eloPerDay: goal?.velocity?.elo_per_day ?? null,
      weight: plan.weight,
      quality: rows.get(qualities, key)?.score ?? null,
      stage: iteration.stage,
    };
  };

  /** A batch is announced when all its jobs are in the queue, once. */
  const batchToTell = ({ rows }: Context, { plan }: Playing, told: string | null): string | null => {
    const order = rows.get(selfplayOrders, plan.config_key);
    if (order === undefined || !order.whole || order.wanted.length === 0) return null;
    if (order.wanted.some((part) => order.jobs[part] === undefined)) return null;
    const batch = undertakingOf(plan.config_key, order, "selfplay");
    return batch === told ? null : batch;
  };

  const apply = (context: Context, config: Playing, allocation: Allocation, sharing: number): void => {
    const { rows, emit, now } = context;
    const { config_key } = config.plan;
    const before = rows.get(allocations, config_key);
    const { share, games, urgency, reasons } = allocation;
    const noticeable = isNoticeable(before?.told, allocation);
    const batch = batchToTell(context, config, before?.batch ?? null);
    const row: AllocationRow = {
      share,
      games,
      urgency,
      reasons,
      configs: sharing,
      told: noticeable || before === undefined ? { share, urgency, at: now } : before.told,
      batch: batch ?? before?.batch ?? null,
    };
    putChanged(rows, allocations, config_key, row);
    if (noticeable)
      emit.SELFPLAY_ALLOCATION_UPDATED({
        config_key,
        allocated_games: games,
        allocated_share: share,
        reason: tellReasons(reasons),
      });
    if (batch === null) return;
    const order = rows.get(selfplayOrders, config_key)!;
    emit.BATCH_SCHEDULED({
      batch_id: batch,
      config_key,
      work_type: "selfplay",
      jobs: order.wanted.length,
      node_ids: [],
      games_per_job: order.parts[0]!.games,
      reason: `iteration ${order.iteration}, attempt ${order.attempt}`,
    });
  };

  const reconcile = (context: Context): void => {
    const { rows } = context;
    const playing = rows.list(configs).flatMap(([key, config]) => {
      const iteration = rows.get(iterations, key);
      return isPlaying(config, iteration) ? [{ ...config, iteration }] : [];
    });
    const divided = allocate(
      playing.map((config) => factsOf(context, config)),
      queuePressure(rows),
      settings.policy,
    );
    const sharing = divided.filter(({ share }) => share > 0).length;
    for (const [n, allocation] of divided.entries()) apply(context, playing[n]!, allocation, sharing);
    for (const [key] of rows.list(allocations))
      if (!playing.some(({ plan }) => plan.config_key === key)) rows.delete(allocations, key);
  };

  return defineDaemon({
    name: "selfplay_scheduler",
    layer: 5,
    placement: "leader",
    alsoKnownAs: ["SELFPLAY_COORDINATOR", "SelfplayScheduler"],
    pattern: "GET",
    dependsOn: ["selfplay_orchestrator"],
    emits: ["SELFPLAY_ALLOCATION_UPDATED", "BATCH_SCHEDULED"],
    state: { tables: { allocations } },
    on: onEach(
      [
        "SELFPLAY_TARGET_UPDATED",
        "ELO_UPDATED",
        "ELO_VELOCITY_CHANGED",
        "MODEL_PROMOTED",
        "NEW_GAMES_AVAILABLE",
        "PIPELINE_STAGE_ENTERED",
        "QUALITY_DEGRADED",
        "QUALITY_FEEDBACK_ADJUSTED",
        "QUALITY_PENALTY_APPLIED",
        "LOW_QUALITY_DATA_WARNING",
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED",
      ],
      (_event, context: Context) => reconcile(context),
    ),
    loop: { everyMs: settings.everyMs, tick: reconcile },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: { shares: Object.fromEntries(rows.list(allocations).map(([key, { share }]) => [key, share])) },
    }),
  });
};
