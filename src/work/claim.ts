import { traceparentOf } from "../events/index.ts";
import { defined, type Json, OperatingError } from "../kernel/index.ts";
import type { Cause } from "../router/index.ts";
import type { ClaimRequest } from "./claim-request.ts";
import { earlierLeases, stuckOn } from "./earlier-leases.ts";
import { afterServing, forgetIdle, type Head, nextConfig, sharesOf } from "./fair-share.ts";
import { columnsOf, type JobRow, type LeaseRef, NO_ATTEMPT, type SavedCheckpoint, taskIdOf, workIdOf } from "./job.ts";
import { itemOf, taskOf } from "./job-events.ts";
import { leftToFaster, type PassesOver } from "./left-to-faster.ts";
import { Line } from "./line.ts";
import { fits, type Lane, type Needs, type Offer, whyNotThere, without } from "./needs.ts";
import type { Plan } from "./plan.ts";
import type { QueueState } from "./queue-state.ts";
import { isForOthers, isForOthersOfItsKind } from "./untaken.ts";
import { agedUrgency, CRITICAL, type Urgency, urgencyOf } from "./urgency.ts";

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

interface Choice extends Head {
  readonly line: Line;
  readonly job: JobRow;
  readonly level: number;
}

/** Whoever asked for a job that only a stuck node may have has so long to let others have it. */
const RELAX_MS = 120_000;

/**
 * Jobs that a node had before and shall not have again: one that did not go on there, while somebody else could take it; and
 * one whose lease lapsed in silence while the claim was open, since a node that sleeps hears nothing, and has it back when it
 * is heard.
 */
const passedOverBy =
  (parts: QueueState, { node_id, asked_at }: ClaimRequest, now: number): PassesOver =>
  (job, lane) => {
    const here = earlierLeases(job).filter((each) => each.node_id === node_id);
    if (here.some(({ why, lapsed_at }) => why === "silent" && lapsed_at >= (asked_at ?? Number.POSITIVE_INFINITY)))
      return true;
    const stuck = here.filter(({ why }) => why === "stuck");
    if (stuck.length === 0) return false;
    if (isForOthers(parts, lane, stuckOn(job), now)) return true;
    const isFresh = stuck.some(({ lapsed_at }) => now - lapsed_at < RELAX_MS);
    return isFresh && isForOthersOfItsKind(parts, lane, stuckOn(job), now);
  };

/** The job of a config that is next: the most urgent, its waiting counted in, and the oldest of those. */
function bestOf(
  config: string,
  lines: readonly Line[],
  offer: Offer,
  parts: QueueState,
  now: number,
  passesOver: PassesOver,
  leaves: PassesOver,
): Choice | undefined {
  let best: Choice | undefined;
  for (const line of lines) {
    if (!fits(line.lane.needs, offer)) continue;
    const job = line.peek(passesOver);
    // The first has waited longest: who leaves it to others leaves them those behind it too.
    if (job === undefined || leaves(job, line.lane)) continue;
    const level = agedUrgency(job.urgency, now - job.ready_at, parts.ageing);
    if (best !== undefined && (level < best.level || (level === best.level && job.seq > best.job.seq))) continue;
    best = { config, cost: job.cost, urgent: level >= CRITICAL, line, job, level };
  }
  return best;
}

/** The lines that claims of one plan look at: what one of them has taken, the next one does not look at again. */
export class ClaimLines {
  readonly #lines = new Map<string, Line>();
  readonly #plan: Plan;
  readonly #parts: QueueState;
  /** How many jobs the claims ask for in all. */
  readonly #max: number;

  constructor(parts: QueueState, plan: Plan, max: number) {
    this.#parts = parts;
    this.#plan = plan;
    this.#max = max;
  }

  /** Those of some lanes, by config. */
  of(lanes: readonly Lane[]): Map<string, Line[]> {
    const byConfig = new Map<string, Line[]>();
    // As many as each would give if all had as much to do: few looks, and few rows in vain.
    const chunk = Math.max(2, Math.ceil((1.5 * this.#max) / Math.max(1, lanes.length)));
    for (const lane of lanes) {
      const config = lane.configKey ?? "";
      const own = byConfig.get(config) ?? [];
      for (const level of this.#parts.lanes.levels(lane)) own.push(this.#line(lane, level, chunk));
      byConfig.set(config, own);
    }
    return byConfig;
  }

  #line(lane: Lane, level: number, chunk: number): Line {
    const key = `${lane.lane}/${level}`;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line(this.#plan, this.#parts.lanes, lane, level, chunk);
      this.#lines.set(key, line);
    }
    return line;
  }
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
  const max = Math.min(request.most, parts.limits.maxInCall, verdict.room ?? Number.POSITIVE_INFINITY);
  const { exceptConfigs = [], exceptKinds = [] } = verdict;
  const kinds = request.kinds === undefined ? undefined : new Set(request.kinds);
  const fitting = [...parts.lanes.all()].filter(
    (lane) =>
      whyNotThere(lane, request.node_id, kinds) === undefined &&
      fits(lane.needs, request.offer) &&
      !exceptKinds.includes(lane.workType) &&
      !(lane.configKey !== null && exceptConfigs.includes(lane.configKey)),
  );
  const chosen = deal(parts, plan, lines.of(fitting), request, max);
  return lease(parts, plan, request, chosen);
}

function deal(
  parts: QueueState,
  plan: Plan,
  lines: ReadonlyMap<string, readonly Line[]>,
  request: ClaimRequest,
  max: number,
): JobRow[] {
  const chosen: JobRow[] = [];
  let { offer } = request;
  const passesOver = passedOverBy(parts, request, plan.now);
  const leaves = leftToFaster(parts, plan, request.node_id, plan.now);
  const heads = new Map<string, Choice>();
  const look = (config: string) => {
    const best = bestOf(config, lines.get(config)!, offer, parts, plan.now, passesOver, leaves);
    if (best === undefined) heads.delete(config);
    else heads.set(config, best);
  };
  for (const config of lines.keys()) look(config);
  parts.deficits = forgetIdle(
    parts.deficits,
    [...lines.keys()].filter((config) => !heads.has(config)),
  );
  let shares = sharesOf([...heads.keys()], parts.shares);
  while (chosen.length < max && heads.size > 0) {
    const config = nextConfig([...heads.values()], parts.deficits, parts.shares)!;
    const { job, line } = heads.get(config)!;
    line.take(job);
    chosen.push(job);
    parts.deficits = afterServing(parts.deficits, shares, { config, cost: job.cost }, parts.shares.maxDebt);
    offer = without(offer, line.lane.needs);
    const before = heads.size;
    look(config);
    for (const [other, head] of [...heads]) if (!fits(head.line.lane.needs, offer)) look(other);
    if (heads.size !== before) shares = sharesOf([...heads.keys()], parts.shares);
  }
  return chosen;
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
