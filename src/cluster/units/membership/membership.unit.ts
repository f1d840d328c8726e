import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defined } from "../../../kernel/index.ts";
import { CLUSTER_ID, membershipLimits } from "../../limits.ts";
import { changeNode, isGuest, type NodeCapabilities, type NodeRow } from "../../nodes/node-rows.ts";
import type { NodeEdge } from "../../nodes/presence.ts";
import type { ClusterServices } from "../../services.ts";

const wiring = {
  name: "membership",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["P2P_BACKEND"],
  alsoKnownAs: ["MembershipService"],
  dependsOn: ["event_router"],
  emits: ["HOST_ONLINE", "HOST_OFFLINE", "NODE_SUSPECT", "P2P_NODE_DEAD", "P2P_NODES_DEAD", "ERROR"],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring>;
type NodeId = PayloadFor<"HOST_ONLINE">["node_id"];

const onlineOf = (row: NodeRow): PayloadFor<"HOST_ONLINE"> => {
  const { gpu = 0, gpu_memory_gb = 0, kinds } = JSON.parse(row.capabilities) as Partial<NodeCapabilities>;
  return {
    node_id: row.node_id as NodeId,
    gpus: Math.floor(gpu),
    ...(gpu > 0 ? { gpu_memory_gb } : {}),
    ...defined({ address: row.address ?? undefined }),
    ...(kinds === undefined ? {} : { capabilities: [...kinds] }),
    ...(row.version === "" ? {} : { software_version: row.version }),
  };
};

/**
 * Knows who belongs to the cluster and who is there: it looks at the signs of life, writes each change of a node's state
 * down and tells it in the same commit, once. Silence counts only while this process listens: after a start nobody is
 * called dead before the time of grace is over, and time that the coordinator itself slept is nobody's silence.
 */
export const membershipDaemon = (
  { nodes, refusals, reach }: Pick<ClusterServices, "nodes" | "refusals" | "reach">,
  limits = membershipLimits,
) => {
  const emitEdge = ({ row, to, silentMs }: NodeEdge, silent_nodes: number, { emit, now, log }: Context) => {
    const node_id = row.node_id as NodeId;
    const silent_seconds = silentMs / 1_000;
    const last_seen_at = (now - silentMs) / 1_000;
    log.info(`${row.label} is ${to}; it was ${row.state}`, { node_id, from: row.state, to, silent_seconds });
    if (to === "online") emit.HOST_ONLINE(onlineOf(row));
    else if (to === "suspect") emit.NODE_SUSPECT({ node_id, last_seen_at, silent_seconds, silent_nodes });
    else if (to === "dead") {
      const others = reach.isLost(row.node_id) ? ", and other nodes do not reach it" : "";
      const reason = `no sign of life for ${Math.round(silent_seconds)} s${others}`;
      emit.P2P_NODE_DEAD({ node_id, last_seen_at, silent_seconds, reason });
      emit.HOST_OFFLINE({ node_id, reason, last_seen_at });
    } else if (to === "left")
      emit.HOST_OFFLINE({ node_id, reason: `it left: ${row.left_reason ?? "no reason given"}` });
  };

  const look = (context: Context) => {
    const { rows, now, emit, afterCommit } = context;
    const edges = nodes.edges((nodeId) => reach.isLost(nodeId));
    const late = (nodes.counts().suspect ?? 0) + edges.filter(({ to }) => to === "suspect").length;
    for (const edge of edges) {
      // Workers with a token come and go as they like: there is nothing to tell.
      if (!isGuest(edge.row)) emitEdge(edge, late, context);
      const changes = { state: edge.to, state_since: now };
      rows.apply(changeNode({ nodeId: edge.row.node_id, changes }));
      afterCommit(() => nodes.settled(edge.row.node_id, changes));
    }
    const died = edges.filter(({ to }) => to === "dead").map(({ row }) => row.node_id);
    if (died.length === 0) return;
    const since = now - limits.togetherMs;
    const before = nodes.list().filter(({ state, state_since }) => state === "dead" && state_since >= since);
    const node_ids = [...new Set([...before.map(({ node_id }) => node_id), ...died])] as NodeId[];
    if (node_ids.length > 1)
      emit.P2P_NODES_DEAD({ cluster_id: CLUSTER_ID, node_ids, reason: "they fell silent at about the same time" });
  };

  /** One that is forgotten while it is there is there no more; its row goes with `node_recovery`. */
  const partFrom = ({ rows, emit, now, afterCommit }: Context) => {
    for (const { row, reason } of nodes.gone()) {
      if (row.state !== "online" && row.state !== "suspect") continue;
      const changes = { state: "left", state_since: now, left_reason: reason } as const;
      emit.HOST_OFFLINE({ node_id: row.node_id as NodeId, reason });
      rows.apply(changeNode({ nodeId: row.node_id, changes }));
      afterCommit(() => nodes.settled(row.node_id, changes));
    }
  };

  return defineDaemon({
    ...wiring,
    on: {
      // It beats, and nobody may count on it: for whoever gives it work or data that is as good as gone.
      NODE_UNHEALTHY({ payload: { node_id, node_state, reason } }, { emit }) {
        const state = nodes.row(node_id)?.state;
        if (node_state === "evicted" && (state === "online" || state === "suspect"))
          emit.HOST_OFFLINE({ node_id, reason: `it was evicted: ${reason}` });
      },
      // The machine is gone for good, and its key with it.
      async NODE_TERMINATED({ payload: { node_id } }) {
        if (nodes.row(node_id) !== undefined) await nodes.forget(node_id);
      },
    },
    loop: {
      everyMs: limits.everyMs,
      async tick(context) {
        const { emit } = context;
        look(context);
        partFrom(context);
        for (const { code, count, sources } of refusals.news())
          emit.ERROR({
            component: "node_gate",
            error: `requests are refused again and again (${code}, ${count} so far), from ${sources.join(", ")}`,
            error_code: code,
            severity: "warning",
          });
        await nodes.saveSeen();
      },
    },
    health: () => ({ status: "running", message: "", details: { nodes: nodes.size, ...nodes.counts() } }),
  });
};
