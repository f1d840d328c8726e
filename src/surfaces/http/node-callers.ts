import { OperatingError } from "../../kernel/index.ts";
import type { Caller } from "./route.ts";

/** A node speaks for itself alone; who runs the cluster, and a worker with a token, may say for which node it speaks. */
export function assertSpeaksFor(caller: Caller, nodeIds: readonly string[]): void {
  const other = nodeIds.find((nodeId) => caller.nodeId !== undefined && nodeId !== caller.nodeId);
  if (other !== undefined)
    throw new OperatingError("NOT_YOUR_NODE", `node ${caller.nodeId} cannot speak for '${other.slice(0, 100)}'`, {
      hint: "Name your own node_id.",
    });
}
