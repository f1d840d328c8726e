import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defined } from "../../../kernel/index.ts";
import { since } from "../../health/verdict.ts";
import { nodeHealthLimits } from "../../limits.ts";
import { NODE_CONDITIONS, worse } from "../../node-health/conditions.ts";
import { type NodeHealthRow, nodeHealthTable, wellSince } from "../../node-health/health-book.ts";
import type { NodeView } from "../../nodes/node-view.ts";
import type { ClusterServices } from "../../services.ts";
import type { NodeFacts } from "./checks.ts";
import { cutOff, type HealthNews, nextHealth, recovered, saysMore, wasAlerted } from "./decide.ts";

const wiring = {
  name: "node_health",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["AVAILABILITY_NODE_MONITOR", "CLUSTER_WATCHDOG", "HEALTH_CHECK", "NODE_HEALTH_MONITOR"],
  alsoKnownAs: [
    "HealthCheckOrchestrator",
    "NodeHealthOrchestrator",
    "ClusterWatchdogDaemon",
    "NodeAvailabilityCache",
    "NodeCircuitBreaker",
  ],
  dependsOn: ["membership"],
  emits: ["HEALTH_CHECK_PASSED", "HEALTH_CHECK_FAILED", "NODE_UNHEALTHY", "HEALTH_ALERT"],
} as const satisfies Wiring;

interface Cache {
  /** When the results of a node were last compared, and its newest job then. */
  readonly compared: Map<string, { readonly at: number; readonly newest: number }>;
}
type Context = ContextOf<typeof wiring, Cache>;
type NodeId = PayloadFor<"NODE_UNHEALTHY">["node_id"];

/**
 * Judges every node by what it does: its beats, starts, jobs, results, speed, disk, clock and version. It owns the one answer to how a
 * node does; `availability.ts` makes of it who gets work, data and models. It tells each change once, with the evidence, and acts on
 * nobody: that is `node_recovery`.
 */
