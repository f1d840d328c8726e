/** What the queue knows of how nodes work, for whoever judges them: `work` and `cluster` do not know each other. */
import type { NodeSigns } from "../../cluster/index.ts";
import type { WorkQueue } from "../../work/index.ts";

type Queue = Pick<WorkQueue, "outcomes" | "pace" | "troubles" | "resultsResidual" | "workers">;

/** The queue is asked for when it is needed: it is built after the nodes. */
export const nodeSignsOf = (queue: () => Queue): NodeSigns => ({
  of: (nodeId) => ({
    outcomes: queue().outcomes.of(nodeId),
    pace: queue().pace(nodeId),
    ...queue().troubles(nodeId),
  }),
  othersDo: (sort, nodeId) => queue().outcomes.othersDo(sort, nodeId),
  resultsResidual: (nodeId, since, signal) => queue().resultsResidual(nodeId, since, signal),
  workers: () =>
    queue()
      .workers.list()
      .map(({ node_id }) => node_id),
});
