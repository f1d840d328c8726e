import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import type { JobSpecInput, WorkQueue } from "../../work/index.ts";
import { type ConfigRow, configs } from "../config-plan.ts";
import { suspects, suspectsIn } from "../data/suspects.ts";
import { followJobs } from "../followed-jobs.ts";
import { type Iteration, isTurnOf, iterations, type Wait } from "../iteration.ts";
import { NO_REBUILDS, rebuildRows } from "../rebuild-rows.ts";
import { seedFor } from "../seeds.ts";
import { putChanged, putJobs, refusedWait, undertakingOf, waitsSince } from "../stage-rows.ts";
import { isFor, selfplayWork } from "../stage-work.ts";
import { type AllocationRow, allocations } from "./allocations.ts";
import { costOf, openJobsAllowed } from "./filling.ts";
import { type Goal, goals, isOtherVelocity, judgeGoal } from "./goals.ts";
import { partsOf } from "./parts.ts";
import { queuePressure } from "./queue-pressure.ts";
import {
  excluding,
  keptSegments,
  type Rejection,
  rejections,
  rejectionsOf,
  type SelfplayOrder,
  selfplayOrders,
} from "./selfplay-order.ts";
import type { StrengthOf } from "./strength.port.ts";

export interface QueuePopulatorPorts {
  readonly queue: Pick<WorkQueue, "join" | "show">;
  readonly strengthOf: StrengthOf;
  /** Nodes that could play now. */
  readonly nodes: () => readonly string[];
  readonly settings?: Partial<QueuePopulatorSettings>;
}

export interface QueuePopulatorSettings {
  readonly everyMs: number;
  /** Self-play jobs of all configs that may be in the queue at once, without pressure. */
  readonly mostOpen: number;
}

export const queuePopulatorDefaults: QueuePopulatorSettings = { everyMs: 2_000, mostOpen: 64 };

type Context = UnitContext<"WORK_QUEUED" | "SELFPLAY_TARGET_UPDATED" | "ELO_VELOCITY_CHANGED">;
type Waits = readonly Omit<Wait, "since">[];

/**
 * Puts the self-play of an iteration into the queue, part by part, as fast as pressure and the config's share allow, until
 * the goal of the config is met. What it put out stands in its order; `selfplay_orchestrator` follows it.
 */
