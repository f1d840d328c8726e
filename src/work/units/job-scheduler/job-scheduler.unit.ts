import { type ContextOf, defineDaemon, onEach, type UnitContext, type Wiring } from "../../../daemons/index.ts";
import { defined, isOperatingError } from "../../../kernel/index.ts";
import { defineTable, type StateTable } from "../../../router/index.ts";
import { urgencyLevel } from "../../job/urgency.ts";
import { jobSchedulerLimits } from "../../limits.ts";
import { nodeHolds, nodeMisfits } from "../../node-policy.ts";
import type { WorkServices } from "../../services.ts";
import { byLoss, choosePreemptions } from "./decide.ts";

const wiring = {
  name: "job_scheduler",
  layer: 6,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "jobs",
  daemonTypes: ["JOB_SCHEDULER"],
  alsoKnownAs: ["PriorityJobScheduler"],
  pattern: "WIRE",
  dependsOn: ["global_task_coordinator", "work_queue_monitor"],
  emits: ["WORK_QUEUED", "BATCH_DISPATCHED"],
} as const satisfies Wiring;

/** When attempts ran out on a node, newest last. */
const timeouts = defineTable<{ at: readonly number[] }>("work_node_timeouts");
const OVERTAKING = urgencyLevel("high");
/** Refusals that a better moment may lift; every other one is the batch's own fault. */
const mayPass = (thrown: unknown) => isOperatingError(thrown) && thrown.retryable;

type Context = ContextOf<typeof wiring>;

/**
 * Hands out batches; takes work off nodes that are lost, overloaded or keep failing, and gives them rest; and lets urgent jobs that
 * wait drive out those that matter less. It only ever asks: the queue decides, and its rows hold. How many jobs a node may hold is
 * `utilization_optimizer`'s to say.
 */
export const jobScheduler = ({ queue }: Pick<WorkServices, "queue">, limits = jobSchedulerLimits) => {
  const ask = async (workId: string, reason: string, other?: string) => {
    try {
      await queue.preempt(workId, { reason, ...defined({ for: other }) });
    } catch (thrown) {
      // It ended, or is no longer anybody's: that is room too.
      if (!isOperatingError(thrown, "JOB_NOT_HELD") && !isOperatingError(thrown, "JOB_NOT_FOUND")) throw thrown;
    }
  };

  /** Whoever asks for work is there, whether anybody heard that it came back or not. */
  const liftFromPresent = (rows: Context["rows"]) => {
    const heardAt = new Map(queue.workers.list().map(({ node_id, heard_at }) => [node_id, heard_at]));
    for (const [node_id, { until, at }] of rows.list(nodeHolds))
      if (until === null && at !== undefined && (heardAt.get(node_id) ?? 0) > at) rows.delete(nodeHolds, node_id);
  };

  return defineDaemon({
    ...wiring,
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
          context.log.warn("a batch of jobs cannot be handed out", { ...about, error: thrown.message });
          context.emit.BATCH_DISPATCHED({ ...about, jobs: 0, failed_jobs: jobs });
        }
      },
      async HOST_OFFLINE({ payload: { node_id, reason } }, { rows, now }) {
        rows.put(nodeHolds, node_id, { reason: `it is offline: ${reason}`, until: null, at: now });
        await queue.evict(node_id, reason);
      },
      ...onEach(
        ["HOST_ONLINE", "NODE_RECOVERED"],
        ({ payload: { node_id } }, { rows }: UnitContext<never, unknown>) => {
          for (const table of [nodeHolds, nodeMisfits, timeouts] as StateTable[])
            if (rows.get(table, node_id) !== undefined) rows.delete(table, node_id);
        },
      ),
      async NODE_OVERLOADED({ payload: { node_id, resource, usage } }, { rows, now }) {
        const reason = `its ${resource} is overloaded (${Math.round(usage * 100)} %)`;
        if (rows.get(nodeHolds, node_id)?.until !== null)
          rows.put(nodeHolds, node_id, { reason, until: now + limits.restMs, leaves: 1, resource });
        const held = queue.held(node_id);
        // The last one stays: pressure slows, and never stops.
        if (held.length < 2) return;
        // One at a time: if that is not enough, it is told again.
        const [victim] = held
          .filter(({ work_type, stopping }) => !stopping && queue.isPreemptible(work_type))
          .toSorted(byLoss);
        if (victim !== undefined) await ask(victim.work_id, reason);
      },
      RESOURCE_CONSTRAINT({ payload: { node_id, resource, level } }, { rows }) {
        if (level === "none" && rows.get(nodeHolds, node_id)?.resource === resource) rows.delete(nodeHolds, node_id);
      },
      NODE_INCOMPATIBLE_WITH_WORKLOAD({ payload: { node_id, config_keys, reason } }, { rows }) {
        const known = rows.get(nodeMisfits, node_id)?.configs ?? [];
        rows.put(nodeMisfits, node_id, { configs: [...new Set([...known, ...config_keys])].sort(), reason });
      },
      WORK_TIMEOUT({ payload: { node_id } }, { rows, now }) {
        const recent = (rows.get(timeouts, node_id)?.at ?? []).filter((at) => now - at < limits.timeoutsWithinMs);
        const at = [...recent, now].slice(-limits.maxTimeouts);
        rows.put(timeouts, node_id, { at });
        if (at.length < limits.maxTimeouts || rows.get(nodeHolds, node_id)?.until === null) return;
        const reason = `${at.length} attempts ran out there`;
        rows.put(nodeHolds, node_id, { reason, until: now + limits.restMs, leaves: 1 });
      },
    },
    loop: {
      everyMs: limits.everyMs,
      async tick({ rows, now, signal }) {
        liftFromPresent(rows);
        const waiting = queue.urgent(OVERTAKING, 3);
        if (waiting.length === 0) return;
        const held = queue.held().map((job) => ({
          ...job,
          preemptible: queue.isPreemptible(job.work_type),
          endsInMs: queue.expectedMs(job.work_id, job.node_id),
        }));
        for (const { stop, for: other } of choosePreemptions(waiting, held, now, limits.preemption)) {
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
