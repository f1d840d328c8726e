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
  readonly running: Map<string, RunningTask>;
}

const MAX_SEEN = 100_000;
const ENDS = ["TASK_COMPLETED", "TASK_FAILED", "TASK_CANCELLED", "TASK_ORPHANED", "TASK_ABANDONED"] as const;

/** Follows every running task from its spawn to its end and knows which host holds it. */
export const taskCoordinator = () =>
  defineCoordinator({
    ...wiring,
    state: {
      tables: { tasks, away },
      cache: (rows): Cache => ({ seenAt: new Map(), running: new Map(rows.list(tasks)) }),
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
        afterCommit(() => void cache.running.set(payload.task_id, task));
      },
      TASK_HEARTBEAT({ payload }, { cache, now }) {
        if (cache.running.has(payload.task_id) && cache.seenAt.size < MAX_SEEN) cache.seenAt.set(payload.task_id, now);
      },
      ...onEach(ENDS, (event, { rows, cache, afterCommit }: UnitContext<never, unknown, Cache>) => {
        const { task_id } = event.payload;
        if (rows.get(tasks, task_id) === undefined) return;
        rows.delete(tasks, task_id);
        afterCommit(() => {
          cache.running.delete(task_id);
          cache.seenAt.delete(task_id);
        });
      }),
      HOST_OFFLINE({ payload, timestamp }, { rows }) {
        rows.put(away, payload.node_id, { since: timestamp });
      },
      ...onEach(["HOST_ONLINE", "NODE_RECOVERED"], ({ payload }, { rows }: UnitContext<never, unknown, Cache>) => {
        if (rows.get(away, payload.node_id) !== undefined) rows.delete(away, payload.node_id);
      }),
    },
    health: ({ rows, cache }) => {
      const hosts = new Set(rows.list(away).map(([node]) => node));
      const lost = [...cache.running.values()].filter(({ node_id }) => hosts.has(node_id)).length;
      const details = { running: cache.running.size, on_lost_hosts: lost, hosts_away: hosts.size };
      return lost > 0
        ? { status: "degraded", message: `${lost} tasks run on hosts that are away`, details }
        : { status: "running", message: "", details };
    },
  });
