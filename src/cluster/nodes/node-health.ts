import { OperatingError } from "../../kernel/index.ts";
import type { NodeHealthView } from "../node-health/health-book.ts";
import type { NodeView } from "./node-view.ts";
import type { NodeState } from "./states.ts";

/** How a node is, in the words of the Python system's `NodeHealthState`, as far as something here can tell them apart. */
export const NodeHealthState = Object.freeze({
  HEALTHY: "healthy",
  DEGRADED: "degraded",
  UNHEALTHY: "unhealthy",
  EVICTED: "evicted",
  OFFLINE: "offline",
  RETIRED: "retired",
  UNKNOWN: "unknown",
});
export type NodeHealthState = (typeof NodeHealthState)[keyof typeof NodeHealthState];

const byState: Readonly<Record<NodeState, NodeHealthState>> = {
  joined: NodeHealthState.UNKNOWN,
  online: NodeHealthState.HEALTHY,
  suspect: NodeHealthState.DEGRADED,
  dead: NodeHealthState.OFFLINE,
  left: NodeHealthState.RETIRED,
};

/** Who is there and what it does make it so. One that is kept from work by an operator may be in good health. */
export const nodeHealthOf = ({
  state,
  health,
}: {
  readonly state: NodeState;
  readonly health?: Pick<NodeHealthView, "condition"> | undefined;
}): NodeHealthState => {
  const isHeard = state === "online" || state === "suspect";
  return isHeard && health !== undefined && health.condition !== "healthy" ? health.condition : byState[state];
};

/** Nodes that have been heard in time and get work, by their ids. */
export const healthyNodesOf = (
  nodes: readonly (Pick<NodeView, "node_id" | "state"> & {
    readonly health?: Pick<NodeHealthView, "condition"> | undefined;
    readonly cordoned: unknown;
    readonly draining: boolean;
  })[],
): string[] =>
  nodes
    .filter((node) => nodeHealthOf(node) === NodeHealthState.HEALTHY && node.cordoned === null && !node.draining)
    .map(({ node_id }) => node_id);

/** One of them, by its id or its label. */
export function findNode<N extends { readonly node_id: string; readonly label: string }>(
  nodes: readonly N[],
  name: string,
): N {
  const found = nodes.find(({ node_id, label }) => node_id === name || label === name);
  if (found !== undefined) return found;
  throw OperatingError.notFound("NODE_NOT_FOUND", `there is no node '${name.slice(0, 100)}'`, {
    hint: "'ringrift nodes' lists them.",
  });
}
