import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../../daemons/index.ts";
import { defined, sumOf } from "../../../../kernel/index.ts";
import {
  type ConfigRow,
  configs,
  everyMs,
  type Iteration,
  iterations,
  knobIn,
  putChanged,
  type StageServices,
  type StageWork,
  selfplayWork,
  type TrainingOwn,
  trainingWork,
  undertakingOf,
} from "../../../stage/index.ts";
import { SCHEDULER_MS, STALE_STEP_MS } from "../../limits.ts";
import { openJobsAllowed, queuePressure } from "../../orders.ts";
import {
  type AllocationRow,
  allocations,
  goals,
  idleNodes,
  penaltyRate,
  qualities,
  selfplayOrders,
  suspects,
} from "../../tables.ts";
import { type Allocation, allocate, type ConfigFacts, isNoticeable, reasonWords } from "./decide.ts";
import { askIdle, idleNews } from "./idle-nodes.ts";

const wiring = {
  name: "selfplay_scheduler",
  layer: 5,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "selfplay",
  daemonTypes: ["SELFPLAY_COORDINATOR"],
  alsoKnownAs: ["SelfplayScheduler"],
  pattern: "GET",
  dependsOn: ["selfplay_orchestrator"],
  emits: ["SELFPLAY_ALLOCATION_UPDATED", "P2P_SELFPLAY_SCALED", "BATCH_SCHEDULED", "IDLE_STATE_REQUEST"],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring>;
type Playing = ConfigRow & { readonly iteration: Iteration };

/**
 * Divides self-play among the configs and says why; the only author of the allocation. It gives shares and never jobs:
 * `queue_populator` fills the queue by them, and a batch that is out is announced here. It is a plain daemon and looks at no
 * config alone: what one of them gets is what the others leave.
 */
export const selfplayScheduler = (services: StageServices) =>
  defineDaemon({
    ...wiring,
    state: { tables: { allocations, idleNodes } },
    on: {
      ...idleNews,
      ...onEach(
        [
          "SELFPLAY_TARGET_UPDATED",
          "ELO_UPDATED",
          "ELO_VELOCITY_CHANGED",
          "SELFPLAY_RATE_CHANGED",
          "EXPLORATION_BOOST",
          "EXPLORATION_ADJUSTED",
          "CURRICULUM_ADVANCED",
          "CURRICULUM_REBALANCED",
          "CURRICULUM_UPDATED",
          "WEIGHT_UPDATED",
          "MODEL_PROMOTED",
          "NEW_GAMES_AVAILABLE",
          "PIPELINE_STAGE_ENTERED",
          "QUALITY_DEGRADED",
          "QUALITY_FEEDBACK_ADJUSTED",
          "QUALITY_PENALTY_APPLIED",
          "QUALITY_DISTRIBUTION_CHANGED",
          "LOW_QUALITY_DATA_WARNING",
          "SELFPLAY_COMPLETE",
          "TRAINING_COMPLETED",
          "TRAINING_EARLY_STOPPED",
          "TRAINING_LOSS_TREND",
          "BACKPRESSURE_ACTIVATED",
          "BACKPRESSURE_RELEASED",
        ],
        (_event, context: Context) => divide(services, context),
      ),
    },
    loop: {
      everyMs: everyMs(services, SCHEDULER_MS),
      tick(context) {
        divide(services, context);
        askIdle(services, context);
      },
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: { shares: Object.fromEntries(rows.list(allocations).map(([key, { share }]) => [key, share])) },
    }),
  });

function divide({ settings }: StageServices, context: Context): void {
  const { rows } = context;
  const playing = rows.list(configs).flatMap(([key, config]) => {
    const iteration = rows.get(iterations, key);
    return isPlaying(config, iteration) ? [{ ...config, iteration }] : [];
  });
  const divided = allocate(
    playing.map((config) => factsOf(context, config)),
    queuePressure(rows),
  );
  const sharing = divided.filter(({ share }) => share > 0).length;
  for (const [n, allocation] of divided.entries()) {
    scale(context, playing[n]!, allocation, settings.maxSelfplayJobs);
    apply(context, playing[n]!, allocation, sharing);
  }
  for (const [key] of rows.list(allocations))
    if (!playing.some(({ plan }) => plan.config_key === key)) rows.delete(allocations, key);
}

