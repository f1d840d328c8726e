import { unitNameOf } from "../../daemons/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import type { ControlPorts } from "./ports.ts";
import type { Caller } from "./route.ts";

const notYours = (nodeId: string, hint: string) =>
  OperatingError.denied("NOT_YOUR_NODE", `you cannot speak for node '${nodeId.slice(0, 100)}'`, { hint });

/**
 * A node speaks for itself alone. Who runs the cluster, or sits at its socket, may speak for every node; a worker with a
 * token for those that nobody knows as a node.
 */
export function mayNameNode(caller: Caller, nodeId: string, { nodes }: Pick<ControlPorts, "nodes">): boolean {
  if (caller.scope === "operator") return true;
  return caller.nodeId === undefined ? nodes.book.row(nodeId) === undefined : nodeId === caller.nodeId;
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

/** Tells whether a source or consumer is a unit of this process. */
export function ownUnits({ router, daemons }: Pick<ControlPorts, "router" | "daemons">): (name: string) => boolean {
  const names = daemons.holds();
  return (name) => {
    const unit = unitNameOf(name);
    const place = name.slice(unit.length + 1);
    const here = place === "" || place === router.nodeId || place.startsWith(`${router.nodeId}/`);
    return here && names.has(unit);
  };
}
