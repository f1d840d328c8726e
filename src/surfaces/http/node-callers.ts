import { OperatingError } from "../../kernel/index.ts";
import type { ControlPorts } from "./ports.ts";
import type { Caller } from "./route.ts";

const notYours = (nodeId: string, hint: string) =>
  new OperatingError("NOT_YOUR_NODE", `you cannot speak for node '${nodeId.slice(0, 100)}'`, { hint });

/**
 * A node speaks for itself alone. Who runs the cluster, or sits at its socket, may speak for every node; a worker with a
 * token for those that nobody knows as a node.
 */
export function assertSpeaksFor(
  caller: Caller,
  nodeIds: readonly string[],
  { nodes }: Pick<ControlPorts, "nodes">,
): void {
  if (caller.scope === "operator") return;
  for (const nodeId of nodeIds) {
    if (caller.nodeId !== undefined) {
      if (nodeId !== caller.nodeId) throw notYours(nodeId, `Name your own node_id, ${caller.nodeId}.`);
    } else if (nodes?.book.row(nodeId) !== undefined)
      throw notYours(nodeId, "It signs what it says with its own key, or speaks over the Unix socket.");
  }
}
