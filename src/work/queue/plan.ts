import type { EventName, PayloadFor } from "../../events/index.ts";
import { assert } from "../../kernel/index.ts";
import type { Cause, Operation, SqlValue, Store } from "../../router/index.ts";
import { columnsOf, type JobRow, seqOf } from "../job/job.ts";
import type { Lane } from "../job/needs.ts";
import { assertTransition, isFinished, isHeld, type JobAction, type JobState } from "../job/states.ts";
import { applyWork, type JobChanges, type NewJob, type RowCheck } from "../tables.ts";
import type { Lanes } from "./lanes.ts";

/** Rows in memory: those of plans on their way to the disk, and those of held jobs, about which there will be news. */
export class KnownRows {
  /** Decided and not on disk yet: later plans see it, so that they need not wait for the disk. */
  readonly #coming = new Map<number, { row: JobRow; plan: Plan }>();
  /** As last written. */
  readonly #held = new Map<number, JobRow>();
  readonly #maxHeld: number;

  constructor(maxHeld: number) {
    this.#maxHeld = maxHeld;
  }

  row(seq: number): JobRow | undefined {
    return this.#coming.get(seq)?.row ?? this.#held.get(seq);
  }

  isComing(seq: number): boolean {
    return this.#coming.has(seq);
  }

  enter(plan: Plan): void {
    for (const row of plan.rows()) this.#coming.set(row.seq, { row, plan });
  }

