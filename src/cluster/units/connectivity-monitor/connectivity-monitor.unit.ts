import { defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defineTable } from "../../../router/index.ts";
import { connectivityLimits } from "../../limits.ts";
import type { NodeLine } from "../../node-health/node-line.port.ts";
import { type LinkState, nextLink, soundLink } from "./decide.ts";

const wiring = {
  name: "connectivity_monitor",
  layer: 7,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  daemonTypes: ["CONNECTIVITY_RECOVERY", "P2P_RECOVERY", "TAILSCALE_HEALTH"],
  alsoKnownAs: ["P2PRecoveryDaemon"],
  dependsOn: ["event_router"],
  emits: ["P2P_RESTART_TRIGGERED", "P2P_HEALTH_RECOVERED", "NETWORK_ISOLATION_DETECTED"],
} as const satisfies Wiring;

type NodeId = PayloadFor<"P2P_HEALTH_RECOVERED">["node_id"];

/** The outage of this node, by node: it is over when it is told that it is. */
const outages = defineTable<LinkState>("node_outages");

/**
 * Watches the ways of its own node to the others, and begins its line to the coordinator anew when it does not answer. What it notices is
 * kept in the outbox of a node that is cut off, and told when the line is there again. On the coordinator it tells its own isolation apart
 * from that of others: one node that is silent is that node's trouble, most of them at once are ours.
 */
export const connectivityMonitorDaemon = (
  { nodeId, line }: { readonly nodeId: string; readonly line: NodeLine },
  limits = connectivityLimits,
) =>
  defineDaemon({
    ...wiring,
    state: { tables: { outages } },
    loop: {
      everyMs: limits.everyMs,
      tick({ rows, emit, now, log, afterCommit }) {
        const before = rows.get(outages, nodeId) ?? soundLink;
        const { peers, expected } = line.reach();
        const failures = line.failures();
        const { state, news } = nextLink(before, { peers, expected, failures }, now);
        const node_id = nodeId as NodeId;
        const silent_seconds = state.downSince === null ? 0 : (now - state.downSince) / 1_000;
        if (news.reopen) {
          const others = expected > 1 ? `; ${peers} of ${expected - 1} other nodes do` : "";
          const reason = `the coordinator does not answer${others}`;
          log.warn("the line to the coordinator is begun anew", { failures, silent_seconds });
          const consecutive_failures = failures ?? 0;
          emit.P2P_RESTART_TRIGGERED({
            node_id,
            reason,
            consecutive_failures,
            restarts: state.reopens,
            silent_seconds,
          });
          afterCommit(() => line.reopen());
        }
        if (news.isolated) {
          log.error("this node is cut off", { peers, expected });
          emit.NETWORK_ISOLATION_DETECTED({ node_id, peers, expected_peers: expected, silent_seconds });
        }
        if (news.downMs !== null) {
          log.info("the others are reached again", { peers, expected });
          emit.P2P_HEALTH_RECOVERED({ node_id, downtime_seconds: news.downMs / 1_000, peers });
        }
        if (JSON.stringify(state) === JSON.stringify(before)) return;
        if (state.downSince === null) rows.delete(outages, nodeId);
        else rows.put(outages, nodeId, state);
      },
    },
    health: ({ rows, now }) => {
      const { downSince = null } = rows.get(outages, nodeId) ?? {};
      return downSince === null
        ? { status: "running", message: "" }
        : {
            status: "degraded",
            message: `others have not been reached for ${Math.round((now - downSince) / 1_000)} s`,
          };
    },
  });
