import type { EventName } from "../events/index.ts";
import { type Clock, defined, isOperatingError, type Json, type OperatingError, type Random } from "../kernel/index.ts";
import type { AnyEvent, EventRouter, RemoteSpan, Store, WriteSet } from "../router/index.ts";
import { type AddedJob, addJobs } from "./add.ts";
import { ClaimLines, claimJobs, type Lease } from "./claim.ts";
import type { ClaimRequest } from "./claim-request.ts";
import { type DurationRow, Durations, type PaceRow, progressLimit } from "./durations.ts";
import type { WorkFailure } from "./failure.ts";
import { type SharePolicy, sharePolicyDefaults } from "./fair-share.ts";
import { type JobSpecInput, type LeaseRef, notFound, type SavedInput, seqOf, workIdOf } from "./job.ts";
import type { EvidenceInput, WorkKinds } from "./kinds.ts";
import { createKnownWorkers, type KnownWorkers } from "./known-workers.ts";
import { createLanes } from "./lanes.ts";
import {
  type AfterFailure,
  type BeatAnswer,
  beatJob,
  completeJob,
  failJob,
  type Progress,
  releaseJob,
  startJob,
} from "./lease.ts";
import { type HeldLease, type Idle, LeaseTimes } from "./lease-times.ts";
import { type WorkLimits, workLimitDefaults } from "./limits.ts";
import { whyNotThere } from "./needs.ts";
import { type NodeFigures, nodeFigures } from "./node-figures.ts";
import { allNodeSlots, type NodeSlots, nodesStuck } from "./node-policy.ts";
import { cancelJob, evictNode, type OrderOptions, preemptJob, retryJob } from "./orders.ts";
import { type Candidate, type Placement, waitsFor, whyNotOn } from "./placement.ts";
import { KnownRows, Plan } from "./plan.ts";
import type { NodePolicy, NodeVerdict, QueueState } from "./queue-state.ts";
import { type Reaped, type ReapPass, reap, type StuckJob } from "./reap.ts";
import { type LeasePolicy, leasePolicyDefaults } from "./settings.ts";
import { isHeld, type JobState } from "./states.ts";
import { forgetLanes, forgetWork, isDue, promoteDue } from "./tables.ts";
import type { WaitingJob } from "./units/job-scheduler/decide.ts";
import { type UntakenJob, whyUntaken } from "./untaken.ts";
import type { AgeingPolicy } from "./urgency.ts";
import {
  findJobs,
  fronts,
  type HeldJob,
  heldCounts,
  heldJobs,
  type JobFilter,
  type JobView,
  listJobs,
  oldestByKind,
  payloadOf,
  type QueueCount,
  type QueueLoad,
  queueCounts,
  queueLoad,
  showJob,
} from "./views.ts";

export const WORK_STORE = "work_store";

export interface WorkQueueOptions<K extends string> {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Store;
  readonly clock: Clock;
  /** Milliseconds in which this process listened: leases are judged by them. The clock's own unless said. */
  readonly listened?: () => number;
  readonly random: Random;
  /** The kinds that somebody here can do; others are refused. */
  readonly kinds: WorkKinds<K>;
  /** Whether a file is in the store, whole; a result counts only with its files. Not asked unless given. */
  readonly isStored?: (sha256: string) => Promise<boolean>;
  readonly limits?: Partial<WorkLimits>;
  readonly lease?: Partial<LeasePolicy>;
  readonly ageing?: AgeingPolicy;
  readonly shares?: Partial<SharePolicy>;
  /** Which nodes get work at all; every one unless said. */
  readonly nodePolicy?: NodePolicy;
}

/** One answer for each of many: what it came to, or why it was refused. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: OperatingError };

/** What a unit's context gives for a change that belongs to its own commit. */
export interface JoinedContext {
  readonly rows: Pick<WriteSet, "apply">;
  readonly emit: Readonly<Partial<Record<EventName, (payload: never) => unknown>>>;
  afterCommit(run: () => void): void;
}

