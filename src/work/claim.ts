import { type Json, OperatingError } from "../kernel/index.ts";
import { afterServing, forgetIdle, type Head, nextConfig, sharesOf } from "./fair-share.ts";
import { columnsOf, type JobRow, type LeaseRef, taskIdOf, workIdOf } from "./job.ts";
import { Line } from "./line.ts";
import { fits, type Lane, type Needs, type Offer, whyNotThere, without } from "./needs.ts";
import type { Plan } from "./plan.ts";
import type { QueueParts } from "./queue-parts.ts";
import { itemOf, taskOf } from "./told.ts";
import { agedUrgency, CRITICAL, type Urgency, urgencyOf } from "./urgency.ts";

export interface ClaimRequest {
  readonly node_id: string;
  /** Jobs it would take at once. */
  readonly most: number;
  /** What it has free. */
  readonly offer: Offer;
  /** Kinds it has executors for; all unless said. */
  readonly kinds?: readonly string[];
  /**
   * What the node calls this request: said again, because the answer was lost, it gets what it got. What it did not ask to be
   * started it gets until that began.
   */
  readonly claim_id?: string | undefined;
  /** It begins with them at once, and need not say so. */
  readonly start?: boolean | undefined;
}

/** A job in the hands of a node. Times are Unix seconds. */
export interface Lease extends LeaseRef {
  readonly task_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly urgency: Urgency;
  readonly payload: Readonly<Record<string, Json>>;
  /** What it takes of its node while it runs: the node keeps its own books of what it has left. */
  readonly needs: Needs;
  readonly attempts: number;
  readonly max_attempts: number;
  /** Not heard by then, the holder is taken for gone. Each beat moves it. */
  readonly beat_by: number;
  /** The attempt may not last longer. Nothing moves it but the start. */
  readonly expires_at: number;
}

interface Choice extends Head {
  readonly line: Line;
  readonly job: JobRow;
  readonly level: number;
}

