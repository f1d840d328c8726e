import type { Wiring } from "../../../../daemons/index.ts";
import { budgetOf, ratedChampions } from "../../../models/index.ts";
import {
  awaitsSearch,
  type ConfigLook,
  defineConfigUnit,
  drawnInputs,
  everyMs,
  followStageJobs,
  gamesWith,
  type Iteration,
  isFor,
  isTurnOf,
  JOB_ENDS,
  type PartJob,
  PLAY_KNOBS,
  pausedWait,
  putJobs,
  refusedWait,
  type StageServices,
  searchOrders,
  seedFor,
  selfplayWork,
  strandedParts,
  takeBackStranded,
  tunedIn,
  tunings,
  undertakingOf,
  type Waiting,
  waitsSince,
  withKnobs,
} from "../../../stage/index.ts";
import { cutIntoJobs } from "../../cut-into-jobs.ts";
import { costOf, excluding, idleRoom, keptSegments, openJobsAllowed, queuePressure } from "../../orders.ts";
import {
  allocations,
  type Goal,
  goals,
  rejections,
  rejectionsOf,
  type SelfplayOrder,
  selfplayOrders,
  suspects,
  suspectsIn,
} from "../../tables.ts";
import { isOtherVelocity, judgeGoal } from "./decide.ts";
import { emitGoal } from "./goal-events.ts";
import { withChampionOfNow } from "./old-champion.ts";

const wiring = {
  name: "queue_populator",
  layer: 4,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "queue",
  daemonTypes: ["QUEUE_POPULATOR"],
  alsoKnownAs: ["UnifiedQueuePopulator", "QueuePopulator"],
  pattern: "WIRE",
  dependsOn: ["work_queue_monitor"],
  emits: ["WORK_QUEUED", "SELFPLAY_TARGET_UPDATED", "ELO_VELOCITY_CHANGED"],
} as const satisfies Wiring;

/**
 * Puts the self-play of an iteration into the queue, part by part, as fast as pressure and the config's share allow, until
 * the goal of the config is met. What it put out stands in its order; `selfplay_orchestrator` follows it.
 */
export const queuePopulator = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { selfplayOrders, goals } },
    wakes: [
      "SELFPLAY_COMPLETE",
      "SELFPLAY_ALLOCATION_UPDATED",
      "ELO_UPDATED",
      "ELO_SIGNIFICANT_CHANGE",
      // Games that waited for a search begin with what it has found.
      "HYPERPARAMETER_UPDATED",
      "ADAPTIVE_PARAMS_CHANGED",
      "PIPELINE_STAGE_ENTERED",
      ...JOB_ENDS,
      "CLUSTER_CAPACITY_CHANGED",
      "BACKPRESSURE_ACTIVATED",
      "BACKPRESSURE_RELEASED",
    ],
    jobs: "selfplay",
    everyMs: everyMs(services),
    look: (look) => {
      const { configKey, plan, now } = look;
      const before = look.row(goals);
      const rated = ratedChampions(services.store, configKey, budgetOf(plan.evaluation));
      const games_per_iteration = gamesWith(plan.games_per_iteration, look.at?.knobs);
      const judged = judgeGoal({ ...plan, games_per_iteration }, rated);
      // A speed that is hardly another one is not written down: it would be told of bit by bit, and never.
      const velocity = isOtherVelocity(before?.velocity ?? null, judged.velocity)
        ? judged.velocity
        : (before?.velocity ?? judged.velocity);
      const goal: Goal = { ...judged, velocity, waits: [] };
      const waits = waitsSince(before?.waits ?? [], now, fill(services, look, goal));
      emitGoal(look, before, goal);
      look.put(goals, { ...goal, waits });
    },
    health: ({ rows }) => {
      const all = rows.list(goals);
      const [stuck] = all.flatMap(([key, { waits }]) =>
        waits
          .filter((wait) => wait.for === "queue" || wait.for === "failed_jobs")
          .map((wait) => `${key}: ${wait.actual}`),
      );
      const details = { goals_met: all.filter(([, { met }]) => met !== null).length, configs: all.length };
      return { status: stuck === undefined ? "running" : "degraded", message: stuck ?? "", details };
    },
  });

type Look = ConfigLook<"WORK_QUEUED">;