export const queuePopulator = ({ queue, strengthOf, nodes, settings: given = {} }: QueuePopulatorPorts) => {
  const settings = { ...queuePopulatorDefaults, ...given };

  const specOf = (
    configKey: ConfigRow["plan"]["config_key"],
    order: SelfplayOrder,
    part: string,
    around: { allocation: AllocationRow | undefined; suspects: readonly string[]; rejected: readonly Rejection[] },
  ): JobSpecInput => {
    const { first_game, games } = order.parts.find((one) => one.part === part)!;
    const batch = undertakingOf(configKey, order, "selfplay");
    const rejectedBy = around.rejected
      .filter((entry) => entry.part === part && entry.reason !== "corrupt")
      .map(({ producer }) => producer);
    const { share = 1, configs: sharing = 1, urgency = "normal" } = around.allocation ?? {};
    return {
      work_type: "selfplay",
      config_key: configKey,
      urgency,
      cost: costOf(share, sharing),
      payload: {
        parameters: { ...order.parameters, games, first_game },
        seed: order.seed,
        inputs: [{ name: "model", sha256: order.model }],
      },
      batch_id: batch,
      // Numbered as a batch that somebody else hands out would be: a second addition is the same job.
      dedup_key: `${batch}/${order.wanted.indexOf(part)}`,
      requested_by: "queue_populator",
      excluded_nodes: excluding(nodes(), [...around.suspects, ...rejectedBy], rejectedBy),
    };
  };

  /** What this attempt has to bring. Jobs of an earlier attempt that still run, or are done and not rejected, count. */
  const orderFor = (
    { rows, now }: Context,
    { plan }: ConfigRow,
    { iteration, attempt, champion }: Iteration & { readonly champion: string },
  ): SelfplayOrder => {
    const key = plan.config_key;
    const last = rows.get(selfplayOrders, key);
    const prior = last?.iteration === iteration ? last : undefined;
    const rejected = rejectionsOf(rows.get(rejections, key), iteration);
    const kept = keptSegments(rows.get(selfplayWork, key), rejected, iteration);
    const parts = prior?.parts ?? partsOf(plan.games_per_iteration, plan.games_per_job);
    const wanted = parts.map(({ part }) => part).filter((part) => !kept.some((segment) => segment.part === part));
    const stillGood = wanted.flatMap((part) => {
      const workId = prior?.jobs[part];
      if (workId === undefined || rejected.some(({ work_id }) => work_id === workId)) return [];
      const state = queue.show(workId)?.state;
      return state === undefined || state === "failed" || state === "cancelled" ? [] : [[part, workId] as const];
    });
    return {
      iteration,
      attempt,
      since: now,
      parts,
      seed: prior?.seed ?? seedFor(plan.seed, "selfplay", iteration),
      model: prior?.model ?? champion,
      parameters: prior?.parameters ?? plan.selfplay,
      wanted,
      whole: stillGood.length === 0,
      jobs: Object.fromEntries(stillGood),
    };
  };

  /** Puts out what is lacking and allowed; gives back what keeps the rest. */
  const fill = (context: Context, config: ConfigRow, goal: Goal): Waits => {
    const { rows } = context;
    const { config_key: key } = config.plan;
    const iteration = rows.get(iterations, key);
    if (!isTurnOf("selfplay", iteration)) return [];
    const work = rows.get(selfplayWork, key);
    if (isFor(work, iteration) && work?.state !== "running") return [];
    if (config.paused !== null)
      return [{ for: "pause", actual: `${config.paused.by}: ${config.paused.reason}`, required: "resumed" }];
    const { champion } = iteration;
    if (champion === null) return [{ for: "champion", actual: null, required: "a model that plays" }];
    const known = rows.get(selfplayOrders, key);
    // What was begun is brought to its end; a goal that is met ends the next one.
    if (!isFor(known, iteration) && goal.target_games === 0)
      return [{ for: "goal", actual: goal.reason, required: "a goal that is not met yet" }];
    const order =
      known !== undefined && isFor(known, iteration) ? known : orderFor(context, config, { ...iteration, champion });

    const { open, failed } = followJobs(queue, order.jobs, rows.get(rebuildRows, key) ?? NO_REBUILDS);
    const lacking = order.wanted.filter((part) => order.jobs[part] === undefined);
    const level = queuePressure(rows);
    const allocation = rows.get(allocations, key);
    const allowed = openJobsAllowed(level, allocation?.share ?? 1, settings.mostOpen);
    const now = failed.length > 0 ? [] : lacking.slice(0, Math.max(0, allowed - open.length));
    const rejected = rejectionsOf(rows.get(rejections, key), iteration.iteration);
    const around = { allocation, suspects: suspectsIn(rows.get(suspects, key), iteration.iteration), rejected };
    const put = putJobs(
      queue,
      context,
      now.map((part) => specOf(key, order, part, around)),
    );
    if ("refused" in put) return [refusedWait(put.refused)];
    const added = Object.fromEntries(now.map((part, n) => [part, put.added[n]!.work_id]));
    putChanged(rows, selfplayOrders, key, { ...order, jobs: { ...order.jobs, ...added } });

    const left = lacking.length - now.length;
    if (left === 0) return [];
    if (failed.length > 0)
      return [{ for: "failed_jobs", actual: `${failed[0]!.part}: ${failed[0]!.reason}`, required: "a new attempt" }];
    const actual = `${open.length + now.length} jobs under way, ${left} wait; pressure ${level}`;
    return [{ for: "room_in_queue", actual, required: `fewer than ${allowed} under way` }];
  };

  const tellGoal = ({ emit, rows }: Context, { plan }: ConfigRow, before: Goal | undefined, after: Goal): void => {
    const config_key = plan.config_key;
    if (before?.target_games !== after.target_games)
      emit.SELFPLAY_TARGET_UPDATED({
        config_key,
        target_games: after.target_games,
        reason: after.reason,
        urgency: rows.get(allocations, config_key)?.urgency ?? "normal",
        ...(before === undefined ? {} : { previous_target_games: before.target_games }),
        ...(after.gap === null ? {} : { elo_gap: after.gap.estimate }),
      });
    if (after.velocity !== null && isOtherVelocity(before?.velocity ?? null, after.velocity))
      emit.ELO_VELOCITY_CHANGED({
        config_key,
        elo_per_day: after.velocity.elo_per_day,
        previous_elo_per_day: before?.velocity?.elo_per_day ?? 0,
        trend: after.velocity.trend,
      });
  };

  const reconcile = (context: Context, configKey: string): void => {
    const { rows, now } = context;
    const config = rows.get(configs, configKey);
    if (config === undefined) return;
    const before = rows.get(goals, configKey);
    const judged = judgeGoal(config.plan, strengthOf(configKey));
    // A speed that is hardly another one is not written down: it would be told of bit by bit, and never.
    const velocity = isOtherVelocity(before?.velocity ?? null, judged.velocity)
      ? judged.velocity
      : (before?.velocity ?? judged.velocity);
    const goal: Goal = { ...judged, velocity, waits: [] };
    const waits = waitsSince(before?.waits ?? [], now, fill(context, config, goal));
    tellGoal(context, config, before, goal);
    putChanged(rows, goals, configKey, { ...goal, waits });
  };

  const reconcileAll = (context: Context): void => {
    for (const [key] of context.rows.list(configs)) reconcile(context, key);
  };

  return defineDaemon({
    name: "queue_populator",
    layer: 4,
    placement: "leader",
    alsoKnownAs: ["QUEUE_POPULATOR", "UnifiedQueuePopulator", "QueuePopulator"],
    pattern: "WIRE",
    dependsOn: ["work_queue_monitor"],
    emits: ["WORK_QUEUED", "SELFPLAY_TARGET_UPDATED", "ELO_VELOCITY_CHANGED"],
    state: { tables: { selfplayOrders, goals } },
    on: {
      ...onEach(
        ["SELFPLAY_COMPLETE", "SELFPLAY_ALLOCATION_UPDATED", "ELO_UPDATED", "ELO_SIGNIFICANT_CHANGE"],
        ({ payload: { config_key } }, context: Context) => reconcile(context, config_key),
      ),
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "selfplay") reconcile(context, payload.config_key);
      },
      WORK_FAILED: ({ payload: { work_type, config_key } }, context: Context) => {
        if (work_type === "selfplay" && config_key !== undefined) reconcile(context, config_key);
      },
      ...onEach(["BACKPRESSURE_ACTIVATED", "BACKPRESSURE_RELEASED"], ({ payload }, context: Context) => {
        if (payload.scope === "work_queue") reconcileAll(context);
      }),
    },
    loop: { everyMs: settings.everyMs, tick: reconcileAll },
    health: ({ rows }) => {
      const all = rows.list(goals);
      const stuck = all.flatMap(([key, { waits }]) =>
        waits
          .filter((wait) => wait.for === "queue" || wait.for === "failed_jobs")
          .map((wait) => `${key}: ${wait.actual}`),
      );
      const details = { goals_met: all.filter(([, { met }]) => met !== null).length, configs: all.length };
      return stuck.length === 0
        ? { status: "running", message: "", details }
        : { status: "degraded", message: stuck[0]!, details };
    },
  });
};