/** The job of a config that is next: the most urgent, its waiting counted in, and the oldest of those. */
function bestOf(
  config: string,
  lines: readonly Line[],
  offer: Offer,
  parts: QueueParts,
  now: number,
): Choice | undefined {
  let best: Choice | undefined;
  for (const line of lines) {
    if (!fits(line.lane.needs, offer)) continue;
    const job = line.peek();
    if (job === undefined) continue;
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
  readonly #parts: QueueParts;
  /** How many jobs the claims ask for in all. */
  readonly #most: number;

  constructor(parts: QueueParts, plan: Plan, most: number) {
    this.#parts = parts;
    this.#plan = plan;
    this.#most = most;
  }

  /** Those of some lanes, by config. */
  of(lanes: readonly Lane[]): Map<string, Line[]> {
    const byConfig = new Map<string, Line[]>();
    // As many as each would give if all had as much to do: few looks, and few rows in vain.
    const chunk = Math.max(2, Math.ceil((1.5 * this.#most) / Math.max(1, lanes.length)));
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
export function claimJobs(parts: QueueParts, plan: Plan, request: ClaimRequest, lines: ClaimLines): Lease[] {
  const known = standing(parts, plan, request);
  if (known.length > 0) return known;
  const verdict = parts.nodePolicy(request.node_id, plan.now);
  if (!verdict.accepts)
    throw new OperatingError("NODE_HELD_BACK", `node ${request.node_id} gets no work: ${verdict.reason}`, {
      retryable: true,
      hint: "Ask again later.",
    });
  const most = Math.min(request.most, parts.limits.mostInCall, verdict.room ?? Number.POSITIVE_INFINITY);
  const { exceptConfigs = [], exceptKinds = [] } = verdict;
  const kinds = request.kinds === undefined ? undefined : new Set(request.kinds);
  const fitting = [...parts.lanes.all()].filter(
    (lane) =>
      whyNotThere(lane, request.node_id, kinds) === undefined &&
      fits(lane.needs, request.offer) &&
      !exceptKinds.includes(lane.workType) &&
      !(lane.configKey !== null && exceptConfigs.includes(lane.configKey)),
  );
  const chosen = deal(parts, plan, lines.of(fitting), request.offer, most);
  return lease(parts, plan, request, chosen);
}

function deal(
  parts: QueueParts,
  plan: Plan,
  lines: ReadonlyMap<string, readonly Line[]>,
  offered: Offer,
  most: number,
): JobRow[] {
  const chosen: JobRow[] = [];
  let offer = offered;
  const heads = new Map<string, Choice>();
  const look = (config: string) => {
    const best = bestOf(config, lines.get(config)!, offer, parts, plan.now);
    if (best === undefined) heads.delete(config);
    else heads.set(config, best);
  };
  for (const config of lines.keys()) look(config);
  parts.deficits = forgetIdle(
    parts.deficits,
    [...lines.keys()].filter((config) => !heads.has(config)),
  );
  let shares = sharesOf([...heads.keys()], parts.shares);
  while (chosen.length < most && heads.size > 0) {
    const config = nextConfig([...heads.values()], parts.deficits, parts.shares)!;
    const { job, line } = heads.get(config)!;
    line.take();
    chosen.push(job);
    parts.deficits = afterServing(parts.deficits, shares, { config, cost: job.cost }, parts.shares.mostDebt);
    offer = without(offer, line.lane.needs);
    const before = heads.size;
    look(config);
    for (const [other, head] of [...heads]) if (!fits(head.line.lane.needs, offer)) look(other);
    if (heads.size !== before) shares = sharesOf([...heads.keys()], parts.shares);
  }
  return chosen;
}

/** What each was given to work on, in one look. */
function payloadsOf(plan: Plan, seqs: readonly number[]): Map<number, Readonly<Record<string, Json>>> {
  const rows = plan.read<{ seq: number; payload: string }>(
    "SELECT i.seq, i.payload FROM json_each(?) chosen JOIN work_inputs i ON i.seq = chosen.value",
    JSON.stringify(seqs),
  );
  return new Map(rows.map(({ seq, payload }) => [seq, JSON.parse(payload) as Record<string, Json>]));
}

const STANDING = `SELECT ${columnsOf("j")} FROM work_jobs j INDEXED BY work_held
  WHERE state IN ('claimed', 'running') AND node_id = ? AND claim_id = ? ORDER BY seq`;

/** What a request got that is said again: leases that stand, and that nobody has begun with by a word of its own. */
function standing(parts: QueueParts, plan: Plan, { node_id, claim_id, start }: ClaimRequest): Lease[] {
  if (claim_id === undefined) return [];
  const rows = plan.read<JobRow>(STANDING, node_id, claim_id).flatMap((row) => plan.found(row) ?? []);
  const beat_by = plan.now + parts.lease.silentMs;
  const jobs = rows.filter(({ state }) => state === "claimed" || start === true);
  // Whoever asks lives.
  return leasesOf(
    plan,
    jobs.map((job) => plan.move(job, "beat", job.state, { beat_by })),
  );
}

/** From here on the attempt's own time runs. */
export function beginAttempt(parts: QueueParts, plan: Plan, job: JobRow, isHeard: boolean, pid?: number): JobRow {
  const running = plan.move(job, "start", "running", {
    started_at: plan.now,
    unheard: isHeard ? null : 1,
    beat_by: plan.now + parts.lease.silentMs,
    expires_at: expiryOf(job, plan.now),
  });
  const { task_id, node_id } = taskOf(plan, running);
  plan.say("WORK_STARTED", { ...itemOf(plan, running), node_id, attempts: running.attempts, task_id });
  plan.say("TASK_SPAWNED", { ...taskOf(plan, running), ...(pid === undefined ? {} : { pid }) });
  return running;
}

function lease(parts: QueueParts, plan: Plan, request: ClaimRequest, chosen: readonly JobRow[]): Lease[] {
  const { node_id: nodeId, claim_id = null } = request;
  const jobs = chosen.map((waiting) => {
    const beatBy = plan.now + parts.lease.silentMs;
    const job = plan.move(waiting, "claim", "claimed", {
      attempts: waiting.attempts + 1,
      fence: waiting.fence + 1,
      node_id: nodeId,
      claimed_at: plan.now,
      started_at: null,
      beat_by: beatBy,
      expires_at: expiryOf(waiting, plan.now),
      progress: null,
      metrics: null,
      stop_reason: null,
      stop_by: null,
      lapsed_attempts: null,
      claim_id,
    });
    const { attempts, fence } = job;
    const expires_at = job.expires_at! / 1_000;
    plan.say("WORK_CLAIMED", { ...itemOf(plan, job), node_id: nodeId, attempts, fence, expires_at });
    return request.start === true ? beginAttempt(parts, plan, job, false) : job;
  });
  return leasesOf(plan, jobs);
}

function leasesOf(plan: Plan, jobs: readonly JobRow[]): Lease[] {
  if (jobs.length === 0) return [];
  const payloads = payloadsOf(
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
      payload: payloads.get(job.seq) ?? {},
      needs,
      attempts: job.attempts,
      max_attempts: job.max_attempts,
      beat_by: job.beat_by! / 1_000,
      expires_at: job.expires_at! / 1_000,
    };
  });
}

/** When an attempt that begins now has lasted too long: its time limit, or the job's deadline before that. */
const expiryOf = (job: Pick<JobRow, "timeout_ms" | "deadline">, now: number): number =>
  Math.min(now + job.timeout_ms, job.deadline ?? Number.POSITIVE_INFINITY);
