import { definePart } from "../daemons/index.ts";
import type { PressurePolicy } from "./backpressure.ts";
import { globalTaskCoordinator } from "./global-task.coordinator.ts";
import { jobReaper } from "./job-reaper.daemon.ts";
import { jobScheduler } from "./job-scheduler.daemon.ts";
import { taskCoordinator } from "./task.coordinator.ts";
import { WORK_STORE, type WorkQueue } from "./work-queue.ts";
import { workQueueMonitor } from "./work-queue-monitor.daemon.ts";

export interface WorkUnitsPorts {
  readonly queue: WorkQueue;
  /** From where on the queue presses producers. */
  readonly pressure?: PressurePolicy;
}

/** The units of this room, for `app` to put into its registry. */
export const workUnits = ({ queue, pressure }: WorkUnitsPorts) =>
  [
    taskCoordinator(),
    globalTaskCoordinator(),
    workQueueMonitor({ queue, ...(pressure === undefined ? {} : { settings: { policy: pressure } }) }),
    jobReaper({ queue }),
    jobScheduler({ queue }),
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
});