const REAP_AT_ONCE = 500;
const MAX_KNOWN = 50_000;
const MAX_IN_BATCH = 10_000;
const HELD_COLUMNS = "seq, fence, lane, beat_by, expires_at, stop_by, earlier";

/** Refusals concern one of them alone; anything else is a fault of the whole. */
const each = <A, T>(all: readonly A[], run: (one: A) => T): Answer<T>[] =>
  all.map((one) => {
    try {
      return { ok: true, value: run(one) };
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      return { ok: false, error: thrown };
    }
  });

/** Of the files that results name those that are not in the store. */
async function missingOf(
  named: ReadonlySet<string>,
  isStored: (sha256: string) => Promise<boolean>,
): Promise<ReadonlySet<string>> {
  const found = await Promise.all([...named].map(async (sha256) => ((await isStored(sha256)) ? [] : [sha256])));
  return new Set(found.flat());
}

const only = <T>([answer]: readonly Answer<T>[]): T => {
  if (answer!.ok) return answer!.value;
  throw answer!.error;
};

/**
 * The durable queue. A change is decided on the committed rows and on those that are on their way to the disk, and is one
 * commit with the events that tell of it; the writer refuses it if a row has changed meanwhile, and it is decided anew. So
 * callers never wait for one another, and nothing is ever decided on what was not so.
 */
export class WorkQueue<K extends string = string> {
  /** Who is there to do work. */
  readonly workers: KnownWorkers;
  readonly #router: Pick<EventRouter, "transact">;
  readonly #store: Store;
  readonly #clock: Clock;
  /** Since it was opened. */
  readonly #listenedMs: () => number;
  readonly #parts: QueueState;
  readonly #known: KnownRows;
  readonly #isStored: ((sha256: string) => Promise<boolean>) | undefined;
  /** Whether any job may wait for another one: known before that job is on disk, so that no completion overlooks it. */
  #dependencies = false;
  readonly #listeners = new Set<() => void>();

