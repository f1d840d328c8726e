/**
 * work: the durable queue, its leases, and the units that keep it moving.
 *
 * It guarantees that
 * - a job that was added is there until it has ended: completed with evidence, failed with its error, or cancelled with a
 *   reason; each change and the events that tell of it are one commit;
 * - a claim is a lease with a number that only grows: whoever comes with an older one, or with another's, is refused, so
 *   each job is completed once in the books, whatever processes hang, wake up late or die; and a result is not thrown away
 *   because its holder was not heard for a while, or got nowhere for a while: the first result of a job is its result;
 * - a holder's sign of life and the length of its attempt are two clocks; a holder that goes silent before it began, that
 *   shuts down, or that makes room for others costs the job no attempt;
 * - no config starves: each has its share, urgent work overtakes within a debt, and what waits long becomes urgent;
 * - everything is bounded: the queue, payloads, evidence, error texts, dependencies, attempts, returns, and how long finished
 *   jobs are kept. A job may only wait for jobs that exist, so no cycle can come about.
 *
 * A change is decided on the caller's side and checked by the writer (see `queue/plan.ts`): nobody waits for a lock, and what was
 * decided on rows that have changed meanwhile is decided anew. States and steps are one table, `job/states.ts`.
 */
export { BackpressureLevel, type QueueLevel, rateMultiplierOf } from "./backpressure.ts";
export type { ClaimDesk } from "./claim-desk.ts";
export type { Lease } from "./claims/claim.ts";
export type { Candidate, Placement } from "./claims/placement.ts";
export { failureGroups } from "./failures.ts";
export type { WorkFailure } from "./job/failure.ts";
export type { JobSpecInput } from "./job/job.ts";
export { type Evidence, type EvidenceInput, kindsWith, TaskType } from "./job/kinds.ts";
export { JOB_STATES } from "./job/states.ts";
export type { Urgency } from "./job/urgency.ts";
export { boundedMetrics } from "./leases/lease.ts";
export { resultLimits } from "./limits.ts";
export type { JobsOfSort } from "./load/load-forecast.ts";
export { whyHeldBack } from "./node-policy.ts";
export type { Answer } from "./queue/answers.ts";
export { createWorkServices, type WorkServices } from "./services.ts";
export { workSettings } from "./settings.ts";
export { pressures as queuePressures, QUEUE_SCOPE } from "./units/work-queue-monitor/work-queue-monitor.unit.ts";
export { workerPart, workStorePart, workUnits } from "./units.ts";
export { filesInResults, heldJobs, type JobView, showJob } from "./views.ts";
export { WorkQueue } from "./work-queue.ts";
