import { defineCoordinator, onEach, type UnitContext, type Wiring } from "../../../daemons/index.ts";
import { defineTable } from "../../../router/index.ts";

const wiring = {
  name: "task_coordinator",
  layer: 1,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "tasks",
  alsoKnownAs: ["TaskLifecycleCoordinator"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: [],
} as const satisfies Wiring;

/** A task that runs: what, where, for which job. Times are Unix seconds. */
export type RunningTask = {
  readonly node_id: string;
  readonly work_type: string;
  readonly work_id: string | null;
  readonly config_key: string | null;
  readonly spawned_at: number;
};

const tasks = defineTable<RunningTask>("work_tasks");
/** Hosts that are not there at the moment, by node: their tasks are lost unless they come back. */
const away = defineTable<{ since: number }>("work_hosts_away");

interface Cache {
  /** Last sign of life, by task: lost with the process, and soon known again. */
  readonly seenAt: Map<string, number>;
  /** When tasks were asked to stop, by job. */
  readonly asked: Map<string, number>;
  readonly running: Map<string, RunningTask>;
}

const MAX_SEEN = 100_000;
const ENDS = ["TASK_COMPLETED", "TASK_FAILED", "TASK_CANCELLED", "TASK_ORPHANED", "TASK_ABANDONED"] as const;

/** A lease ends after a minute without a beat, and its end is heard of at once: what is still here after two is stuck. */
export const SILENT_MS = 120_000;
/** A program that is asked to stop has so long to save what it has. */
export const STOPPING_MS = 120_000;
const MAX_STUCK = 20;

type Seen = Pick<Cache, "seenAt" | "asked">;

/** Tasks that show no sign of life, or do not stop although they were asked to; those of hosts that are away are known to be lost. */
export function stuckTasks(
  running: ReadonlyMap<string, RunningTask>,
  { seenAt, asked }: Seen,
  away: ReadonlySet<string>,
  now: number,
): { readonly task_id: string; readonly node_id: string; readonly why: string }[] {
  return [...running]
    .filter(([, { node_id }]) => !away.has(node_id))
    .flatMap(([task_id, { node_id, work_id }]) => {
      const seen = seenAt.get(task_id);
      const since = work_id === null ? undefined : asked.get(work_id);
      if (since !== undefined && now - since > STOPPING_MS)
        return [{ task_id, node_id, why: `does not stop; it was asked ${Math.round((now - since) / 1_000)} s ago` }];
      // After a restart nobody knows when it was heard last: it is given the time to say so.
      if (seen === undefined || now - seen <= SILENT_MS) return [];
      return [{ task_id, node_id, why: `has shown no sign of life for ${Math.round((now - seen) / 1_000)} s` }];
    })
    .slice(0, MAX_STUCK);
}

/** Follows every running task from its spawn to its end and knows which host holds it. */
export const taskCoordinator = () =>
  defineCoordinator({
    ...wiring,
    state: {
      tables: { tasks, away },
      cache: (rows): Cache => ({ seenAt: new Map(), asked: new Map(), running: new Map(rows.list(tasks)) }),
    },
    on: {
      TASK_SPAWNED({ payload, timestamp }, { rows, cache, afterCommit }) {
        const task: RunningTask = {
          node_id: payload.node_id,
          work_type: payload.work_type,
          work_id: payload.work_id ?? null,
          config_key: payload.config_key ?? null,
          spawned_at: timestamp,
        };
        rows.put(tasks, payload.task_id, task);
        afterCommit(() => {
          cache.running.set(payload.task_id, task);
          cache.seenAt.set(payload.task_id, timestamp * 1_000);
        });
      },
      TASK_HEARTBEAT({ payload }, { cache, now }) {
        if (cache.running.has(payload.task_id) && cache.seenAt.size < MAX_SEEN) cache.seenAt.set(payload.task_id, now);
      },
      JOB_PREEMPTED({ payload: { work_id } }, { cache, now }) {
        const isRunning = [...cache.running.values()].some((task) => task.work_id === work_id);
        if (isRunning) cache.asked.set(work_id, now);
      },
      ...onEach(ENDS, (event, { rows, cache, afterCommit }: UnitContext<never, unknown, Cache>) => {
        const { task_id } = event.payload;
        if (rows.get(tasks, task_id) === undefined) return;
        rows.delete(tasks, task_id);
        afterCommit(() => {
          cache.running.delete(task_id);
          cache.seenAt.delete(task_id);
          if (event.payload.work_id !== undefined) cache.asked.delete(event.payload.work_id);
        });
      }),
      HOST_OFFLINE({ payload, timestamp }, { rows }) {
        rows.put(away, payload.node_id, { since: timestamp });
      },
      ...onEach(["HOST_ONLINE", "NODE_RECOVERED"], ({ payload }, { rows }: UnitContext<never, unknown, Cache>) => {
        if (rows.get(away, payload.node_id) !== undefined) rows.delete(away, payload.node_id);
      }),
    },
    health: ({ rows, cache, now }) => {
      const hosts = new Set(rows.list(away).map(([node]) => node));
      const lost = [...cache.running.values()].filter(({ node_id }) => hosts.has(node_id)).length;
      const stuck = stuckTasks(cache.running, cache, hosts, now);
      const details = { running: cache.running.size, on_lost_hosts: lost, hosts_away: hosts.size, stuck };
      const message = [
        ...(lost > 0 ? [`${lost} tasks run on hosts that are away`] : []),
        ...stuck.slice(0, 3).map(({ task_id, node_id, why }) => `task ${task_id} on ${node_id} ${why}`),
      ].join("; ");
      return { status: message === "" ? "running" : "degraded", message, details };
    },
  });
