/**
 * work: the durable queue, its leases, and the units that keep it moving.
 *
 * It guarantees that
 * - a job that was added is there until it has ended: completed with evidence, failed with its error, or cancelled with a
 *   reason; each change and the events that tell of it are one commit;
 * - a claim is a lease with a number that only grows: whoever comes with an older one, or with another's, is refused, so
 *   each job is completed once in the books, whatever processes hang, wake up late or die; and a result is not thrown away
 *   because its holder was not heard for a while, as long as nobody else has had the job since;
 * - a holder's sign of life and the length of its attempt are two clocks; a holder that goes silent before it began, that
 *   shuts down, or that makes room for others costs the job no attempt;
 * - no config starves: each has its share, urgent work overtakes within a debt, and what waits long becomes urgent;
 * - everything is bounded: the queue, payloads, evidence, error texts, dependencies, attempts, returns, and how long finished
 *   jobs are kept. A job may only wait for jobs that exist, so no cycle can come about.
 *
 * A change is decided on the caller's side and checked by the writer (see `plan.ts`): nobody waits for a lock, and what was
 * decided on rows that have changed meanwhile is decided anew. States and steps are one table, `states.ts`.
 */
export type { AddedJob } from "./add.ts";
export {
  nextPressure,
  type Pressure,
  type PressureMarks,
  type PressurePolicy,
  pressureMarkDefaults,
  pressurePolicyDefaults,
  pressurePolicyOf,
  QUEUE_LEVELS,
  type QueueLevel,
  queueLevelOf,
  RESOURCE_LEVELS,
  type ResourceLevel,
  rateMultiplierOf,
  resourceLevelOf,
} from "./backpressure.ts";
export type { ClaimRequest, Lease } from "./claim.ts";
export { type ClaimDesk, type ClaimDeskLimits, createClaimDesk } from "./claim-desk.ts";
export { workExcuses } from "./excuses.ts";
export { FAILURE_CLASSES, type FailureClass, failureSchema, type WorkFailure } from "./failure.ts";
export { type SharePolicy, sharePolicyDefaults } from "./fair-share.ts";
export { type GlobalTaskSettings, globalTaskCoordinator, globalTaskDefaults } from "./global-task.coordinator.ts";
export { type JobSpecInput, jobSpecSchema, type LeaseRef } from "./job.ts";
export { type JobReaperSettings, jobReaper, jobReaperDefaults } from "./job-reaper.daemon.ts";
export { type JobSchedulerSettings, jobScheduler, jobSchedulerDefaults } from "./job-scheduler.daemon.ts";
export {
  defineKind,
  type Evidence,
  type EvidenceInput,
  type EvidenceRule,
  evidenceSchema,
  type WorkKind,
  type WorkKinds,
} from "./kinds.ts";
export type { AfterFailure, BeatAnswer, Progress } from "./lease.ts";
export { type LeasePolicy, leasePolicyDefaults, type WorkLimits, workLimitDefaults } from "./limits.ts";
export type { Needs, Offer } from "./needs.ts";
export type { NodeFigures } from "./node-figures.ts";
export { type AdmissionLimits, admissionLimitDefaults, storedNodePolicy } from "./node-policy.ts";
export type { OrderOptions } from "./orders.ts";
export { type PidPolicy, type PidState, pidPolicyDefaults, pidStart, steer } from "./pid.ts";
export type { Candidate, Placement } from "./placement.ts";
export { type PreemptionPolicy, preemptionPolicyDefaults } from "./preemption.ts";
export type { HeldJob, JobFilter, JobView, QueueCount, QueueLoad } from "./queries.ts";
export type { NodePolicy, NodeVerdict } from "./queue-parts.ts";
export type { Reaped } from "./reap.ts";
export {
  drawStates,
  JOB_STATES,
  type JobAction,
  type JobState,
  printTransitions,
  type Transition,
  transitions,
} from "./states.ts";
export { workModule } from "./store-module.ts";
export { taskCoordinator } from "./task.coordinator.ts";
export { URGENCIES, type Urgency } from "./urgency.ts";
export { type Answer, type JoinedContext, WORK_STORE, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
export {
  pressures as queuePressures,
  QUEUE_SCOPE,
  type WorkQueueMonitorSettings,
  workQueueMonitor,
  workQueueMonitorDefaults,
} from "./work-queue-monitor.daemon.ts";
export { type WorkUnitsPorts, workStorePart, workUnits } from "./work-units.ts";
