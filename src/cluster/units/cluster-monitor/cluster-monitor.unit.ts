import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defined } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { CLUSTER_ID, capacityLimits, MANY_NODES } from "../../limits.ts";
import type { ClusterServices } from "../../services.ts";
import {
  type ClusterStatus,
  countNodes,
  isWell,
  type NodeOffer,
  stalledMs,
  statusOf,
  type Whole,
  wholeOf,
} from "./decide.ts";

const wiring = {
  name: "cluster_monitor",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["CLUSTER_MONITOR"],
  alsoKnownAs: ["ClusterMonitor", "P2POrchestrator (cluster verdict)", "ClusterWatchdog (stalls)"],
  dependsOn: ["membership"],
  emits: [
    "CLUSTER_STATUS_CHANGED",
    "CLUSTER_CAPACITY_CHANGED",
    "CLUSTER_STALL_DETECTED",
    "P2P_CLUSTER_HEALTHY",
    "P2P_CLUSTER_UNHEALTHY",
  ],
} as const satisfies Wiring;

/** What was told of the cluster last. */
type Verdict = {
  readonly status: ClusterStatus;
  readonly since: number;
  readonly stalled: boolean;
  /** That many are silent, or gone together, was told, and who is gone; undefined while nothing of it was, or since it is over. */
  readonly lost?: readonly string[];
};
type Capacity = { readonly healthy_nodes: number; readonly total_nodes: number; readonly total_gpus: number };
const verdicts = defineTable<Verdict>("cluster_verdict");
const capacities = defineTable<Capacity>("cluster_capacity");
/** By node. */
const offers = defineTable<NodeOffer>("cluster_offers");
const WHOLE = "cluster";

interface Cache {
  /** What would be told if it lasts, by what it is about, and since when it is so. */
  readonly pending: Map<string, { readonly key: string; readonly since: number }>;
  startedAt: number;
  /** When the nodes were last looked at: a pause in between says that the machine slept. */
  lookedAt: number;
}
type Context = ContextOf<typeof wiring, Cache>;
type NodeIds = PayloadFor<"CLUSTER_STALL_DETECTED">["node_ids"];

const keyOf = ({ healthy_nodes, total_nodes, total_gpus }: Whole | Capacity): string =>
  `${healthy_nodes}/${total_nodes}/${total_gpus}`;

/**
 * Sums the nodes into one verdict, and tells it when it changes and lasts: a node that comes and goes makes no noise. When nothing
 * useful was done anywhere for long although there is work, it says so, with the cause that `why` names. It stops nobody.
 */
