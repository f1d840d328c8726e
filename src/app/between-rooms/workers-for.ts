import type { Availability } from "../../cluster/index.ts";
import type { WorkQueue } from "../../work/index.ts";

/**
 * Nodes that have a worker for a kind and may have work. One on which jobs stood still lately counts only where nobody else is.
 * Shortly after a start those that were there before count as well: they ask within seconds.
 */
export const workersFor = (
  kind: string,
  queue: Pick<WorkQueue, "workers" | "stuckNodes">,
  nodes: Pick<Availability, "barred" | "working">,
): string[] => {
  const { workers } = queue;
  const known = workers.takers(kind).filter((nodeId) => nodes.barred(nodeId) === undefined);
  if (!workers.settled) return [...new Set([...known, ...nodes.working()])];
  const stuck = known.length < 2 ? new Set<string>() : queue.stuckNodes();
  const sound = known.filter((nodeId) => !stuck.has(nodeId));
  return sound.length === 0 ? known : sound;
};
