/** What the whole cluster does, as the queue knows it: `cluster` does not know the queue. */
import type { ClusterWork } from "../../cluster/index.ts";
import type { WorkQueue } from "../../work/index.ts";

type Queue = Pick<WorkQueue, "unfinished" | "outcomes" | "held" | "idle" | "now">;

/** The queue is asked for when it is needed: it is built after the nodes. */
export const clusterWorkOf = (queue: () => Queue, cause: ClusterWork["cause"]): ClusterWork => ({
  unfinished: () => queue().unfinished,
  usefulAt() {
    const { outcomes, now } = queue();
    // A job that went on a moment ago is work that is done, long before its end.
    const idleMs = Math.min(
      ...queue()
        .held()
        .map(({ work_id }) => queue().idle(work_id)?.ms ?? Number.POSITIVE_INFINITY),
    );
    const movedAt = Number.isFinite(idleMs) ? now - idleMs : null;
    return outcomes.doneAt === null ? movedAt : Math.max(outcomes.doneAt, movedAt ?? 0);
  },
  cause,
});