export const clusterMonitorDaemon = (
  {
    nodes,
    availability,
    clusterWork,
    settings,
  }: Pick<ClusterServices, "nodes" | "availability" | "clusterWork"> & {
    readonly settings: { readonly nodes: Pick<ClusterServices["settings"]["nodes"], "stallMs"> };
  },
  limits = capacityLimits,
) => {
  /** Whether something has been so for long enough to be told. */
  const lasts = (about: string, key: string, isNews: boolean, { cache, now, afterCommit }: Context): boolean => {
    const known = cache.pending.get(about);
    const since = known?.key === key ? known.since : now;
    const isDue = isNews && now - since >= limits.settleMs;
    afterCommit(() => {
      if (isNews && !isDue) cache.pending.set(about, { key, since });
      else cache.pending.delete(about);
    });
    return isDue;
  };

  const judgeCapacity = (context: Context) => {
    const { rows, emit, log } = context;
    const whole = wholeOf(nodes.list(), new Set(availability.working()), (nodeId) => rows.get(offers, nodeId));
    const before = rows.get(capacities, WHOLE);
    if (!lasts("capacity", keyOf(whole), before === undefined || keyOf(before) !== keyOf(whole), context)) return;
    const { healthy_nodes, total_nodes, total_gpus } = whole;
    rows.put(capacities, WHOLE, { healthy_nodes, total_nodes, total_gpus });
    log.info(`${healthy_nodes} of ${total_nodes} nodes take work`, { ...whole });
    const reason = before && `it was ${before.healthy_nodes} nodes, ${before.total_gpus} GPUs`;
    emit.CLUSTER_CAPACITY_CHANGED({ cluster_id: CLUSTER_ID, ...whole, ...defined({ reason }) });
  };

  const judgeStatus = (before: Verdict, context: Context): Verdict => {
    const { emit, now, log } = context;
    const count = countNodes(nodes.list());
    const status = statusOf(count);
    if (!lasts("status", status, status !== before.status, context)) return before;
    const { healthy: healthy_nodes, total: total_nodes, unready } = count;
    const about = { cluster_id: CLUSTER_ID, healthy_nodes, total_nodes };
    const reason =
      unready.length === 0
        ? "all nodes are ready"
        : `not ready: ${unready
            .slice(0, 20)
            .map((id) => nodes.nameOf(id))
            .join(", ")}`;
    log[isWell(status) ? "info" : "error"](`the cluster is ${status}; it was ${before.status}`, { ...about, reason });
    emit.CLUSTER_STATUS_CHANGED({ ...about, cluster_status: status, previous_cluster_status: before.status, reason });
    if (!isWell(status) && isWell(before.status))
      emit.P2P_CLUSTER_UNHEALTHY({
        ...about,
        reason,
        node_ids: unready as NodeIds,
        quorum: healthy_nodes * 2 > total_nodes,
      });
    if (isWell(status) && !isWell(before.status)) emit.P2P_CLUSTER_HEALTHY({ ...about, quorum: true });
    return { ...before, status, since: now };
  };

  const judgeStall = (before: Verdict, context: Context): Verdict => {
    const { emit, now, log, cache } = context;
    const facts = {
      unfinished: clusterWork.unfinished(),
      usefulAt: clusterWork.usefulAt(),
      since: cache.startedAt,
      now,
    };
    const ms = stalledMs(facts, settings.nodes.stallMs);
    const { healthy: healthy_nodes, total: total_nodes } = countNodes(nodes.list());
    if (ms > 0 && !before.stalled) {
      const reason = clusterWork.cause() ?? "nobody knows why";
      const stalled_seconds = ms / 1_000;
      log.error("nothing moves in the cluster", { stalled_seconds, reason, unfinished: facts.unfinished });
      emit.CLUSTER_STALL_DETECTED({
        cluster_id: CLUSTER_ID,
        stalled_seconds,
        total_nodes,
        node_ids: availability.working().slice(0, 100) as NodeIds,
        reason,
      });
    }
    // The end of a stall is no end of what ails the cluster besides: one event ends both.
    const isOver = ms === 0 && isWell(before.status);
    if (isOver && before.stalled) {
      log.info("work goes on in the cluster");
      emit.P2P_CLUSTER_HEALTHY({ cluster_id: CLUSTER_ID, healthy_nodes, total_nodes });
    }
    return { ...before, stalled: ms > 0 || (before.stalled && !isOver) };
  };

  /** Who was told to be gone with others is back, or at most one is not: that one has an alert of its own. */
  const judgeLost = ({ lost, ...before }: Verdict, { emit, log }: Context): Verdict => {
    if (lost === undefined) return before;
    const all = nodes.list();
    const areLate = all.some(({ state }) => state === "suspect");
    const gone = all.filter(({ node_id, state }) => state === "dead" && lost.includes(node_id));
    if (areLate || gone.length > 1 || !isWell(before.status)) return { ...before, lost };
    const { healthy: healthy_nodes, total: total_nodes } = countNodes(all);
    log.info("the nodes that fell silent together are back", { healthy_nodes, total_nodes });
    emit.P2P_CLUSTER_HEALTHY({ cluster_id: CLUSTER_ID, healthy_nodes, total_nodes });
    return before;
  };

  const verdictOf = ({ rows, now }: Context): Verdict =>
    rows.get(verdicts, WHOLE) ?? { status: "healthy", since: now, stalled: false };

  const judge = (context: Context): void => {
    const { rows } = context;
    judgeCapacity(context);
    const before = verdictOf(context);
    const next = judgeLost(judgeStall(judgeStatus(before, context), context), context);
    if (JSON.stringify(next) !== JSON.stringify(before)) rows.put(verdicts, WHOLE, next);
  };

  return defineDaemon({
    ...wiring,
    state: {
      tables: { verdicts, capacities, offers },
      cache: (): Cache => ({ pending: new Map(), startedAt: Number.POSITIVE_INFINITY, lookedAt: 0 }),
    },
    on: {
      NODE_CAPACITY_UPDATED({ payload: { node_id, slots, free_slots, gpus } }, context) {
        const { rows } = context;
        const known = rows.get(offers, node_id);
        const offer = { slots, free_slots, ...defined({ gpus }) };
        if (JSON.stringify(known) === JSON.stringify(offer)) return;
        rows.put(offers, node_id, offer);
        // Slots come and go with every job; an accelerator that is gone is another cluster.
        if (known?.gpus !== offer.gpus) judge(context);
      },
      HOST_ONLINE: (_event, context) => judge(context),
      // What is told of many together nobody ends node by node.
      NODE_SUSPECT({ payload: { silent_nodes = 1 } }, context) {
        const verdict = verdictOf(context);
        if (silent_nodes >= MANY_NODES && verdict.lost === undefined)
          context.rows.put(verdicts, WHOLE, { ...verdict, lost: [] });
      },
      P2P_NODES_DEAD({ payload: { node_ids } }, context) {
        const verdict = verdictOf(context);
        const lost = [...new Set([...(verdict.lost ?? []), ...node_ids])].slice(-limits.maxLost);
        context.rows.put(verdicts, WHOLE, { ...verdict, lost });
      },
      ...onEach(["HOST_OFFLINE", "NODE_RETIRED"], ({ payload: { node_id } }, context: Context) => {
        if (context.rows.get(offers, node_id) !== undefined) context.rows.delete(offers, node_id);
        judge(context);
      }),
    },
    loop: {
      everyMs: limits.everyMs,
      tick(context) {
        const { cache, now } = context;
        // Nothing stands still in the time in which the machine slept.
        if (now - cache.lookedAt > limits.breakMs || now < cache.lookedAt) cache.startedAt = now;
        cache.lookedAt = now;
        judge(context);
      },
    },
    health: ({ rows }) => {
      const verdict = rows.get(verdicts, WHOLE);
      // That the cluster is ill is not this unit's illness: it does its work by saying so.
      return {
        status: "running",
        message:
          verdict === undefined
            ? ""
            : `the cluster is ${verdict.status}${verdict.stalled ? ", and nothing moves" : ""}`,
        details: { ...(verdict ?? {}), ...(rows.get(capacities, WHOLE) ?? {}), offers: rows.list(offers).length },
      };
    },
  });
};
