/** What nodes are entrusted with, as the queue and the copies know it: `cluster` knows neither. */
import type { NodeDuties } from "../../cluster/index.ts";
import type { NodeDesk } from "../../sync/index.ts";
import type { WorkQueue } from "../../work/index.ts";

interface Sources {
  readonly queue: Pick<WorkQueue, "held" | "idle" | "preemptAll" | "evict">;
  readonly desk: Pick<NodeDesk, "alone">;
}

/** They are asked for when they are needed: both are built after the nodes. */
export const nodeDutiesOf = (sources: () => Sources): NodeDuties => ({
  held(nodeId) {
    const { queue } = sources();
    const jobs = queue.held(nodeId);
    const moving = jobs.filter(({ work_id }) => {
      const idle = queue.idle(work_id);
      // One that must show nothing goes on as long as its holder is heard.
      return idle !== undefined && idle.ms <= (idle.limitMs ?? Number.POSITIVE_INFINITY);
    });
    return { jobs: jobs.length, moving: moving.length };
  },
  release: (nodeId, reason) => sources().queue.preemptAll(nodeId, reason),
  async fence(nodeId, reason) {
    await sources().queue.evict(nodeId, reason);
  },
  alone: (nodeId, how) => sources().desk.alone(nodeId, how),
});