/** What may be played: neither held by people, nor ended, nor given up. */
const isPlaying = ({ paused }: ConfigRow, iteration: Iteration | undefined): iteration is Iteration =>
  paused === null && iteration !== undefined && iteration.state !== "complete" && iteration.state !== "failed";

function factsOf({ rows, now }: Context, { plan, iteration }: Playing): ConfigFacts {
  const key = plan.config_key;
  const goal = rows.get(goals, key);
  const work = rows.get(selfplayWork, key);
  const isCurrent = work?.iteration === iteration.iteration;
  const wanted = goal?.target_games ?? plan.games_per_iteration;
  const done = isCurrent ? sumOf(work.own.segments, ({ games }) => games) : 0;
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
    curriculum: knobIn(rows, key, "share", iteration.iteration),
    // As it was said, not as it was opened with: a share may follow at once, since it only moves time.
    exploring: knobIn(rows, key, "exploration", iteration.iteration) * knobIn(rows, key, "search", iteration.iteration),
    quality: rows.get(qualities, key)?.score ?? null,
    poorShare: rows.get(qualities, key)?.poor_share ?? null,
    training: trainingWord(rows.get(trainingWork, key)),
    penaltyRate: penaltyRate(rows.get(suspects, key), iteration.iteration),
    stage: iteration.stage,
  };
}

/** What the last run that trained says of the data. */
function trainingWord(work: StageWork<TrainingOwn> | undefined): ConfigFacts["training"] {
  if (work?.state !== "done") return null;
  if (work.evidence.early_stopped === true) return "early_stopped";
  return work.evidence.loss_trend === "declining" ? "loss_grows" : null;
}

/** Says how many jobs of a config may be out at once, when that has changed by more than a fifth. */
function scale({ rows, emit }: Context, { plan }: Playing, { share, rate, reasons }: Allocation, most: number): void {
  const { config_key } = plan;
  const known = rows.get(allocations, config_key);
  const jobs = openJobsAllowed(queuePressure(rows), share * rate, most);
  const previous_jobs = known?.jobs ?? 0;
  if (known === undefined || Math.abs(jobs - previous_jobs) <= 0.2 * previous_jobs) return;
  rows.put(allocations, config_key, { ...known, jobs });
  emit.P2P_SELFPLAY_SCALED({ config_key, jobs, previous_jobs, reason: reasonWords(reasons) });
}

function apply(context: Context, { plan }: Playing, allocation: Allocation, sharing: number): void {
  const { rows, emit, now } = context;
  const { config_key } = plan;
  const before = rows.get(allocations, config_key);
  const order = rows.get(selfplayOrders, config_key);
  const { share, rate, games, urgency, reasons } = allocation;
  const noticeable = isNoticeable(before?.told, allocation);
  // A batch is announced when all its jobs are in the queue, once.
  const isOut = order?.whole === true && order.wanted.every((part) => order.jobs[part] !== undefined);
  const batch = isOut && order.wanted.length > 0 ? undertakingOf(config_key, order, "selfplay") : null;
  const row: AllocationRow = {
    share,
    rate,
    games,
    urgency,
    reasons,
    configs: sharing,
    told: noticeable || before === undefined ? { share, urgency, at: now } : before.told,
    ...defined({ jobs: before?.jobs }),
    batch: batch ?? before?.batch ?? null,
  };
  putChanged(rows, allocations, config_key, row);
  if (noticeable)
    emit.SELFPLAY_ALLOCATION_UPDATED({
      config_key,
      allocated_games: games,
      allocated_share: share,
      reason: reasonWords(reasons),
    });
  if (order === undefined || batch === null || batch === before?.batch) return;
  emit.BATCH_SCHEDULED(
    {
      batch_id: batch,
      config_key,
      work_type: "selfplay",
      jobs: order.wanted.length,
      node_ids: [],
      games_per_job: order.parts[0]!.games,
      reason: `iteration ${order.iteration}, attempt ${order.attempt}`,
    },
    rows.get(iterations, config_key)?.cause,
  );
}
