import { traceparentOf } from "../../events/index.ts";
import { defined, type Json, OperatingError } from "../../kernel/index.ts";
import type { Cause } from "../../router/index.ts";
import type { ClaimRequest } from "../job/claim-request.ts";
import {
  columnsOf,
  type JobRow,
  type LeaseRef,
  NO_ATTEMPT,
  type SavedCheckpoint,
  taskIdOf,
  workIdOf,
} from "../job/job.ts";
import type { Needs } from "../job/needs.ts";
import { type Urgency, urgencyOf } from "../job/urgency.ts";
import { itemOf, taskOf } from "../queue/job-events.ts";
import type { Plan } from "../queue/plan.ts";
import type { QueueState } from "../queue/queue-state.ts";
import { type ClaimLines, dealTo } from "./choose-jobs.ts";

/** A job in the hands of a node. */
export interface Lease extends LeaseRef {
  readonly task_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly urgency: Urgency;
  readonly payload: Readonly<Record<string, Json>>;
  /** The event that told of its coming, in the words of W3C: spans of the program hang under it. Null where none is known. */
  readonly traceparent?: string | null | undefined;
  /** What an earlier try saved when it was stopped: this one goes on from it. */
  readonly resume?: Pick<SavedCheckpoint, "sha256" | "bytes" | "epoch">;
  /** What it takes of its node while it runs: the node keeps its own books of what it has left. */
  readonly needs: Needs;
  readonly attempts: number;
  readonly max_attempts: number;
  /** Not heard by then, the holder is taken for gone. Each beat moves it. */
  readonly beat_by: number;
  /** The attempt may not last longer. Only the start moves it, and a clock that is set. */
  readonly expires_at: number;
}

/** Hands a node the jobs that are its to have now. */
export function claimJobs(parts: QueueState, plan: Plan, request: ClaimRequest, lines: ClaimLines): Lease[] {
  const known = standing(parts, plan, request);
  if (known.length > 0) return known;
  const verdict = parts.nodePolicy(request.node_id, plan.now, parts.given);
  if (!verdict.accepts)
    throw OperatingError.busy(
      verdict.isFull === true ? "TOO_MANY_JOBS_HELD" : "NODE_HELD_BACK",
      `node ${request.node_id} gets no work: ${verdict.reason}`,
      {
        hint: "Ask again later.",
        // One that is only slowed gets the next one when it has done the last.
        ...(verdict.slowed === true ? { details: { retryAfterSeconds: 1 } } : {}),
      },
    );
  const chosen = dealTo(parts, plan, request, verdict, lines);
  return lease(
    parts,
    plan,
    request,
    chosen.map(({ job }) => job),
  );
}

/** What each was given to work on, what it follows from, and what an earlier try saved of it, in one look. */
function inputsOf(plan: Plan, seqs: readonly number[]) {
  const rows = plan.read<{ seq: number; payload: string; cause: string | null; saved: string | null }>(
    `SELECT i.seq, i.payload, i.cause, j.saved FROM json_each(?) chosen
     JOIN work_inputs i ON i.seq = chosen.value JOIN work_jobs j ON j.seq = i.seq`,
    JSON.stringify(seqs),
  );
  return new Map(
    rows.map(({ seq, payload, cause, saved }) => [
      seq,
      {
        payload: JSON.parse(payload) as Record<string, Json>,
        traceparent: cause === null ? null : traceparentOf(JSON.parse(cause) as Cause),
        ...(saved === null ? {} : { resume: resumeOf(saved) }),
      },
    ]),
  );
}

const resumeOf = (saved: string): NonNullable<Lease["resume"]> => {
  const { sha256, bytes, epoch } = JSON.parse(saved) as SavedCheckpoint;
  return { sha256, bytes, epoch };
};

const STANDING = `SELECT ${columnsOf("j")} FROM work_jobs j INDEXED BY work_held
  WHERE state IN ('claimed', 'running') AND node_id = ? AND claim_id = ? ORDER BY seq`;

/** What a request got that is said again: leases that stand, and that nobody has begun with by a word of its own. */
function standing(parts: QueueState, plan: Plan, { node_id, claim_id, start }: ClaimRequest): Lease[] {
  if (claim_id === undefined) return [];
  const rows = plan.read<JobRow>(STANDING, node_id, claim_id).flatMap((row) => plan.found(row) ?? []);
  const beat_by = plan.now + parts.lease.silentMs;
  const jobs = rows.filter(({ state }) => state === "claimed" || start === true);
  // Whoever asks lives.
  return leasesOf(
    plan,
    jobs.map((job) => {
      parts.times.heard(job);
      return plan.move(job, "beat", job.state, { beat_by });
    }),
  );
}

/** From here on the attempt's own time runs. */
export function beginAttempt(parts: QueueState, plan: Plan, job: JobRow, isHeard: boolean, pid?: number): JobRow {
  const limitMs = limitOf(job, plan.now);
  const running = plan.move(job, "start", "running", {
    started_at: plan.now,
    unheard: isHeard ? null : 1,
    beat_by: plan.now + parts.lease.silentMs,
    expires_at: plan.now + limitMs,
  });
  parts.times.begin(running, limitMs);
  const { task_id, node_id } = taskOf(plan, running);
  plan.emit("WORK_STARTED", { ...itemOf(plan, running), node_id, attempts: running.attempts, task_id });
  plan.emit("TASK_SPAWNED", { ...taskOf(plan, running), ...defined({ pid }) });
  return running;
}

function lease(parts: QueueState, plan: Plan, request: ClaimRequest, chosen: readonly JobRow[]): Lease[] {
  const { node_id: nodeId, claim_id = null } = request;
  const jobs = chosen.map((waiting) => {
    const limitMs = limitOf(waiting, plan.now);
    const job = plan.move(waiting, "claim", "claimed", {
      ...NO_ATTEMPT,
      attempts: waiting.attempts + 1,
      fence: waiting.fence + 1,
      node_id: nodeId,
      claimed_at: plan.now,
      beat_by: plan.now + parts.lease.silentMs,
      expires_at: plan.now + limitMs,
      metrics: null,
      claim_id,
    });
    parts.times.begin(job, limitMs);
    const { attempts, fence } = job;
    const expires_at = job.expires_at! / 1_000;
    plan.emit("WORK_CLAIMED", { ...itemOf(plan, job), node_id: nodeId, attempts, fence, expires_at });
    return request.start === true ? beginAttempt(parts, plan, job, false) : job;
  });
  return leasesOf(plan, jobs);
}

function leasesOf(plan: Plan, jobs: readonly JobRow[]): Lease[] {
  if (jobs.length === 0) return [];
  const inputs = inputsOf(
    plan,
    jobs.map(({ seq }) => seq),
  );
  return jobs.map((job) => {
    const { workType, configKey, needs } = plan.laneOf(job);
    return {
      work_id: workIdOf(job.seq),
      node_id: job.node_id!,
      fence: job.fence,
      task_id: taskIdOf(job.seq, job.fence),
      work_type: workType,
      config_key: configKey,
      urgency: urgencyOf(job.urgency),
      ...(inputs.get(job.seq) ?? { payload: {} }),
      needs,
      attempts: job.attempts,
      max_attempts: job.max_attempts,
      beat_by: job.beat_by!,
      expires_at: job.expires_at!,
    };
  });
}

/** How long an attempt that begins now may last: its time limit, or until the job's deadline if that is sooner. */
const limitOf = (job: Pick<JobRow, "timeout_ms" | "deadline">, now: number): number =>
  Math.min(job.timeout_ms, (job.deadline ?? Number.POSITIVE_INFINITY) - now);
