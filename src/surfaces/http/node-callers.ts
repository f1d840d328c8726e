import { OperatingError } from "../../kernel/index.ts";
import type { ControlPorts } from "./ports.ts";
import type { Caller } from "./route.ts";

const notYours = (nodeId: string, hint: string) =>
  new OperatingError("NOT_YOUR_NODE", `you cannot speak for node '${nodeId.slice(0, 100)}'`, { hint });

/**
 * A node speaks for itself alone. Who runs the cluster, or sits at its socket, may speak for every node; a worker with a
 * token for those that nobody knows as a node.
 */
export function mayNameNode(caller: Caller, nodeId: string, { nodes }: Pick<ControlPorts, "nodes">): boolean {
  if (caller.scope === "operator") return true;
  return caller.nodeId === undefined ? nodes?.book.row(nodeId) === undefined : nodeId === caller.nodeId;
}

export function assertSpeaksFor(caller: Caller, nodeIds: readonly string[], ports: Pick<ControlPorts, "nodes">): void {
  for (const nodeId of nodeIds)
    if (!mayNameNode(caller, nodeId, ports))
      throw notYours(
        nodeId,
        caller.nodeId === undefined
          ? "It signs what it says with its own key, or speaks over the Unix socket."
          : `Name your own node_id, ${caller.nodeId}.`,
      );
}
