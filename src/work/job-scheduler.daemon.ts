import { defineDaemon, onEach, type UnitContext } from "../daemons/index.ts";
import { isOperatingError } from "../kernel/index.ts";
import { defineTable, type StateTable } from "../router/index.ts";
import { nodeHolds, nodeMisfits } from "./node-policy.ts";
import { byLoss, choosePreemptions, type PreemptionPolicy, preemptionPolicyDefaults } from "./preemption.ts";
import { urgencyLevel } from "./urgency.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface JobSchedulerPorts {
  readonly queue: Pick<WorkQueue, "join" | "list" | "evict" | "preempt" | "held" | "urgent" | "isPreemptible">;
  readonly settings?: Partial<JobSchedulerSettings>;
}

export interface JobSchedulerSettings {
  readonly everyMs: number;
  readonly preemption: PreemptionPolicy;
  /** How long an overloaded node, or one that lets attempts run out, gets nothing new. */
  readonly restMs: number;
  /** So many attempts that ran out within the time below are the node's fault. */
  readonly mostTimeouts: number;
  readonly timeoutsWithinMs: number;
}

export const jobSchedulerDefaults: JobSchedulerSettings = {
  everyMs: 10_000,
  preemption: preemptionPolicyDefaults,
  restMs: 600_000,
  mostTimeouts: 3,
  timeoutsWithinMs: 1_800_000,
};

/** When attempts ran out on a node, newest last. */
const timeouts = defineTable<{ at: readonly number[] }>("work_node_timeouts");
const OVERTAKING = urgencyLevel("high");
/** Refusals that a better moment may lift; every other one is the batch's own fault. */
const mayPass = (thrown: unknown) => isOperatingError(thrown) && thrown.retryable;

type Context = UnitContext<"WORK_QUEUED" | "BATCH_DISPATCHED">;

/**
 * Hands out batches; takes work off nodes that are lost, overloaded or keep failing, and gives them rest; and lets urgent
 * jobs that wait drive out those that matter less. It only ever asks: the queue decides, and its rows hold.
 */
export const jobScheduler = ({ queue, settings: given = {} }: JobSchedulerPorts) => {
  const settings = { ...jobSchedulerDefaults, ...given };

  const ask = async (workId: string, reason: string, other?: string) => {
    try {
      await queue.preempt(workId, { reason, ...(other === undefined ? {} : { for: other }) });
    } catch (thrown) {
      // It ended, or is no longer anybody's: that is room too.
      if (!isOperatingError(thrown, "JOB_NOT_HELD") && !isOperatingError(thrown, "JOB_NOT_FOUND")) throw thrown;
    }
  };

  return defineDaemon({
    name: "job_scheduler",
    layer: 6,
    placement: "leader",
    alsoKnownAs: ["JOB_SCHEDULER", "PriorityJobScheduler"],
    pattern: "WIRE",
    dependsOn: ["global_task_coordinator", "work_queue_monitor"],
    emits: ["WORK_QUEUED", "BATCH_DISPATCHED"],
    state: { tables: { nodeHolds, nodeMisfits, timeouts } },
    on: {
      BATCH_SCHEDULED({ payload }, context: Context) {
        const { batch_id, config_key, work_type, jobs, node_ids, games_per_job } = payload;
        const specs = Array.from({ length: jobs }, (_, n) => ({
          work_type,
          config_key,
          batch_id,
          payload: games_per_job === undefined ? {} : { games: games_per_job },
          // A set of nodes too large to name is as good as all.
          target_nodes: node_ids.length === 0 || node_ids.length > 100 ? null : [...node_ids],
          dedup_key: `${batch_id}/${n}`.slice(-200),
          requested_by: "job_scheduler",
        }));
        const about = { batch_id, config_key, work_type };
        // Whoever put the jobs out with more to say than their number has done the work: this only answers.
        if (queue.list({ batchId: batch_id, limit: 1 }).length > 0) {
          context.emit.BATCH_DISPATCHED({ ...about, jobs, failed_jobs: 0, node_ids: [...node_ids] });
          return;
        }
        try {
          const added = queue.join(context).addAll(specs);
          context.emit.BATCH_DISPATCHED({ ...about, jobs: added.length, failed_jobs: 0, node_ids: [...node_ids] });
        } catch (thrown) {
          if (!isOperatingError(thrown) || mayPass(thrown)) throw thrown;
          context.log.warn("a batch cannot be handed out", { ...about, error: thrown.message });
          context.emit.BATCH_DISPATCHED({ ...about, jobs: 0, failed_jobs: jobs });
        }
      },
      async HOST_OFFLINE({ payload: { node_id, reason } }, { rows }) {
        rows.put(nodeHolds, node_id, { reason: `it is offline: ${reason}`, until: null });
        await queue.evict(node_id, reason);
      },
      ...onEach(["HOST_ONLINE", "NODE_RECOVERED"], ({ payload: { node_id } }, { rows }: UnitContext<never>) => {
        for (const table of [nodeHolds, nodeMisfits, timeouts] as StateTable[])
          if (rows.get(table, node_id) !== undefined) rows.delete(table, node_id);
      }),
      async NODE_OVERLOADED({ payload: { node_id, resource, usage } }, { rows, now }) {
        const reason = `its ${resource} is overloaded (${Math.round(usage * 100)} %)`;
        if (rows.get(nodeHolds, node_id)?.until !== null)
          rows.put(nodeHolds, node_id, { reason, until: now + settings.restMs });
        // One at a time: if that is not enough, it is told again.
        const [victim] = queue
          .held(node_id)
          .filter(({ work_type, stopping }) => !stopping && queue.isPreemptible(work_type))
          .toSorted(byLoss);
        if (victim !== undefined) await ask(victim.work_id, reason);
      },
      NODE_INCOMPATIBLE_WITH_WORKLOAD({ payload: { node_id, config_keys, reason } }, { rows }) {
        const known = rows.get(nodeMisfits, node_id)?.configs ?? [];
        rows.put(nodeMisfits, node_id, { configs: [...new Set([...known, ...config_keys])].sort(), reason });
      },
      WORK_TIMEOUT({ payload: { node_id } }, { rows, now }) {
        const recent = (rows.get(timeouts, node_id)?.at ?? []).filter((at) => now - at < settings.timeoutsWithinMs);
        const at = [...recent, now].slice(-settings.mostTimeouts);
        rows.put(timeouts, node_id, { at });
        if (at.length < settings.mostTimeouts || rows.get(nodeHolds, node_id)?.until === null) return;
        rows.put(nodeHolds, node_id, { reason: `${at.length} attempts ran out there`, until: now + settings.restMs });
      },
    },
    loop: {
      everyMs: settings.everyMs,
      async tick({ now, signal }) {
        const waiting = queue.urgent(OVERTAKING, 3);
        if (waiting.length === 0) return;
        const held = queue.held().map((job) => ({ ...job, preemptible: queue.isPreemptible(job.work_type) }));
        for (const { stop, for: other } of choosePreemptions(waiting, held, now, settings.preemption)) {
          if (signal.aborted) return;
          await ask(stop, `job ${other} is more urgent and waits`, other);
        }
      },
    },
    health: ({ rows, now }) => {
      const holds = rows.list(nodeHolds).filter(([, { until }]) => until === null || until > now);
      return {
        status: "running",
        message: "",
        details: { held_back: Object.fromEntries(holds.map(([node, { reason }]) => [node, reason])) },
      };
    },
  });
};
