import type { NodeRegistry } from "../cluster/index.ts";
import type { KnownWorkers } from "../work/index.ts";

/**
 * Nodes that have a worker for a kind and may have work. Shortly after a start those that were there before count as well:
 * they ask within seconds.
 */
export const workersFor = (
  kind: string,
  workers: Pick<KnownWorkers, "takers" | "settled">,
  nodes: Pick<NodeRegistry, "barred" | "working">,
): string[] => {
  const known = workers.takers(kind).filter((nodeId) => nodes.barred(nodeId) === undefined);
  return workers.settled ? known : [...new Set([...known, ...nodes.working()])];
};