  /** It is on disk. */
  settle(plan: Plan): void {
    for (const row of plan.rows()) {
      if (this.#coming.get(row.seq)?.plan === plan) this.#coming.delete(row.seq);
      if (!isHeld(row.state)) this.#held.delete(row.seq);
      else if (this.#held.size < this.#maxHeld || this.#held.has(row.seq)) this.#held.set(row.seq, row);
    }
  }

  /** It was refused, or will be decided anew: what is in memory may be wrong, and the disk is asked. */
  withdraw(plan: Plan): void {
    for (const { seq } of plan.rows()) if (this.#coming.get(seq)?.plan === plan) this.#coming.delete(seq);
    this.#held.clear();
  }
}

export interface Emission {
  readonly eventType: EventName;
  readonly payload: Readonly<Record<string, unknown>>;
}

const isEvent = (given: unknown): given is Cause => typeof given === "object" && given !== null && "eventId" in given;
const causeText = ({ eventId, traceId, correlationId }: Cause): string =>
  JSON.stringify({ eventId, traceId, correlationId } satisfies Cause);
const seqIn = ({ work_id }: Emission["payload"]): number | undefined =>
  typeof work_id === "string" ? seqOf(work_id) : undefined;

const CAUSES = `SELECT i.seq, i.cause FROM json_each(?) told JOIN work_inputs i ON i.seq = told.value
  WHERE i.cause IS NOT NULL`;
const JOB = `SELECT ${columnsOf("j")} FROM work_jobs j WHERE seq = ?`;

/**
 * One change of the queue while it is decided: rows it looked at, what becomes of them, and what is said about it. Nothing
 * is written before all of it is decided; the writer refuses it if a row it was decided on has changed meanwhile.
 */
export class Plan {
  readonly now: number;
  readonly emitted: Emission[] = [];
  readonly #store: Pick<Store, "read">;
  readonly #known: KnownRows | undefined;
  readonly #lanes: Lanes;
  readonly #seen = new Map<number, JobRow>();
  /** Rows that were taken from memory: whatever follows from them must not be true before they are so on disk. */
  readonly #leansOn = new Map<number, number>();
  readonly #changes = new Map<number, { rev: number; set: JobChanges }>();
  readonly #added: NewJob[] = [];
  readonly #newLanes = new Map<number, Lane>();
  readonly #completed: number[] = [];
  readonly #waiting: { lane: number; level: number }[] = [];
  readonly #took: { lane: Lane; ms: number; nodeId: string | undefined }[] = [];
  #unfinished = 0;

  constructor(store: Pick<Store, "read">, lanes: Lanes, known: KnownRows | undefined, now: number) {
    this.#store = store;
    this.#lanes = lanes;
    this.#known = known;
    this.now = now;
  }

  /** How many more jobs are unfinished because of it. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** As it will be once this plan and those before it are on disk. */
  job(seq: number): JobRow | undefined {
    const known = this.#seen.get(seq);
    if (known !== undefined) return known;
    const coming = this.#known?.row(seq);
    if (coming !== undefined) {
      this.#leansOn.set(seq, coming.rev);
      this.#seen.set(seq, coming);
      return coming;
    }
    const [row] = this.#store.read<JobRow>(JOB, seq);
    if (row !== undefined) this.#seen.set(seq, row);
    return row;
  }

  /** A row that was found by a query; undefined if somebody is changing it already. */
  found(row: JobRow): JobRow | undefined {
    if (this.#changes.has(row.seq) || this.#known?.isComing(row.seq) === true) return undefined;
    return row;
  }

  read<T>(sql: string, ...params: SqlValue[]): T[] {
    return this.#store.read<T>(sql, ...params);
  }

  laneOf(job: Pick<JobRow, "lane">): Lane {
    return this.#lanes.get(job.lane);
  }

  add(job: NewJob, lane: Lane, level: number): void {
    this.#added.push(job);
    this.#waiting.push({ lane: lane.lane, level });
    this.#newLanes.set(lane.lane, lane);
    this.#unfinished += 1;
  }

  /** Lets a job take one step of the table. */
  move(job: JobRow, action: JobAction, to: JobState, changes: JobChanges = {}): JobRow {
    assertTransition(job.state, action, to);
    const set = job.state === to ? changes : { ...changes, state: to };
    const earlier = this.#changes.get(job.seq);
    this.#changes.set(job.seq, { rev: earlier?.rev ?? job.rev, set: { ...earlier?.set, ...set } });
    // One commit raises the number once, however many steps it takes.
    const moved: JobRow = { ...job, ...set, rev: earlier === undefined ? job.rev + 1 : job.rev };
    this.#seen.set(job.seq, moved);
    if (isFinished(to) !== isFinished(job.state)) this.#unfinished += isFinished(to) ? -1 : 1;
    if (to === "completed") this.#completed.push(job.seq);
    if (to === "pending") this.#waiting.push({ lane: moved.lane, level: moved.urgency });
    return moved;
  }

  /** One class more urgent, within the change that is being made anyway. */
  raise(job: JobRow): void {
    const change = this.#changes.get(job.seq);
    assert(change !== undefined, "a job rises with a step of its life");
    const urgency = job.urgency + 1;
    this.#waiting.push({ lane: job.lane, level: urgency });
    this.#changes.set(job.seq, { ...change, set: { ...change.set, urgency } });
    this.#seen.set(job.seq, { ...job, urgency });
  }

  /**
   * Emits what it has to tell, each under its cause: what is told of a job follows from the event that told of its coming,
   * so that it stays in the trace of whoever wanted it, whichever worker speaks.
   */
  emitAll(emit: (emission: Emission, cause: Cause | undefined) => unknown): void {
    const added = new Map(this.#added.map(({ row }, at) => [row[0] as number, at]));
    const about = this.emitted.map(({ payload }) => seqIn(payload));
    const causes = this.#causesOf(about.filter((seq) => seq !== undefined && !added.has(seq)));
    this.emitted.forEach((emission, at) => {
      const seq = about[at] ?? -1;
      const event = emit(emission, causes.get(seq));
      const place = added.get(seq);
      if (place !== undefined && isEvent(event))
        this.#added[place] = { ...this.#added[place]!, cause: causeText(event) };
    });
  }

  /** All in one query: a claim or a batch of results is about a hundred jobs. */
  #causesOf(seqs: readonly unknown[]): ReadonlyMap<number, Cause> {
    if (seqs.length === 0) return new Map();
    const rows = this.#store.read<{ seq: number; cause: string }>(CAUSES, JSON.stringify(seqs));
    return new Map(rows.map(({ seq, cause }) => [seq, JSON.parse(cause) as Cause]));
  }

  emit<N extends EventName>(eventType: N, payload: PayloadFor<N>): void {
    this.emitted.push({ eventType, payload: payload as Readonly<Record<string, unknown>> });
  }

  /** A job was done in so long. */
  measure(job: JobRow, ms: number): void {
    this.#took.push({ lane: this.laneOf(job), ms, nodeId: job.node_id ?? undefined });
  }

  get took(): readonly { readonly lane: Lane; readonly ms: number; readonly nodeId: string | undefined }[] {
    return this.#took;
  }

  /** Lines that have a job to claim once it is on disk. */
  get waiting(): readonly { readonly lane: number; readonly level: number }[] {
    return this.#waiting;
  }

  /** Whether it adds jobs that depend on others. */
  get waits(): boolean {
    return this.#added.some(({ dependsOn }) => dependsOn !== undefined);
  }

  /** Whether it may let jobs go on that waited for others. */
  get completes(): boolean {
    return this.#completed.length > 0;
  }

  /** The rows it changes, as they will be. */
  *rows(): Iterable<JobRow> {
    for (const seq of this.#changes.keys()) yield this.#seen.get(seq)!;
  }

  #checks(): RowCheck[] {
    const unchanged = [...this.#leansOn].filter(([seq]) => !this.#changes.has(seq));
    return unchanged.map(([seq, rev]) => ({ seq, rev }));
  }

  /** What the writer must do for a refusal to be true; undefined when it leans on nothing. */
  refusal(): Operation | undefined {
    const checks = [...this.#leansOn].map(([seq, rev]) => ({ seq, rev }));
    if (checks.length === 0) return undefined;
    return applyWork({ at: this.now, checks, lanes: [], added: [], updates: [], completed: [] });
  }

  /** What the writer must do; undefined when nothing changes. `unblocks`: completions may let others go on. */
  operation(unblocks: boolean): Operation | undefined {
    const checks = this.#checks();
    if (this.#added.length === 0 && this.#changes.size === 0 && checks.length === 0) return undefined;
    const updates = new Map<string, { columns: string[]; rows: SqlValue[][] }>();
    for (const [seq, { rev, set }] of this.#changes) {
      const columns = Object.keys(set);
      const alike = columns.join();
      let group = updates.get(alike);
      if (group === undefined) {
        group = { columns, rows: [] };
        updates.set(alike, group);
      }
      const values = Object.values(set) as SqlValue[];
      values.push(seq, rev);
      group.rows.push(values);
    }
    return applyWork({
      at: this.now,
      checks,
      lanes: [...this.#newLanes.values()].map((lane) => this.#lanes.rowOf(lane)),
      added: this.#added,
      updates: [...updates.values()],
      completed: unblocks ? this.#completed : [],
    });
  }
}
