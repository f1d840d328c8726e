import { defineDaemon } from "../daemons/index.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface JobReaperPorts {
  readonly queue: Pick<WorkQueue, "reap" | "forget" | "evict">;
  readonly settings?: Partial<JobReaperSettings>;
}

export interface JobReaperSettings {
  readonly everyMs: number;
  /** Finished jobs are looked through every so many ticks. */
  readonly forgetEvery: number;
}

export const jobReaperDefaults: JobReaperSettings = { everyMs: 5_000, forgetEvery: 60 };

/**
 * Ends silent leases and attempts that took too long, so that their jobs can be claimed again; takes everything from a node
 * that is known to be dead at once; forgets finished jobs in their time. All of it is decided anew from the rows each time:
 * a tick that failed half way is simply made up for by the next.
 */
export const jobReaper = ({ queue, settings: given = {} }: JobReaperPorts) => {
  const settings = { ...jobReaperDefaults, ...given };
  return defineDaemon({
    name: "job_reaper",
    layer: 2,
    placement: "leader",
    alsoKnownAs: ["JobReaperLoop"],
    dependsOn: ["task_coordinator"],
    emits: [],
    state: { cache: () => ({ ticks: 0, reaped: 0 }) },
    on: {
      async P2P_NODE_DEAD({ payload }) {
        await queue.evict(payload.node_id, payload.reason ?? "the node is dead");
      },
    },
    loop: {
      everyMs: settings.everyMs,
      async tick({ cache, log }) {
        const reaped = await queue.reap();
        const ended = Object.values(reaped).reduce((sum, n) => sum + n, 0);
        if (ended > 0) log.info("jobs were ended", { ...reaped });
        cache.reaped += ended;
        cache.ticks += 1;
        if (cache.ticks % settings.forgetEvery === 0) await queue.forget();
      },
    },
    health: ({ cache }) => ({ status: "running", message: "", details: { reaped: cache.reaped } }),
  });
};