  constructor(options: WorkQueueOptions<K>) {
    const { router, store, clock } = options;
    this.#router = router;
    this.#store = store;
    this.#clock = clock;
    this.#isStored = options.isStored;
    this.workers = createKnownWorkers(clock);
    const limits = { ...workLimitDefaults, ...options.limits };
    this.#known = new KnownRows(MAX_KNOWN);
    this.#dependencies = store.read("SELECT 1 FROM work_dependencies LIMIT 1").length > 0;
    const [numbers] = store.read<{ newest: number | null; unfinished: number | null }>(
      `SELECT (SELECT max(seq) FROM work_jobs) AS newest, (SELECT sum(jobs) FROM work_counts WHERE state IN
         ('blocked', 'delayed', 'pending', 'claimed', 'running')) AS unfinished`,
    );
    const lease = { ...leasePolicyDefaults, ...options.lease };
    const lanes = createLanes(store, limits.maxLanes);
    const durations = new Durations(store);
    const limitOf = (lane: number) => progressLimit(durations, lanes.get(lane), lease);
    const listened = options.listened ?? (() => clock.monotonic());
    const openedAt = listened();
    this.#listenedMs = () => listened() - openedAt;
    this.#parts = {
      kinds: options.kinds,
      limits,
      lease,
      ageing: options.ageing ?? { stepMs: 4 * 3_600_000 },
      shares: { ...sharePolicyDefaults, ...options.shares },
      nodePolicy: options.nodePolicy ?? (() => ({ accepts: true })),
      lanes,
      times: new LeaseTimes(listened, lease.silentMs, limitOf),
      durations,
      workers: this.workers,
      random: options.random,
      given: new Map(),
      deficits: new Map(),
      nextSeq: (numbers?.newest ?? 0) + 1,
      unfinished: numbers?.unfinished ?? 0,
    };
    this.#adoptHeld();
  }

  /** Adds one job, if it is sound and there is room. */
  async add(spec: JobSpecInput<K>, cause?: AnyEvent): Promise<AddedJob> {
    return (await this.addAll([spec], cause))[0]!;
  }

  /** All of them or none. */
  addAll(specs: readonly JobSpecInput<K>[], cause?: AnyEvent, follows?: RemoteSpan): Promise<AddedJob[]> {
    return this.#change((plan) => addJobs(this.#parts, plan, specs), cause, follows);
  }

  /** Leases on the jobs that are this node's to have now: none, when nothing fits. */
  async claim(request: ClaimRequest): Promise<Lease[]> {
    return only(await this.claimAll([request]));
  }

  /** The same for many, in one commit; each is answered by itself. */
  async claimAll(requests: readonly ClaimRequest[]): Promise<Answer<Lease[]>[]> {
    for (const request of requests) this.workers.asked(request);
    const at = this.#clock.now();
    const [due] = this.#store.read(`SELECT 1 FROM work_jobs WHERE ${isDue} LIMIT 1`, at);
    if (due !== undefined) {
      await this.#store.commit([promoteDue({ at, max: this.#parts.limits.maxInCall })]);
      this.#parts.lanes.lookEverywhere();
      this.#tell();
    }
    const max = requests.reduce((sum, request) => sum + request.most, 0);
    const { given } = this.#parts;
    const count = (nodeId: string, jobs: number) => {
      const left = (given.get(nodeId) ?? 0) + jobs;
      if (left > 0) given.set(nodeId, left);
      else given.delete(nodeId);
    };
    let mine: Lease[] = [];
    const forgetMine = () => {
      for (const { node_id } of mine) count(node_id, -1);
      mine = [];
    };
    try {
      return await this.#change((plan) => {
        // It may be decided anew: what was given before is not.
        forgetMine();
        const lines = new ClaimLines(this.#parts, plan, Math.min(max, this.#parts.limits.maxInCall));
        return each(requests, (request) => {
          const leases = claimJobs(this.#parts, plan, request, lines);
          for (const lease of leases) count(lease.node_id, 1);
          mine.push(...leases);
          return leases;
        });
      });
    } finally {
      forgetMine();
    }
  }

  async start(ref: LeaseRef, pid?: number): Promise<{ expires_at: number }> {
    return this.#change((plan) => startJob(this.#parts, plan, ref, pid));
  }

  /** A sign of life, with how far it is; what it shall do comes back. */
  async heartbeat(ref: LeaseRef, progress?: Progress): Promise<BeatAnswer> {
    return only(await this.heartbeatAll([{ ref, ...defined({ progress }) }]));
  }

  heartbeatAll(beats: readonly { ref: LeaseRef; progress?: Progress | undefined }[]): Promise<Answer<BeatAnswer>[]> {
    for (const { ref } of beats) this.workers.heard(ref.node_id);
    return this.#change((plan) => each(beats, ({ ref, progress }) => beatJob(this.#parts, plan, ref, progress)));
  }

  async complete(ref: LeaseRef, evidence: EvidenceInput): Promise<{ repeated: boolean }> {
    return only(await this.completeAll([{ ref, evidence }]));
  }

  completeAll(all: readonly { ref: LeaseRef; evidence: EvidenceInput }[]): Promise<Answer<{ repeated: boolean }>[]> {
    const decide = (missing: ReadonlySet<string>) =>
      this.#change((plan) => each(all, ({ ref, evidence }) => completeJob(this.#parts, plan, ref, evidence, missing)));
    const isStored = this.#isStored;
    if (isStored === undefined) return decide(new Set());
    const named = all.flatMap(({ evidence: { outputs = [] } }) => outputs.map(({ sha256 }) => sha256));
    return missingOf(new Set(named), isStored).then(decide);
  }

  fail(ref: LeaseRef, failure: WorkFailure): Promise<AfterFailure> {
    return this.#ending((plan) => failJob(this.#parts, plan, ref, failure));
  }

  /** Gives a job back unspent: for a worker that shuts down or makes room. What it saved counts if it is in the store. */
  async release(ref: LeaseRef, reason: string, saved?: SavedInput): Promise<AfterFailure> {
    const isThere = saved !== undefined && (await (this.#isStored?.(saved.sha256) ?? true));
    return this.#ending((plan) => releaseJob(this.#parts, plan, ref, reason, isThere ? saved : undefined));
  }

  cancel(workId: string, options: OrderOptions): Promise<{ state: JobState }> {
    const decide = (plan: Plan) => cancelJob(this.#parts, plan, workId, options);
    return options.dryRun === true ? this.#tried(decide) : this.#ending(decide);
  }

  preempt(workId: string, options: { reason: string; for?: string }): Promise<{ asked: boolean }> {
    return this.#change((plan) => preemptJob(this.#parts, plan, workId, options));
  }

  /** Takes everything that a lost node holds back into the queue. */
  async evict(nodeId: string, reason: string): Promise<{ moved: string[] }> {
    const moved: string[] = [];
    for (;;) {
      const some = await this.#ending((plan) => evictNode(this.#parts, plan, nodeId, reason));
      moved.push(...some.moved);
      if (some.moved.length < this.#parts.limits.maxInCall) return { moved };
    }
  }

  retry(workId: string, options: OrderOptions): Promise<{ state: JobState }> {
    const decide = (plan: Plan) => retryJob(this.#parts, plan, workId, options);
    return options.dryRun === true ? this.#tried(decide) : this.#change(decide);
  }

  /**
   * Ends silent leases and attempts that took too long, gives to others what does not go on, lets deadlines lapse, and fails
   * those whose dependency failed.
   */
  async reap(): Promise<Reaped & Pick<ReapPass, "stuckJobs" | "unrelieved">> {
    const counts = { silent: 0, expired: 0, stopped: 0, stuck: 0, lapsed: 0, dependents: 0 };
    const stuckJobs: StuckJob[] = [];
    for (;;) {
      const pass = await this.#change((plan) => reap(this.#parts, plan, REAP_AT_ONCE));
      for (const key of Object.keys(counts) as (keyof Reaped)[]) counts[key] += pass.counts[key];
      stuckJobs.push(...pass.stuckJobs);
      // What failed may have dependents of its own: until nothing more falls.
      if (Object.values(pass.counts).every((n) => n === 0))
        return { ...counts, stuckJobs, unrelieved: pass.unrelieved };
    }
  }

  /** What was learned of how long jobs take since this was last asked for, to be kept. */
  newDurations(): [string, DurationRow][] {
    return this.#parts.durations.unsaved();
  }

  /** The same of how fast nodes are. */
  newPaces(): [string, PaceRow][] {
    return this.#parts.durations.unsavedPaces();
  }

  /** How long a job would take on a node, or has left there; undefined while too little is known. */
  expectedMs(workId: string, nodeId: string): number | undefined {
    const [row] = this.#store.read<{ lane: number; state: JobState; node_id: string | null; began: number | null }>(
      "SELECT lane, state, node_id, coalesce(started_at, claimed_at) AS began FROM work_jobs WHERE seq = ?",
      seqOf(workId),
    );
    if (row === undefined) return undefined;
    const wholeMs = this.#parts.durations.expected(this.#parts.lanes.get(row.lane), nodeId);
    const isHere = isHeld(row.state) && row.node_id === nodeId && row.began !== null;
    return wholeMs === undefined || !isHere ? wholeMs : Math.max(0, wholeMs - (this.#clock.now() - row.began!));
  }

  /** How long such a share of the jobs of a kind and config took; undefined while too few are known. */
  took(sort: { readonly workType: string; readonly configKey: string | null }, share: number): number | undefined {
    return this.#parts.durations.took(sort, share);
  }

  /** For how long a held job has made no progress, and after how long it is given to another; undefined where nobody holds it. */
  idle(workId: string): Idle | undefined {
    const [row] = this.#store.read<HeldLease & { state: JobState }>(
      `SELECT ${HELD_COLUMNS}, state FROM work_jobs WHERE seq = ?`,
      seqOf(workId),
    );
    return row === undefined || !isHeld(row.state) ? undefined : this.#parts.times.idle(row);
  }

  /** Forgets finished jobs beyond their time or number, and lanes that nobody uses. */
  async forget(): Promise<{ forgotten: number }> {
    const { limits, lanes } = this.#parts;
    const now = this.#clock.now();
    const max = 1_000;
    let forgotten = 0;
    for (;;) {
      const [done] = await this.#store.commit([
        forgetWork({
          completedBefore: now - limits.keepCompletedMs,
          failedBefore: now - limits.keepFailedMs,
          maxFinished: limits.maxFinished,
          max,
        }),
      ]);
      forgotten += done.forgotten;
      if (done.forgotten < max) break;
    }
    if (lanes.size > limits.maxLanes / 2) {
      await this.#store.commit([forgetLanes({})]);
      lanes.reload();
    }
    // A line or a lease that was overlooked, for whatever reason, is found from here on.
    lanes.lookEverywhere();
    this.#adoptHeld();
    return { forgotten };
  }

  /**
   * A change that belongs to the commit of a unit's handler or tick: jobs and their events come about with its rows and its
   * ack, or not at all. The unit declares the events that this says.
   */
  join(context: JoinedContext): { addAll(specs: readonly JobSpecInput<K>[]): AddedJob[] } {
    return {
      addAll: (specs) => {
        const plan = new Plan(this.#store, this.#parts.lanes, undefined, this.#clock.now());
        const added = addJobs(this.#parts, plan, specs, MAX_IN_BATCH);
        this.#dependencies ||= plan.waits;
        plan.emitAll(({ eventType, payload }) => context.emit[eventType]!(payload as never));
        const operation = plan.operation(this.#dependencies);
        if (operation !== undefined) context.rows.apply(operation);
        context.afterCommit(() => {
          this.#parts.unfinished += plan.unfinished;
          this.#settled(plan);
        });
        return added;
      },
    };
  }

  /** Calls whenever jobs may have become claimable. Returns how to stop. */
  onClaimable(listen: () => void): () => void {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }

  hasClaimable(): boolean {
    return this.claimable(1) > 0;
  }

  /** How many jobs wait to be claimed, or their time has come; no more than `most` are counted. */
  claimable(max: number): number {
    const pending = this.#store.read("SELECT 1 FROM work_jobs WHERE state = 'pending' LIMIT ?", max).length;
    if (pending >= max) return pending;
    const due = `SELECT 1 FROM work_jobs WHERE ${isDue} LIMIT ?2`;
    return pending + this.#store.read(due, this.#clock.now(), max - pending).length;
  }

  show(workId: string): JobView | undefined {
    return showJob(this.#store, workId);
  }

  /** What a job was given; undefined for one that nobody knows. */
  payload(workId: string): Readonly<Record<string, Json>> | undefined {
    return payloadOf(this.#store, workId);
  }

  list(filter?: JobFilter): JobView[] {
    return listJobs(this.#store, filter);
  }

  /** The same on another thread, for filters that may have to go through all jobs. */
  find(filter: JobFilter, signal?: AbortSignal): Promise<JobView[]> {
    return findJobs(this.#store, filter, signal);
  }

  held(nodeId?: string): HeldJob[] {
    return heldJobs(this.#store, nodeId);
  }

  /** How many jobs each node holds. */
  heldCounts(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return heldCounts(this.#store, signal);
  }

  /** Asks a node to stop and give back what it holds; what may not be stopped it finishes. */
  async preemptAll(nodeId: string, reason: string): Promise<void> {
    const held = this.held(nodeId).filter(({ work_type, stopping }) => !stopping && this.isPreemptible(work_type));
    if (held.length > 0)
      await this.#change((plan) => {
        for (const { work_id } of held) preemptJob(this.#parts, plan, work_id, { reason });
      });
  }

  /** The first few of each line that wait and are at least so urgent. */
  urgent(level: number, max: number): WaitingJob[] {
    const now = this.#clock.now();
    return fronts(this.#store, this.#parts.lanes, level, max).map(({ seq, lane, urgency, ready_at }) => {
      const line = this.#parts.lanes.get(lane);
      return {
        work_id: workIdOf(seq),
        urgency,
        waitedMs: now - ready_at,
        fits: (nodeId) => whyNotThere(line, nodeId, undefined) === undefined,
      };
    });
  }

  /** Jobs at the fronts of their lines that nobody who is there may have, with the reason. */
  untaken(): UntakenJob[] {
    const { lanes, nodePolicy } = this.#parts;
    const now = this.#clock.now();
    const busy = new Set(this.held().map(({ node_id }) => node_id));
    const workers = this.workers.list().map((worker) => ({
      ...worker,
      verdict: nodePolicy(worker.node_id, now),
      isIdle: !busy.has(worker.node_id),
    }));
    return fronts(this.#store, lanes, 0, 1).flatMap(({ seq, lane, ready_at }) => {
      const line = lanes.get(lane);
      const reason = whyUntaken(line, workers);
      if (reason === undefined) return [];
      return [{ work_id: workIdOf(seq), work_type: line.workType, waitedMs: now - ready_at, reason }];
    });
  }

  /** What a job needs, and where it may run; undefined for one that nobody knows. */
  placement(workId: string): Placement | undefined {
    const [row] = this.#store.read<{ lane: number }>("SELECT lane FROM work_jobs WHERE seq = ?", seqOf(workId));
    if (row === undefined) return undefined;
    const { needs, targets, excluded } = this.#parts.lanes.get(row.lane);
    return { needs, targets, excluded, waitsFor: waitsFor(this.#store, seqOf(workId)) };
  }

  /** Why a node could not take a job now; undefined if it could. */
  whyNotOn(workId: string, candidate: Candidate): string | undefined {
    const [row] = this.#store.read<{ lane: number }>("SELECT lane FROM work_jobs WHERE seq = ?", seqOf(workId));
    if (row === undefined) throw notFound(workId);
    const verdict = this.#parts.nodePolicy(candidate.node_id, this.#clock.now());
    return whyNotOn(this.#parts.lanes.get(row.lane), candidate, verdict);
  }

  /** Whether a node may have work at all, and why not. */
  verdictOn(nodeId: string): NodeVerdict {
    return this.#parts.nodePolicy(nodeId, this.#clock.now());
  }

  /** Nodes on which jobs stood still lately: others are asked where somebody has to be. */
  stuckNodes(): ReadonlySet<string> {
    return nodesStuck(this.#store);
  }

  /** How many jobs each node may hold, where that was decided; by node. */
  slots(): Map<string, NodeSlots> {
    return allNodeSlots(this.#store, this.#clock.now());
  }

  /** Jobs that wait and that this node could take, at the fronts of their lines. */
  fittingFor(candidate: Candidate): number {
    const { lanes } = this.#parts;
    const verdict = this.#parts.nodePolicy(candidate.node_id, this.#clock.now());
    return fronts(this.#store, lanes, 0, 1).filter(
      ({ lane }) => whyNotOn(lanes.get(lane), candidate, verdict) === undefined,
    ).length;
  }

  /** What it takes jobs of. */
  get kinds(): string[] {
    return Object.keys(this.#parts.kinds);
  }

  /** Whether jobs of a kind may be stopped for others. */
  isPreemptible(workType: string): boolean {
    return this.#parts.kinds[workType]?.preemptible ?? false;
  }

  /** What a node has done lately, and how fast beside the others. */
  figures(nodeId: string, signal?: AbortSignal): Promise<NodeFigures> {
    return nodeFigures(this.#store, nodeId, this.#clock.now(), signal);
  }

  load(): QueueLoad {
    return queueLoad(this.#store, this.#parts.lanes, this.#clock.now(), this.#listenedMs());
  }

  /** Milliseconds that the oldest claimable job of each kind has waited, as far as the fronts of the lines tell. */
  oldestByKind(): Record<string, number> {
    return oldestByKind(this.#store, this.#parts.lanes, this.#clock.now());
  }

  counts(): QueueCount[] {
    return queueCounts(this.#store);
  }

  /** Jobs that are not finished. */
  get unfinished(): number {
    return this.#parts.unfinished;
  }

  /** What would be decided now; nothing of it happens. */
  async #tried<T>(decide: (plan: Plan) => T): Promise<T> {
    return decide(new Plan(this.#store, this.#parts.lanes, this.#known, this.#clock.now()));
  }

  /** A change after which jobs may have failed that others wait for: those fail too, before the answer comes. */
  async #ending<T>(decide: (plan: Plan) => T): Promise<T> {
    let failed = false;
    const result = await this.#change((plan) => {
      const decided = decide(plan);
      failed = [...plan.rows()].some(({ state }) => state === "failed" || state === "cancelled");
      return decided;
    });
    if (failed && this.#store.read("SELECT 1 FROM work_jobs WHERE state = 'blocked' LIMIT 1").length > 0)
      await this.reap();
    return result;
  }

  async #change<T>(decide: (plan: Plan) => T, cause?: AnyEvent, follows?: RemoteSpan): Promise<T> {
    let plan: Plan | undefined;
    let answer: Answer<T> | undefined;
    const withdraw = () => {
      if (plan === undefined) return;
      this.#known.withdraw(plan);
      this.#parts.unfinished -= plan.unfinished;
      plan = undefined;
    };
    const how = {
      source: WORK_STORE,
      validation: "strict",
      ...defined({ parent: cause, follows }),
    } as const;
    try {
      await this.#router.transact(how, ({ rows, emit }) => {
        withdraw();
        const next = new Plan(this.#store, this.#parts.lanes, this.#known, this.#clock.now());
        [answer] = each([undefined], () => decide(next));
        if (answer!.ok) next.emitAll(({ eventType, payload }, cause) => emit(eventType, payload, cause));
        // A refusal is an answer too: it waits until what it was decided on is on disk.
        const operation = answer!.ok ? next.operation(this.#dependencies) : next.refusal();
        if (operation !== undefined) rows.apply(operation);
        if (!answer!.ok) return;
        this.#dependencies ||= next.waits;
        this.#known.enter(next);
        this.#parts.unfinished += next.unfinished;
        plan = next;
      });
    } catch (thrown) {
      withdraw();
      throw thrown;
    }
    if (plan !== undefined) this.#settled(plan);
    return only([answer!]);
  }

  /** A plan is on disk: claims find what it has made claimable. */
  #settled(plan: Plan): void {
    const { lanes, times, durations } = this.#parts;
    this.#known.settle(plan);
    for (const { lane, ms, nodeId } of plan.took) durations.note(lane, ms, nodeId);
    for (const row of plan.rows())
      if (!isHeld(row.state) && !isHeld(this.#known.row(row.seq)?.state ?? "completed")) times.forget(row.seq);
    for (const { lane, level } of plan.waiting) lanes.filled(lane, level);
    if (plan.completes && this.#dependencies) lanes.lookEverywhere();
    if (plan.waiting.length > 0 || (plan.completes && this.#dependencies)) this.#tell();
  }

  /** Every held job has a clock here, whoever gave its lease. */
  #adoptHeld(): void {
    const held = this.#store.read<HeldLease>(
      `SELECT ${HELD_COLUMNS} FROM work_jobs INDEXED BY work_held
       WHERE state IN ('claimed', 'running')`,
    );
    for (const lease of held) this.#parts.times.adopt(lease);
  }

  #tell(): void {
    for (const listen of this.#listeners) listen();
  }
}
