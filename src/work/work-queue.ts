import { type Clock, defined, type Json } from "../kernel/index.ts";
import type { Cause, RemoteSpan, Store } from "../router/index.ts";
import type { Lease } from "./claims/claim.ts";
import { claimMany, promote } from "./claims/claim-many.ts";
import { type Candidate, type Placement, placementOf, whyJobNotOn } from "./claims/placement.ts";
import type { UntakenJob } from "./claims/untaken.ts";
import type { ClaimRequest } from "./job/claim-request.ts";
import type { DurationRow, PaceRow } from "./job/durations.ts";
import type { WorkFailure } from "./job/failure.ts";
import type { JobSpecInput, LeaseRef, SavedInput } from "./job/job.ts";
import type { EvidenceInput } from "./job/kinds.ts";
import type { JobState } from "./job/states.ts";
import { expectedMs, idleOf } from "./leases/job-times.ts";
import {
  type AfterFailure,
  type BeatAnswer,
  beatJob,
  completeJob,
  failJob,
  type Progress,
  releaseJob,
  startJob,
} from "./leases/lease.ts";
import { cancelJob, evictNode, type OrderOptions, preemptJob, retryJob } from "./leases/orders.ts";
import { type Reaped, type ReapPass, reapAll } from "./leases/reap.ts";
import { resultsResidual } from "./leases/results-residual.ts";
import { utilizationLimits } from "./limits.ts";
import { type JobsOfSort, jobsAfter, type LoadForecast, loadForecastOf, storedForecast } from "./load/load-forecast.ts";
import { type Forecast, forecastNext } from "./next-jobs.ts";
import { type NodeFigures, type NodeRate, nodeFigures, nodeRates } from "./node-figures.ts";
import { allNodeSlots, idleSince, type NodeSlots, type NodeTroubles, nodesStuck, nodeTroubles } from "./node-policy.ts";
import { type AddedJob, addJobs } from "./queue/add.ts";
import { type Answer, each, only } from "./queue/answers.ts";
import { forgetFinished } from "./queue/forget.ts";
import type { KnownWorkers } from "./queue/known-workers.ts";
import type { Idle } from "./queue/lease-times.ts";
import type { NodeOutcomes } from "./queue/node-outcomes.ts";
import { type JudgeFile, openQueueState, type WorkQueueOptions } from "./queue/open-queue.ts";
import type { Plan } from "./queue/plan.ts";
import { type JoinedContext, QueueChanges } from "./queue/queue-changes.ts";
import type { NodeVerdict, QueueState } from "./queue/queue-state.ts";
import type { WaitingJob } from "./units/job-scheduler/decide.ts";
import {
  findJobs,
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
import { countClaimable, countFitting, untakenJobs, urgentJobs } from "./waiting-jobs.ts";

const { unknownJobMs: UNKNOWN_JOB_MS } = utilizationLimits;

/**
 * The durable queue, as everybody sees it: what one may ask of it and tell it. How a change comes to the disk is in
 * `queue-changes.ts`; what is decided stands beside it, in a file for each question.
 */
export class WorkQueue<K extends string = string> {
  /** Who is there to do work. */
  readonly workers: KnownWorkers;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #listened: () => number;
  readonly #openedAt: number;
  readonly #state: QueueState;
  readonly #changes: QueueChanges;
  readonly #isStored: ((sha256: string) => Promise<boolean>) | undefined;
  readonly #judgeFile: JudgeFile | undefined;

  constructor(options: WorkQueueOptions<K>) {
    const { router, store, clock } = options;
    this.#store = store;
    this.#clock = clock;
    this.#isStored = options.isStored;
    this.#judgeFile = options.judgeFile;
    this.#state = openQueueState(options);
    this.workers = this.#state.workers;
    this.#changes = new QueueChanges({ router, store, clock, state: this.#state });
    this.#listened = options.listened ?? (() => clock.monotonic());
    this.#openedAt = this.#listened();
  }

  /** Adds one job, if it is sound and there is room. */
  async add(spec: JobSpecInput<K>, cause?: Cause): Promise<AddedJob> {
    return (await this.addAll([spec], cause))[0]!;
  }

  /** All of them or none. */
  addAll(specs: readonly JobSpecInput<K>[], cause?: Cause, follows?: RemoteSpan): Promise<AddedJob[]> {
    return this.#changes.make((plan) => addJobs(this.#state, plan, specs), cause, follows);
  }

  /**
   * A change that belongs to the commit of a unit's handler or tick: jobs and their events come about with its rows and its
   * ack, or not at all. The unit declares the events that this says.
   */
  join(context: JoinedContext): { addAll(specs: readonly JobSpecInput<K>[]): AddedJob[] } {
    return this.#changes.join(context);
  }

  /** Leases on the jobs that are this node's to have now: none, when nothing fits. */
  async claim(request: ClaimRequest): Promise<Lease[]> {
    return only(await this.claimAll([request]));
  }

  /** The same for many, in one commit; each is answered by itself. */
  async claimAll(requests: readonly ClaimRequest[]): Promise<Answer<Lease[]>[]> {
    for (const request of requests) this.workers.asked(request);
    await promote(this.#store, this.#state, this.#changes, this.#clock.now());
    return claimMany(this.#state, this.#changes, requests);
  }

  async start(ref: LeaseRef, pid?: number): Promise<{ expires_at: number }> {
    return this.#changes.make((plan) => startJob(this.#state, plan, ref, pid));
  }

  /** A sign of life, with how far it is; what it shall do comes back. */
  async heartbeat(ref: LeaseRef, progress?: Progress): Promise<BeatAnswer> {
    return only(await this.heartbeatAll([{ ref, ...defined({ progress }) }]));
  }

  heartbeatAll(beats: readonly { ref: LeaseRef; progress?: Progress | undefined }[]): Promise<Answer<BeatAnswer>[]> {
    for (const { ref } of beats) this.workers.heard(ref.node_id);
    return this.#changes.make((plan) => each(beats, ({ ref, progress }) => beatJob(this.#state, plan, ref, progress)));
  }

  async complete(ref: LeaseRef, evidence: EvidenceInput): Promise<{ repeated: boolean }> {
    return only(await this.completeAll([{ ref, evidence }]));
  }

  async completeAll(
    all: readonly { ref: LeaseRef; evidence: EvidenceInput }[],
  ): Promise<Answer<{ repeated: boolean }>[]> {
    const missing = await this.#missing(all.flatMap(({ evidence: { outputs = [] } }) => outputs));
    const judge = this.#judgeFile;
    const faults = judge === undefined ? [] : await Promise.all(all.map((one) => this.#faultOf(judge, one, missing)));
    const results = all.map((one, at) => ({ ...one, files: { missing, fault: faults[at] } }));
    return this.#changes.make((plan) =>
      each(results, ({ ref, evidence, files }) => completeJob(this.#state, plan, ref, evidence, files)),
    );
  }

  fail(ref: LeaseRef, failure: WorkFailure): Promise<AfterFailure> {
    return this.#ending((plan) => failJob(this.#state, plan, ref, failure));
  }

  /** Gives a job back unspent: for a worker that shuts down or makes room. What it saved counts if it is in the store. */
  async release(ref: LeaseRef, reason: string, saved?: SavedInput): Promise<AfterFailure> {
    const isThere = saved !== undefined && (await this.#missing([saved])).size === 0;
    return this.#ending((plan) => releaseJob(this.#state, plan, ref, reason, isThere ? saved : undefined));
  }

  cancel(workId: string, options: OrderOptions): Promise<{ state: JobState }> {
    const decide = (plan: Plan) => cancelJob(this.#state, plan, workId, options);
    return options.dryRun === true ? this.#changes.tryOut(decide) : this.#ending(decide);
  }

  retry(workId: string, options: OrderOptions): Promise<{ state: JobState }> {
    const decide = (plan: Plan) => retryJob(this.#state, plan, workId, options);
    return options.dryRun === true ? this.#changes.tryOut(decide) : this.#changes.make(decide);
  }

  preempt(workId: string, options: { reason: string; for?: string }): Promise<{ asked: boolean }> {
    return this.#changes.make((plan) => preemptJob(this.#state, plan, workId, options));
  }

  /** Asks a node to stop and give back what it holds; what may not be stopped it finishes. */
  async preemptAll(nodeId: string, reason: string): Promise<void> {
    const held = this.held(nodeId).filter(({ work_type, stopping }) => !stopping && this.isPreemptible(work_type));
    if (held.length > 0)
      await this.#changes.make((plan) => {
        for (const { work_id } of held) preemptJob(this.#state, plan, work_id, { reason });
      });
  }

  /** Takes everything that a lost node holds back into the queue. */
  async evict(nodeId: string, reason: string): Promise<{ moved: string[] }> {
    const moved: string[] = [];
    for (;;) {
      const some = await this.#ending((plan) => evictNode(this.#state, plan, nodeId, reason));
      moved.push(...some.moved);
      if (some.moved.length < this.#state.limits.maxInCall) return { moved };
    }
  }

  /**
   * Ends silent leases and attempts that took too long, gives to others what does not go on, lets deadlines lapse, and fails
   * those whose dependency failed.
   */
  reap(): Promise<Reaped & Pick<ReapPass, "stuckJobs" | "unrelieved">> {
    return reapAll(this.#state, (decide) => this.#changes.make(decide));
  }

  /** Forgets finished jobs beyond their time or number, and lanes that nobody uses. */
  forget(): Promise<{ forgotten: number }> {
    return forgetFinished(this.#store, this.#state, this.#clock.now());
  }

  /** Calls whenever jobs may have become claimable. Returns how to stop. */
  onClaimable(listen: () => void): () => void {
    return this.#changes.onClaimable(listen);
  }

  hasClaimable(): boolean {
    return this.claimable(1) > 0;
  }

  /** How many jobs wait to be claimed, or their time has come; no more than `max` are counted. */
  claimable(max: number): number {
    return countClaimable(this.#store, max, this.#clock.now());
  }

  /** The first few of each line that wait and are at least so urgent. */
  urgent(level: number, max: number): WaitingJob[] {
    return urgentJobs(this.#store, this.#state, level, max, this.#clock.now());
  }

  /** Jobs at the fronts of their lines that nobody who is there may have, with the reason. */
  untaken(): UntakenJob[] {
    return untakenJobs(this.#store, this.#state, this.#clock.now());
  }

  /** What would be handed out next, to whom and by what; nothing is handed out by asking. */
  forecast(): Promise<Forecast> {
    const endsInMs = ({ work_id, node_id }: HeldJob) => this.expectedMs(work_id, node_id);
    const sources = { state: this.#state, store: this.#store, held: this.held(), endsInMs };
    return this.#changes.tryOut((plan) => forecastNext({ ...sources, plan }));
  }

  /** Jobs that wait and that this node could take, at the fronts of their lines. */
  fittingFor(candidate: Candidate): number {
    return countFitting(this.#store, this.#state, candidate, this.#clock.now());
  }

  /** What a job needs, and where it may run; undefined for one that nobody knows. */
  placement(workId: string): Placement | undefined {
    return placementOf(this.#store, this.#state.lanes, workId);
  }

  /** Why a node could not take a job now; undefined if it could. */
  whyNotOn(workId: string, candidate: Candidate): string | undefined {
    return whyJobNotOn(this.#store, this.#state, workId, candidate, this.#clock.now());
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

  /** How long a job would take on a node, or has left there; undefined while too little is known. */
  expectedMs(workId: string, nodeId: string): number | undefined {
    return expectedMs(this.#store, this.#state, workId, nodeId, this.#clock.now());
  }

  /** For how long a held job has made no progress, and after how long it is given to another; undefined where nobody holds it. */
  idle(workId: string): Idle | undefined {
    return idleOf(this.#store, this.#state, workId);
  }

  held(nodeId?: string): HeldJob[] {
    return heldJobs(this.#store, nodeId);
  }

  /** How many jobs each node holds. */
  heldCounts(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return heldCounts(this.#store, signal);
  }

  /** Whether a node may have work at all, and why not. */
  verdictOn(nodeId: string): NodeVerdict {
    return this.#state.nodePolicy(nodeId, this.#clock.now());
  }

  /** Nodes on which jobs stood still lately: others are asked where somebody has to be. */
  stuckNodes(): ReadonlySet<string> {
    return nodesStuck(this.#store);
  }

  /** Milliseconds since the epoch, by its own clock. */
  get now(): number {
    return this.#clock.now();
  }

  /** How the last attempts on each node ended. */
  get outcomes(): NodeOutcomes {
    return this.#state.outcomes;
  }

  /** How many times as long as usual jobs take on a node, of one kind where one is named; undefined while too few are known. */
  pace(nodeId: string, workType?: string): number | undefined {
    return this.#state.durations.pace(nodeId, workType);
  }

  /** How long all jobs that are not finished would take one after the other, in milliseconds, by kind. */
  workByKind(): ReadonlyMap<string, number> {
    const work = new Map<string, number>();
    for (const { state, work_type, config_key, jobs } of this.counts()) {
      if (state === "completed" || state === "failed" || state === "cancelled") continue;
      const ms = jobs * (this.usualMs({ workType: work_type, configKey: config_key }) ?? UNKNOWN_JOB_MS);
      work.set(work_type, (work.get(work_type) ?? 0) + ms);
    }
    return work;
  }

  /** When jobs stood still on a node, oldest first, and why its disk takes no more; empty and undefined where all is well. */
  troubles(nodeId: string): NodeTroubles {
    return nodeTroubles(this.#store, nodeId, this.#clock.now());
  }

  /** How far the results of a node are from those of the others since then, in standard deviations. */
  resultsResidual(nodeId: string, since: number, signal?: AbortSignal): Promise<number | null> {
    return resultsResidual(this.#store, nodeId, since, signal);
  }

  /** How many jobs each node may hold, where that was decided; by node. */
  slots(): Map<string, NodeSlots> {
    return allNodeSlots(this.#store, this.#clock.now());
  }

  /** What a node has done lately, and how fast beside the others. */
  figures(nodeId: string, signal?: AbortSignal): Promise<NodeFigures> {
    return nodeFigures(this.#store, nodeId, this.#clock.now(), signal);
  }

  /** Games of the last day and the time that they took, of every node that has done some. */
  rates(signal?: AbortSignal): Promise<ReadonlyMap<string, NodeRate>> {
    return nodeRates(this.#store, this.#clock.now(), signal);
  }

  /** Since when nodes have held no job, in milliseconds since the epoch; by node. */
  idleSince(): ReadonlyMap<string, number> {
    return idleSince(this.#store);
  }

  /** Whether a worker is there on a node that never had an accelerator to offer. */
  isWithoutGpus(nodeId: string): boolean {
    return this.workers.list().some(({ node_id, gpus }) => node_id === nodeId && gpus === 0);
  }

  /** How long jobs of a sort usually take; undefined while too few are known. */
  usualMs(sort: Pick<JobsOfSort, "workType" | "configKey">): number | undefined {
    return this.#state.durations.took(sort, 0.5);
  }

  /** Jobs that were added after one, by kind and config; none, where no job is named. */
  addedAfter(seq: number | null, signal?: AbortSignal): ReturnType<typeof jobsAfter> {
    return jobsAfter(this.#store, this.#state.lanes, seq, this.#state.nextSeq - 1, signal);
  }

  /** How many slots the work of the next hours fills. `planned`: jobs that will be added within the hour, as far as that is known. */
  loadForecast(planned: readonly JobsOfSort[] = []): LoadForecast {
    const workOf = (sorts: readonly JobsOfSort[]) =>
      sorts.reduce((sum, sort) => sum + sort.jobs * (this.usualMs(sort) ?? UNKNOWN_JOB_MS), 0);
    const waiting = this.counts()
      .filter(({ state }) => state === "pending" || state === "delayed" || state === "blocked")
      .map(({ work_type, config_key, jobs }) => ({ workType: work_type, configKey: config_key, jobs }));
    const decided = this.slots();
    const slots = this.workers.list().reduce((sum, { node_id, all }) => sum + (decided.get(node_id)?.slots ?? all), 0);
    return loadForecastOf(storedForecast(this.#store), {
      waitingWork: workOf(waiting),
      plannedWork: workOf(planned),
      slots,
      jobs: this.unfinished,
      now: this.#clock.now(),
    });
  }

  /** What it takes jobs of. */
  get kinds(): string[] {
    return Object.keys(this.#state.kinds);
  }

  /** Whether jobs of a kind may be stopped for others. */
  isPreemptible(workType: string): boolean {
    return this.#state.kinds[workType]?.preemptible ?? false;
  }

  /** For how long it has been open, in time that this process listened. */
  get listenedMs(): number {
    return this.#listened() - this.#openedAt;
  }

  load(): QueueLoad {
    return queueLoad(this.#store, this.#state.lanes, this.#clock.now(), this.listenedMs);
  }

  /** Milliseconds that the oldest claimable job of each kind has waited, as far as the fronts of the lines tell. */
  oldestByKind(): Record<string, number> {
    return oldestByKind(this.#store, this.#state.lanes, this.#clock.now());
  }

  counts(): QueueCount[] {
    return queueCounts(this.#store);
  }

  /** Jobs that are not finished. */
  get unfinished(): number {
    return this.#state.unfinished;
  }

  /** What was learned of how long jobs take since this was last asked for, to be kept. */
  newDurations(): [string, DurationRow][] {
    return this.#state.durations.unsaved();
  }

  /** The same of how fast nodes are. */
  newPaces(): [string, PaceRow][] {
    return this.#state.durations.unsavedPaces();
  }

  /** A change after which jobs may have failed that others wait for: those fail too, before the answer comes. */
  async #ending<T>(decide: (plan: Plan) => T): Promise<T> {
    let failed = false;
    const result = await this.#changes.make((plan) => {
      const decided = decide(plan);
      failed = [...plan.rows()].some(({ state }) => state === "failed" || state === "cancelled");
      return decided;
    });
    if (failed && this.#store.read("SELECT 1 FROM work_jobs WHERE state = 'blocked' LIMIT 1").length > 0)
      await this.reap();
    return result;
  }

  /** Of the files that somebody names those that are not in the store. */
  async #missing(named: readonly { readonly sha256: string }[]): Promise<ReadonlySet<string>> {
    const isStored = this.#isStored;
    if (isStored === undefined) return new Set();
    const all = [...new Set(named.map(({ sha256 }) => sha256))];
    const found = await Promise.all(all.map(async (sha256) => ((await isStored(sha256)) ? [] : [sha256])));
    return new Set(found.flat());
  }

  /** What is wrong with the files of a result; undefined where nothing is, or where nobody can tell. */
  async #faultOf(
    judge: JudgeFile,
    { ref, evidence: { outputs = [] } }: { readonly ref: LeaseRef; readonly evidence: EvidenceInput },
    missing: ReadonlySet<string>,
  ): Promise<string | undefined> {
    const job = this.show(ref.work_id);
    if (job === undefined) return undefined;
    for (const output of outputs) {
      const fault = missing.has(output.sha256) ? undefined : await judge(job, output);
      if (fault !== undefined) return `its file ${output.name} ${fault}`;
    }
    return undefined;
  }
}
