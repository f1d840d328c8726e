import { definePart } from "../daemons/index.ts";
import { WORK_STORE } from "./queue/queue-changes.ts";
import type { WorkServices } from "./services.ts";
import { globalTaskCoordinator } from "./units/global-task-coordinator/global-task-coordinator.unit.ts";
import { jobReaper } from "./units/job-reaper/job-reaper.unit.ts";
import { jobScheduler } from "./units/job-scheduler/job-scheduler.unit.ts";
import { taskCoordinator } from "./units/task-coordinator/task-coordinator.unit.ts";
import { utilizationOptimizer } from "./units/utilization-optimizer/utilization-optimizer.unit.ts";
import { workQueueMonitor } from "./units/work-queue-monitor/work-queue-monitor.unit.ts";

/** The units of this room, for `app` to put into its registry. */
export const workUnits = (services: Pick<WorkServices, "queue" | "settings">) =>
  [
    taskCoordinator(),
    globalTaskCoordinator(),
    workQueueMonitor(services),
    jobReaper(services),
    jobScheduler(services),
    utilizationOptimizer(services),
  ] as const;

/** The queue itself: it says what becomes of jobs and of their attempts, in the commit that makes it so. */
export const workStorePart = definePart({
  name: WORK_STORE,
  placement: "leader",
  emits: [
    "WORK_QUEUED",
    "WORK_CLAIMED",
    "WORK_STARTED",
    "WORK_COMPLETED",
    "WORK_FAILED",
    "WORK_RETRY",
    "WORK_TIMEOUT",
    "WORK_CANCELLED",
    "JOB_PREEMPTED",
    "TASK_SPAWNED",
    "TASK_HEARTBEAT",
    "TASK_COMPLETED",
    "TASK_FAILED",
    "TASK_ORPHANED",
    "TASK_CANCELLED",
    "TASK_ABANDONED",
  ],
  unheard: {
    WORK_QUEUED: { outside: "workers are woken at the claim desk, and the queue's own rows say the rest" },
  },
});

/** A worker beside a main process: what it alone can measure of itself. */
export const workerPart = definePart({ name: "worker", placement: "each-process", emits: ["METRICS_UPDATED"] });
