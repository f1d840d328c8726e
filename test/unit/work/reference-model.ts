/** The queue as one would write it on a sheet of paper: what must be so after each call. */

export interface ModelJob {
  readonly id: string;
  readonly config: string;
  readonly dependsOn: readonly string[];
  readonly dedup: string | null;
  readonly maxAttempts: number;
  readonly timeoutMs: number;
  readonly deadline: number | null;
  readonly preemptible: boolean;
  state: string;
  attempts: number;
  returns: number;
  fence: number;
  node: string | null;
  /** It began as it was claimed, and its holder has not said a word. */
  unheard: boolean;
  began: boolean;
  beatBy: number;
  expiresAt: number;
  stopBy: number | null;
  /** When its lease ends as it was last written down: what a process that starts finds. */
  written: { beatBy: number; expiresAt: number; stopBy: number | null };
  /** When its backoff ends; told by the queue, checked against its rule. */
  retryAt: number | null;
  /** The attempt whose lease lapsed without a word; its result is still taken while nobody else had the job. */
  lapsed: number | null;
  /** Heard again after its lease lapsed, its holder may go on. */
  mayGoOn: boolean;
  /** Leases that lapsed: the first result counts, whoever has the job meanwhile. */
  earlier: readonly { fence: number; node: string; attempts: number; expiresAt: number }[];
  /** Whose result it has. */
  winner: { fence: number; node: string | null } | null;
}

const MAX_EARLIER = 4;

export interface ModelLimits {
  readonly maxReturns: number;
  readonly silentMs: number;
  readonly graceMs: number;
}

export type LeaseWords = { readonly work_id: string; readonly node_id: string; readonly fence: number };
const HELD = ["claimed", "running"];
const QUEUED = ["pending", "delayed", "blocked"];

export class ReferenceModel {
  readonly jobs = new Map<string, ModelJob>();
  readonly #limits: ModelLimits;

  constructor(limits: ModelLimits) {
    this.#limits = limits;
  }

  job(id: string): ModelJob {
    const job = this.jobs.get(id);
    if (job === undefined) throw new Error(`the model knows no ${id}`);
    return job;
  }

  get unfinished(): number {
    return [...this.jobs.values()].filter(({ state }) => HELD.includes(state) || QUEUED.includes(state)).length;
  }

  hasBlocked(): boolean {
    return [...this.jobs.values()].some(({ state }) => state === "blocked");
  }

  byKey(dedup: string): ModelJob | undefined {
    return [...this.jobs.values()].find((job) => job.dedup === dedup && !["failed", "cancelled"].includes(job.state));
  }

  brokenDependency(dependsOn: readonly string[]): boolean {
    return dependsOn.some((id) => ["failed", "cancelled"].includes(this.job(id).state));
  }

  add(
    job: Pick<
      ModelJob,
      "id" | "config" | "dependsOn" | "dedup" | "maxAttempts" | "timeoutMs" | "deadline" | "preemptible"
    >,
  ) {
    const waits = job.dependsOn.some((id) => this.job(id).state !== "completed");
    const rest = {
      attempts: 0,
      returns: 0,
      fence: 0,
      node: null,
      unheard: false,
      began: false,
      beatBy: 0,
      expiresAt: 0,
      stopBy: null,
      written: { beatBy: 0, expiresAt: 0, stopBy: null },
      retryAt: null,
      lapsed: null,
      mayGoOn: true,
      earlier: [],
      winner: null,
    };
    this.jobs.set(job.id, { ...job, ...rest, state: waits ? "blocked" : "pending" });
  }

  due(now: number): boolean {
    return [...this.jobs.values()].some(({ state, retryAt }) => state === "delayed" && retryAt! <= now);
  }

  promote(now: number): void {
    for (const job of this.jobs.values()) if (job.state === "delayed" && job.retryAt! <= now) job.state = "pending";
  }

  pending(): number {
    return [...this.jobs.values()].filter(({ state }) => state === "pending").length;
  }

  claim(id: string, node: string, now: number): void {
    const job = this.job(id);
    if (job.state !== "pending") throw new Error(`${id} was claimed and is ${job.state}`);
    Object.assign(job, {
      state: "claimed",
      node,
      began: false,
      stopBy: null,
      lapsed: null,
      beatBy: now + this.#limits.silentMs,
    });
    job.attempts += 1;
    job.fence += 1;
    job.unheard = false;
    job.expiresAt = Math.min(now + job.timeoutMs, job.deadline ?? Number.POSITIVE_INFINITY);
    this.write(job);
  }

  /** The ends of its lease are on disk as they are. */
  write(job: ModelJob): void {
    job.written = { beatBy: job.beatBy, expiresAt: job.expiresAt, stopBy: job.stopBy };
  }

  /** The process starts: every holder has its whole silence, and what it had left when it was last heard. */
  restart(now: number): void {
    for (const job of this.jobs.values()) if (HELD.includes(job.state)) this.#resume(job, now);
  }