/** Puts out what is lacking and allowed; gives back what keeps the rest. */
function fill(services: StageServices, look: Look, goal: Goal): Waiting[] {
  const { rows, row, at, paused } = look;
  if (!isTurnOf("selfplay", at)) return [];
  const work = row(selfplayWork);
  if (isFor(work, at) && work.state !== "running") return [];
  if (paused !== null) return [pausedWait(paused)];
  const { champion } = at;
  if (champion === null) return [{ for: "champion", actual: null, required: "a model that plays" }];
  const known = row(selfplayOrders);
  // What was begun is brought to its end; a goal that is met ends the next one.
  if (!isFor(known, at) && goal.target_games === 0)
    return [{ for: "goal", actual: goal.reason, required: "a goal that is not met yet" }];
  const search = row(searchOrders);
  // What an iteration is played with is fixed when it begins: a search that was begun before it comes first.
  if (known?.iteration !== at.iteration && awaitsSearch(search, at.iteration, look.now))
    return [{ for: "search", actual: `${search.run_id} is under way`, required: "ended" }];
  const asked = isFor(known, at) ? known : orderFor(services, look, { ...at, champion });
  const { order, replaced, relaxed } = withChampionOfNow(services, look, asked);

  const { open, failed } = followStageJobs(services.queue, look, order.jobs);
  const stranded = new Set([
    ...strandedParts(services.queue, order.jobs, services.workersFor("selfplay")),
    ...replaced,
  ]);
  const lacking = order.wanted.filter((part) => order.jobs[part] === undefined || stranded.has(part));
  const level = queuePressure(rows);
  const { share = 1, rate = 1 } = row(allocations) ?? {};
  // Where nodes are idle and nothing presses, as many may wait as those could take at once.
  const isHeld = (state: string | undefined) => state === "claimed" || state === "running";
  const held = open.filter((part) => isHeld(services.queue.show(order.jobs[part]!)?.state)).length;
  const roomLeft = level === "none" ? held + Math.floor(share * rate * idleRoom(rows, look.now)) : 0;
  const allowed = Math.max(openJobsAllowed(level, share * rate, services.settings.maxSelfplayJobs), roomLeft);
  const now = failed.length > 0 ? [] : lacking.slice(0, Math.max(0, allowed - (open.length - stranded.size)));
  const put = putJobs(services.queue, look, {
    batch: undertakingOf(look.configKey, order, "selfplay"),
    by: wiring.name,
    parts: Object.fromEntries(now.map((part) => [part, jobFor(services, look, order, part)])),
  });
  if ("refused" in put) return [refusedWait(put.refused)];
  for (const part of now)
    if (stranded.has(part)) {
      const reason = replaced.includes(part) ? "its model is champion no more, for longer than it may be" : undefined;
      takeBackStranded(services, look, order.jobs[part]!, wiring.name, reason);
    }
  look.put(selfplayOrders, { ...order, jobs: { ...order.jobs, ...put.jobs } });

  const left = lacking.length - now.length;
  if (left === 0) return relaxed;
  if (failed.length > 0)
    return [{ for: "failed_jobs", actual: `${failed[0]!.part}: ${failed[0]!.reason}`, required: "a new attempt" }];
  const actual = `${open.length + now.length} jobs under way, ${left} wait; pressure ${level}`;
  return [{ for: "room_in_queue", actual, required: `fewer than ${allowed} under way` }];
}

/** What this attempt has to bring. Jobs of an earlier attempt that still run, or are done and not rejected, count. */
function orderFor(
  { queue }: StageServices,
  { row, now, plan }: Look,
  { iteration, attempt, champion, knobs }: Iteration & { readonly champion: string },
): SelfplayOrder {
  const last = row(selfplayOrders);
  const prior = last?.iteration === iteration ? last : undefined;
  const rejected = rejectionsOf(row(rejections), iteration);
  const kept = keptSegments(row(selfplayWork), rejected, iteration);
  const parts = prior?.parts ?? cutIntoJobs(gamesWith(plan.games_per_iteration, knobs), plan.games_per_job);
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
    parameters:
      prior?.parameters ?? withKnobs({ ...plan.selfplay, ...tunedIn(row(tunings), iteration) }, knobs, ...PLAY_KNOBS),
    inputs: prior?.inputs ?? drawnInputs(knobs),
    wanted,
    whole: stillGood.length === 0,
    jobs: Object.fromEntries(stillGood),
  };
}

function jobFor(services: StageServices, { row, configKey }: Look, order: SelfplayOrder, part: string): PartJob {
  const { first_game, games } = order.parts.find((one) => one.part === part)!;
  const stranded = order.jobs[part];
  const rejectedBy = rejectionsOf(row(rejections), order.iteration)
    .filter((entry) => entry.part === part && entry.reason !== "corrupt")
    .map(({ producer }) => producer);
  const away = suspectsIn(row(suspects), order.iteration);
  const model = order.played_by?.[part] ?? order.model;
  const unfit = services.spread.unfit(configKey, model);
  const { share = 1, configs = 1, urgency = "normal" } = row(allocations) ?? {};
  return {
    work_type: "selfplay",
    urgency,
    cost: costOf(share, configs),
    payload: {
      parameters: { ...order.parameters, games, first_game },
      seed: order.seed,
      inputs: [{ name: "model", sha256: model }, ...(order.inputs ?? [])],
    },
    // Numbered as a batch that somebody else hands out would be: a second addition is the same job.
    dedup_key: `${undertakingOf(configKey, order, "selfplay")}/${order.wanted.indexOf(part)}${stranded === undefined ? "" : `:after:${stranded}`}`,
    excluded_nodes: excluding(
      services.workersFor("selfplay"),
      [...away, ...rejectedBy, ...unfit],
      [...rejectedBy, ...unfit],
      [...away, ...rejectedBy],
      rejectedBy,
    ),
  };
}
