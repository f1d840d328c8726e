import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import { jobDurations, nodePaces } from "../../job/durations.ts";
import type { StuckJob } from "../../leases/reap.ts";
import { jobReaperLimits } from "../../limits.ts";
import { stuckNodes } from "../../node-policy.ts";
import type { WorkServices } from "../../services.ts";

const wiring = {
  name: "job_reaper",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["JobReaperLoop"],
  dependsOn: ["task_coordinator"],
  emits: ["HEALTH_ALERT"],
} as const satisfies Wiring;

type Context = Pick<ContextOf<typeof wiring>, "rows" | "emit" | "now">;
const componentOf = (nodeId: string) => `the worker of ${nodeId}`;

/**
 * Ends silent leases and attempts that took too long, and gives to another what does not go on; takes everything from a node
 * that is known to be dead at once; forgets finished jobs in their time. All of it is decided anew from the rows each time: a
 * tick that failed half way is simply made up for by the next. It also keeps how long jobs took, by which the next are judged.
 */
export const jobReaper = ({ queue }: Pick<WorkServices, "queue">, limits = jobReaperLimits) => {
  /** Once is chance; the second time somebody looks at the node. */
  const noteStuck = ({ node_id, work_id, idle_ms }: StuckJob, { rows, emit, now }: Context) => {
    const known = rows.get(stuckNodes, node_id);
    const at = [...(known?.at ?? []), now].slice(-limits.maxStuck);
    const isAlert = at.length >= limits.maxStuck;
    rows.put(stuckNodes, node_id, { at, alerted: isAlert });
    if (!isAlert || known?.alerted === true) return;
    const idle = `${work_id} made no progress there for ${Math.round(idle_ms / 1_000)} s, and was not the first`;
    const message = `${idle}: its worker is heard and does not work. Others have its jobs. See 'ringrift why ${node_id}'.`;
    emit.HEALTH_ALERT({ component: componentOf(node_id), severity: "warning", message, node_id });
  };

  /** Nobody could take it from there: a person has to know at once. */
  const noteUnrelieved = ({ node_id, work_id, work_type, idle_ms }: StuckJob, { rows, emit, now }: Context) => {
    const known = rows.get(stuckNodes, node_id);
    if (known?.alerted === true && now - known.at.at(-1)! < limits.stuckWithinMs / 2) return;
    rows.put(stuckNodes, node_id, { at: [now], alerted: true });
    if (known?.alerted === true) return;
    const idle = `${work_id} has made no progress there for ${Math.round(idle_ms / 1_000)} s`;
    const message = `${idle}, and no other worker does ${work_type} jobs. See 'ringrift why ${work_id}'.`;
    emit.HEALTH_ALERT({ component: componentOf(node_id), severity: "warning", message, node_id });
  };

  /** Long ago is over. */
  const forgive = ({ rows, emit, now }: Context) => {
    for (const [node_id, { at, alerted }] of rows.list(stuckNodes)) {
      const recent = at.filter((each) => now - each < limits.stuckWithinMs);
      if (recent.length === at.length) continue;
      if (recent.length > 0) rows.put(stuckNodes, node_id, { at: recent, alerted });
      else rows.delete(stuckNodes, node_id);
      if (!alerted || recent.length > 0) continue;
      const message = "no job has stood still there for a while";
      emit.HEALTH_ALERT({ component: componentOf(node_id), severity: "info", message, node_id });
    }
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { jobDurations, nodePaces, stuckNodes }, cache: () => ({ ticks: 0, reaped: 0 }) },
    on: {
      async P2P_NODE_DEAD({ payload }) {
        await queue.evict(payload.node_id, payload.reason ?? "the node is dead");
      },
    },
    loop: {
      everyMs: limits.everyMs,
      async tick(context) {
        const { cache, log, rows } = context;
        const { stuckJobs, unrelieved, ...reaped } = await queue.reap();
        const ended = Object.values(reaped).reduce((sum, n) => sum + n, 0);
        if (ended > 0) log.info("jobs were ended", { ...reaped });
        for (const job of stuckJobs) noteStuck(job, context);
        for (const job of unrelieved) noteUnrelieved(job, context);
        forgive(context);
        for (const [sort, took] of queue.newDurations()) rows.put(jobDurations, sort, took);
        for (const [node, pace] of queue.newPaces()) rows.put(nodePaces, node, pace);
        cache.reaped += ended;
        cache.ticks += 1;
        if (cache.ticks % limits.forgetEvery === 0) await queue.forget();
      },
    },
    health: ({ cache, rows }) => ({
      status: "running",
      message: "",
      details: { reaped: cache.reaped, stuck: rows.list(stuckNodes).map(([node]) => node) },
    }),
  });
};