  #resume(job: ModelJob, now: number): void {
    const { silentMs } = this.#limits;
    const { beatBy, expiresAt, stopBy } = job.written;
    const seenAt = beatBy - silentMs;
    job.beatBy = now + silentMs;
    job.expiresAt = now + Math.max(silentMs, expiresAt - seenAt);
    job.stopBy = stopBy === null ? null : now + Math.max(0, stopBy - seenAt);
  }

  /** What the queue must say to a holder: nothing against it, or the code of its refusal. */
  verdict(ref: LeaseWords): "held" | "STALE_LEASE" | "JOB_CANCELLED" {
    const job = this.job(ref.work_id);
    const same = job.fence === ref.fence && job.node === ref.node_id;
    if (same && HELD.includes(job.state)) return "held";
    return same && job.state === "cancelled" ? "JOB_CANCELLED" : "STALE_LEASE";
  }

  /** Whether a result that comes after the end of its lease counts. */
  takesLate(ref: LeaseWords): boolean {
    const job = this.job(ref.work_id);
    if (job.fence !== ref.fence || job.node !== ref.node_id || job.lapsed === null) return false;
    if (job.state === "failed") return job.dedup === null || this.byKey(job.dedup) === undefined;
    return job.state === "pending" || job.state === "delayed";
  }

  /** The lapsed lease by which a result counts though somebody else has or had the job since. */
  overtakes(ref: LeaseWords, now: number): ModelJob["earlier"][number] | undefined {
    const job = this.job(ref.work_id);
    const found = job.earlier.find(({ fence, node }) => fence === ref.fence && node === ref.node_id);
    if (found === undefined || job.state === "completed" || job.state === "cancelled") return undefined;
    const isTooLate = job.deadline !== null && job.deadline <= now;
    const isReplaced = job.dedup !== null && this.byKey(job.dedup) !== undefined;
    return job.state === "failed" && (isTooLate || isReplaced) ? undefined : found;
  }

  /** Whether a node that was given its own job again may go on with the lease before as well. */
  worksOn(ref: LeaseWords, now: number): boolean {
    const { state, node } = this.job(ref.work_id);
    return (this.overtakes(ref, now)?.expiresAt ?? 0) > now && HELD.includes(state) && node === ref.node_id;
  }

  /** Whether the word of a holder whose lease lapsed makes it its own again. */
  revives(ref: LeaseWords): boolean {
    const { state, mayGoOn } = this.job(ref.work_id);
    return (state === "pending" || state === "delayed") && mayGoOn && this.takesLate(ref);
  }

  revive(id: string, now: number): void {
    const job = this.job(id);
    Object.assign(job, { state: job.began ? "running" : "claimed", attempts: job.lapsed, lapsed: null, retryAt: null });
    job.earlier = job.earlier.filter(({ fence }) => fence !== job.fence);
    this.#resume(job, now);
  }

  start(id: string, now: number): void {
    const job = this.job(id);
    if (job.state === "running") return;
    job.state = "running";
    job.began = true;
    job.beatBy = now + this.#limits.silentMs;
    job.expiresAt = Math.min(now + job.timeoutMs, job.deadline ?? Number.POSITIVE_INFINITY);
    this.write(job);
  }

  beat(id: string, now: number): void {
    const job = this.job(id);
    Object.assign(job, { beatBy: now + this.#limits.silentMs, unheard: false });
    this.write(job);
  }

  complete(ref: LeaseWords, now: number): void {
    const done = this.job(ref.work_id);
    const overtaken = this.verdict(ref) === "held" ? undefined : this.overtakes(ref, now);
    // The attempt that was taken for lost is the one that did it.
    if (overtaken !== undefined) done.attempts = overtaken.attempts;
    done.winner = { fence: ref.fence, node: ref.node_id };
    done.state = "completed";
    for (const job of this.jobs.values())
      if (job.state === "blocked" && job.dependsOn.every((on) => this.job(on).state === "completed"))
        job.state = "pending";
  }

  /** The attempt counts. */
  spend(id: string, never: boolean): void {
    const job = this.job(id);
    job.state = never || job.attempts >= job.maxAttempts ? "failed" : "delayed";
    job.stopBy = null;
  }

  /** Its holder said nothing: it is taken from it. */
  lapse(id: string, how: "spend" | "give back"): void {
    const job = this.job(id);
    job.lapsed = job.attempts;
    job.mayGoOn = job.stopBy === null;
    this.remember(job);
    if (how === "spend") this.spend(id, false);
    else this.giveBack(id);
  }

  remember(job: ModelJob): void {
    const { fence, node, attempts, written } = job;
    job.earlier = [...job.earlier, { fence, node: node!, attempts, expiresAt: written.expiresAt }].slice(-MAX_EARLIER);
  }

  /** The attempt does not count, unless it came back too often. */
  giveBack(id: string): void {
    const job = this.job(id);
    const free = job.returns < this.#limits.maxReturns;
    if (!free && job.attempts >= job.maxAttempts) {
      job.state = "failed";
      return;
    }
    if (free) job.attempts -= 1;
    job.returns += 1;
    job.state = "pending";
    job.stopBy = null;
  }

  retry(id: string): void {
    const job = this.job(id);
    Object.assign(job, { attempts: 0, returns: 0, stopBy: null, lapsed: null, earlier: [] });
    job.state = job.dependsOn.some((on) => this.job(on).state !== "completed") ? "blocked" : "pending";
  }

  reap(now: number): void {
    for (const job of this.jobs.values()) {
      if (HELD.includes(job.state)) {
        if (job.expiresAt <= now) {
          this.spend(job.id, job.deadline !== null && job.deadline <= now);
          if (job.state !== "delayed") continue;
          Object.assign(job, { lapsed: job.attempts, mayGoOn: false });
          this.remember(job);
        } else if (job.stopBy !== null && job.stopBy <= now) this.lapse(job.id, "give back");
        else if (job.beatBy <= now) this.lapse(job.id, job.state === "claimed" || job.unheard ? "give back" : "spend");
      }
      if (QUEUED.includes(job.state) && job.deadline !== null && job.deadline <= now)
        Object.assign(job, { state: "failed", lapsed: null, earlier: [] });
    }
    for (let fell = true; fell; ) {
      fell = false;
      for (const job of this.jobs.values())
        if (job.state === "blocked" && this.brokenDependency(job.dependsOn)) {
          job.state = "failed";
          fell = true;
        }
    }
  }
}
