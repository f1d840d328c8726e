import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import { defineTable } from "../../../router/index.ts";
import {
  nextPressure,
  type Pressure,
  pressurePayload,
  pressurePolicyOf,
  QUEUE_LEVELS,
  type QueueLevel,
  queueLevelOf,
  type ResourceLevel,
  rateMultiplierOf,
  resourceLevelOf,
  worstLevel,
} from "../../backpressure.ts";
import { queueMonitorLimits } from "../../limits.ts";
import type { WorkServices } from "../../services.ts";

const wiring = {
  name: "work_queue_monitor",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["WORK_QUEUE_MONITOR", "QUEUE_MONITOR"],
  alsoKnownAs: ["BackpressureMonitor"],
  dependsOn: ["event_router"],
  emits: ["BACKPRESSURE_ACTIVATED", "BACKPRESSURE_RELEASED", "HEALTH_ALERT"],
} as const satisfies Wiring;

/** The scope of the queue itself. */
export const QUEUE_SCOPE = "work_queue";

/** The level of each scope: the queue, and nodes that are short of something. */
export const pressures = defineTable<{ level: QueueLevel; since: number }>("work_pressures");
/** What nodes are short of, by node. */
const shortages = defineTable<{ [resource: string]: { level: QueueLevel; at: number } }>("work_shortages");

/** Kinds of jobs that operators were told nobody takes, with the reason. */
const untaken = defineTable<{ reason: string }>("work_untaken");

type Context = ContextOf<typeof wiring>;
const untakenComponent = (kind: string) => `the queue of ${kind} jobs`;
const CALM: Pressure = { level: "none", since: 0 };

/** Both scales meet here: a word of the queues' own is taken as it is. */
const onQueueScale = (level: string): QueueLevel =>
  (QUEUE_LEVELS as readonly string[]).includes(level) ? (level as QueueLevel) : queueLevelOf(level as ResourceLevel);

/**
 * Measures how much waits and for how long, and is the only voice that raises or lifts pressure: of the queue, and of nodes
 * that are short of something. It looks at the queue itself instead of counting its events: nothing can be miscounted, and
 * thousands of jobs a second cost it nothing.
 */
export const workQueueMonitor = (
  { queue, settings }: Pick<WorkServices, "queue" | "settings">,
  limits = queueMonitorLimits,
) => {
  const policy = pressurePolicyOf(settings.pressure);

  const watchQueue = ({ rows, emit, now, log }: Context) => {
    const { pending, waitedSeconds } = queue.load();
    const measured = { depth: pending, delaySeconds: waitedSeconds };
    const before = rows.get(pressures, QUEUE_SCOPE) ?? CALM;
    const isLeftOver = now - before.since * 1_000 > queue.listenedMs;
    const after = nextPressure(now / 1_000, before, measured, policy, isLeftOver);
    if (after.level === before.level) return;
    rows.put(pressures, QUEUE_SCOPE, { ...after });
    const up = QUEUE_LEVELS.indexOf(after.level) > QUEUE_LEVELS.indexOf(before.level);
    const payload = pressurePayload(QUEUE_SCOPE, before, after, measured);
    log.info(`pressure on the queue is ${after.level}; it was ${before.level}`, { ...measured });
    if (up) emit.BACKPRESSURE_ACTIVATED(payload);
    else emit.BACKPRESSURE_RELEASED(payload);
  };

  /** What no worker may take would wait for ever: people are told, and told when it is over. */
  const watchUntaken = ({ rows, emit }: Context) => {
    if (!queue.workers.settled) return;
    const kinds = Map.groupBy(
      queue.untaken().filter(({ waitedMs }) => waitedMs >= limits.untakenMs),
      ({ work_type }) => work_type,
    );
    for (const [kind, [first]] of kinds) {
      const { work_id, reason } = first!;
      if (rows.get(untaken, kind) !== undefined) continue;
      rows.put(untaken, kind, { reason });
      const message = `job ${work_id} waits, and no connected worker may take it (${reason}). See 'ringrift why ${work_id}'.`;
      emit.HEALTH_ALERT({ component: untakenComponent(kind), severity: "error", message });
    }
    for (const [kind] of rows.list(untaken)) {
      if (kinds.has(kind)) continue;
      rows.delete(untaken, kind);
      emit.HEALTH_ALERT({
        component: untakenComponent(kind),
        severity: "info",
        message: "somebody takes its jobs again",
      });
    }
  };

  /** A node's level is that of the resource it is shortest of. */
  const watchNode = (node_id: string, { rows, emit, now }: Context) => {
    const known = Object.entries(rows.get(shortages, node_id) ?? {});
    const live = known.filter(([, { level, at }]) => level !== "none" && now - at < limits.shortageMs);
    if (live.length === 0) rows.delete(shortages, node_id);
    else if (live.length < known.length) rows.put(shortages, node_id, Object.fromEntries(live));
    const before = rows.get(pressures, node_id) ?? CALM;
    const level = worstLevel(live.map(([, shortage]) => shortage.level));
    if (level === before.level) return;
    const after: Pressure = { level, since: now / 1_000 };
    if (level === "none") rows.delete(pressures, node_id);
    else rows.put(pressures, node_id, { ...after });
    const payload = {
      scope: node_id,
      node_id,
      level,
      resource_level: resourceLevelOf(level),
      previous_level: before.level,
      reason: live.length === 0 ? "nothing is short any more" : `short of ${live.map(([name]) => name).join(", ")}`,
      rate_multiplier: rateMultiplierOf(level),
      queue_depth: 0,
      waited_seconds: 0,
    };
    if (QUEUE_LEVELS.indexOf(level) > QUEUE_LEVELS.indexOf(before.level)) emit.BACKPRESSURE_ACTIVATED(payload);
    else emit.BACKPRESSURE_RELEASED(payload);
  };

  const note = (node_id: string, resource: string, level: string, context: Context) => {
    const known = context.rows.get(shortages, node_id) ?? {};
    context.rows.put(shortages, node_id, { ...known, [resource]: { level: onQueueScale(level), at: context.now } });
    watchNode(node_id, context);
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { pressures, shortages, untaken } },
    on: {
      RESOURCE_CONSTRAINT: ({ payload }, context) => note(payload.node_id, payload.resource, payload.level, context),
      DISK_SPACE_LOW: ({ payload }, context) => note(payload.node_id, "disk", payload.level, context),
    },
    loop: {
      everyMs: limits.everyMs,
      tick(context) {
        watchQueue(context);
        watchUntaken(context);
        for (const [node] of context.rows.list(shortages)) watchNode(node, context);
      },
    },
    health: ({ rows }) => {
      const { level } = rows.get(pressures, QUEUE_SCOPE) ?? CALM;
      const load = queue.load();
      const details = { level, unfinished: queue.unfinished, ...load };
      return level === "stop"
        ? {
            status: "degraded",
            message: `${load.pending} jobs wait, the oldest for ${Math.round(load.waitedSeconds)} s`,
            details,
          }
        : { status: "running", message: "", details };
    },
  });
};
