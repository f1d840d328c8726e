import { defineDaemon, type Wiring } from "../../../daemons/index.ts";
import { jobReaperLimits } from "../../limits.ts";
import type { WorkServices } from "../../services.ts";

const wiring = {
  name: "job_reaper",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["JobReaperLoop"],
  dependsOn: ["task_coordinator"],
  emits: [],
} as const satisfies Wiring;

/**
 * Ends silent leases and attempts that took too long, so that their jobs can be claimed again; takes everything from a node
 * that is known to be dead at once; forgets finished jobs in their time. All of it is decided anew from the rows each time:
 * a tick that failed half way is simply made up for by the next.
 */
export const jobReaper = ({ queue }: Pick<WorkServices, "queue">, limits = jobReaperLimits) =>
  defineDaemon({
    ...wiring,
    state: { cache: () => ({ ticks: 0, reaped: 0 }) },
    on: {
      async P2P_NODE_DEAD({ payload }) {
        await queue.evict(payload.node_id, payload.reason ?? "the node is dead");
      },
    },
    loop: {
      everyMs: limits.everyMs,
      async tick({ cache, log }) {
        const reaped = await queue.reap();
        const ended = Object.values(reaped).reduce((sum, n) => sum + n, 0);
        if (ended > 0) log.info("jobs were ended", { ...reaped });
        cache.reaped += ended;
        cache.ticks += 1;
        if (cache.ticks % limits.forgetEvery === 0) await queue.forget();
      },
    },
    health: ({ cache }) => ({ status: "running", message: "", details: { reaped: cache.reaped } }),
  });