export const nodeHealthDaemon = (
  {
    nodeId: localNodeId,
    nodes,
    health,
    signs,
    settings,
    reach,
  }: Pick<ClusterServices, "nodeId" | "nodes" | "health" | "signs" | "settings" | "reach">,
  limits = nodeHealthLimits,
) => {
  const compareEveryMs = limits.compareEveryChecks * settings.nodes.healthEveryMs;
  const rowOf = (nodeId: string, now: number): NodeHealthRow => health.get(nodeId) ?? wellSince(now);

  /** Results are compared now and then, where there are new ones: it goes through a day's jobs. */
  const compare = async (nodeId: string, context: Context): Promise<number | null | undefined> => {
    const { cache, now, signal } = context;
    const newest = signs.of(nodeId).outcomes.findLast(({ ok }) => ok)?.at;
    const before = cache.compared.get(nodeId);
    if (newest === undefined || newest === before?.newest) return undefined;
    if (before !== undefined && now - before.at < compareEveryMs) return undefined;
    cache.compared.set(nodeId, { at: now, newest });
    const { checks, recoveredAt, starts } = rowOf(nodeId, now);
    const countedSince = Math.max(
      now - limits.resultsMs,
      checks.results?.countsFrom ?? 0,
      recoveredAt ?? 0,
      starts.at(-1) ?? 0,
    );
    return signs.resultsResidual(nodeId, countedSince, signal);
  };

  const isMassSilence = (): boolean => {
    const { online = 0, suspect = 0, dead = 0 } = nodes.counts();
    return dead >= limits.massNodes && suspect + dead > limits.massShare * (online + suspect + dead);
  };

  const factsOf = (node: NodeView, residual: NodeFacts["residual"], now: number) => ({
    now,
    presence: node.state,
    isLocal: node.local,
    isGuest: node.with_token,
    seenAt: node.last_seen_at,
    reach: reach.of(node.node_id),
    version: node.version,
    isDeprecated: node.deprecated,
    clockAheadMs: node.clock_ahead_seconds === null ? null : node.clock_ahead_seconds * 1_000,
    incarnation: node.incarnation,
    isOneOfMany: node.state === "dead" && isMassSilence(),
    work: signs.of(node.node_id),
    room: node.disk,
    isFault: ({ sort }: { readonly sort: string }) => signs.othersDo(sort, node.node_id),
    residual,
  });

  const alert = (node_id: NodeId, severity: "error" | "info", what: string, { emit, now }: Context) =>
    emit.HEALTH_ALERT({ component: `node ${node_id}`, severity, message: `${what} ${since(now)}`, node_id });

  const tell = (node: NodeView, row: NodeHealthRow, news: HealthNews, context: Context) => {
    const { emit, log } = context;
    const node_id = node.node_id as NodeId;
    for (const check_type of news.passed) emit.HEALTH_CHECK_PASSED({ node_id, check_type });
    for (const { check: check_type, state } of news.failed)
      emit.HEALTH_CHECK_FAILED({
        node_id,
        check_type,
        reason: `${state.what}: ${state.actual}; required: ${state.required}`,
        consecutive_failures: state.failures,
        ...defined({ last_success_at: state.lastPassAt === null ? undefined : state.lastPassAt / 1_000 }),
      });
    if (news.alert === "ill") alert(node_id, "error", `it is ${row.condition}: ${row.reason}`, context);
    if (news.alert === "well") alert(node_id, "info", "it does its work again", context);
    if (news.alert === "left") alert(node_id, "info", "it has left; it is looked at again when it comes back", context);
    if (news.condition === null) return;
    const { from, to } = news.condition;
    const isWorse = worse(from, to) === to;
    log[isWorse ? "warn" : "info"](`${node.label} is ${to}; it was ${from}`, { node_id, reason: row.reason });
    const state = row.check === null ? undefined : row.checks[row.check];
    if (isWorse && to !== "healthy")
      emit.NODE_UNHEALTHY({
        node_id,
        node_state: to,
        reason: row.reason ?? to,
        consecutive_failures: Math.max(1, state?.failures ?? 1),
        ...defined({ last_success_at: state?.lastPassAt == null ? undefined : state.lastPassAt / 1_000 }),
      });
  };

  const put = (
    nodeId: string,
    before: NodeHealthRow | undefined,
    row: NodeHealthRow,
    { rows, afterCommit }: Context,
  ) => {
    if (before === undefined || saysMore(before, row)) rows.put(nodeHealthTable, nodeId, row);
    afterCommit(() => health.settled(nodeId, row));
  };

  const judge = (node: NodeView, residual: NodeFacts["residual"], context: Context): void => {
    const { now, rows } = context;
    // Read as a row too: of two looks at once, the second begins anew when the first is on disk, and nothing is told twice.
    const stored = rows.get(nodeHealthTable, node.node_id);
    const book = health.get(node.node_id);
    const known = stored !== undefined && stored.condition !== book?.condition ? stored : book;
    const { row, news } = nextHealth(known ?? wellSince(now), factsOf(node, residual, now));
    // Of one that does well and always did there is nothing to write down.
    if (known === undefined && row.condition === "healthy" && row.incarnation === 0 && news.failed.length === 0) return;
    put(node.node_id, known, row, context);
    tell(node, row, news, context);
  };

  const judgeOne = (nodeId: string, context: Context): void => {
    const row = nodes.row(nodeId);
    if (row !== undefined) judge(nodes.view(row), undefined, context);
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { nodeHealthTable }, cache: (): Cache => ({ compared: new Map() }) },
    on: {
      ...onEach(
        [
          "HOST_ONLINE",
          "HOST_OFFLINE",
          "NODE_SUSPECT",
          "P2P_NODE_DEAD",
          "P2P_HEALTH_RECOVERED",
          "P2P_RESTART_TRIGGERED",
        ],
        ({ payload: { node_id } }, context: Context) => judgeOne(node_id, context),
      ),
      NETWORK_ISOLATION_DETECTED({ payload: { node_id }, timestamp }, context) {
        if (nodes.row(node_id) === undefined) return;
        const known = health.get(node_id);
        put(node_id, known, cutOff(known ?? wellSince(context.now), timestamp * 1_000), context);
      },
      NODE_RECOVERED({ payload: { node_id } }, context) {
        const known = health.get(node_id);
        if (known !== undefined && nodes.row(node_id) !== undefined)
          put(node_id, known, recovered(known, context.now), context);
      },
    },
    loop: {
      everyMs: settings.nodes.healthEveryMs,
      async tick(context) {
        const { rows, cache, signal, afterCommit } = context;
        const all = nodes.list();
        const there = new Set(all.map(({ node_id }) => node_id));
        let compared = 0;
        for (const node of all) {
          if (signal.aborted) return;
          const residual = compared < limits.comparedAtOnce ? await compare(node.node_id, context) : undefined;
          if (residual !== undefined) compared += 1;
          judge(node, residual, context);
        }
        for (const [nodeId, row] of health.entries()) {
          if (there.has(nodeId)) continue;
          if (wasAlerted(row)) alert(nodeId as NodeId, "info", "it is no longer one of the nodes", context);
          rows.delete(nodeHealthTable, nodeId);
          cache.compared.delete(nodeId);
          afterCommit(() => health.settled(nodeId, undefined));
        }
      },
    },
    health: () => {
      const counts = Object.fromEntries(NODE_CONDITIONS.map((condition) => [condition, 0]));
      for (const {
        health: { condition },
      } of nodes.list())
        counts[condition]! += 1;
      // That a node is ill is not this unit's illness.
      return { status: "running", message: "", details: { ...counts, here: health.view(localNodeId).condition } };
    },
    timeoutMs: 60_000,
  });
};
