import type { EventName, PayloadFor } from "../../events/index.ts";
import { type Clock, defined } from "../../kernel/index.ts";
import type { Cause, EventRouter, RemoteSpan, Store, WriteSet } from "../../router/index.ts";
import type { JobSpecInput } from "../job/job.ts";
import { isHeld } from "../job/states.ts";
import { type AddedJob, addJobs } from "./add.ts";
import { type Answer, each, only } from "./answers.ts";
import { KnownRows, Plan } from "./plan.ts";
import type { QueueState } from "./queue-state.ts";

export const WORK_STORE = "work_store";

/** What a unit's context gives for a change that belongs to its own commit. */
export interface JoinedContext {
  readonly rows: Pick<WriteSet, "apply">;
  readonly emit: Readonly<Partial<Record<EventName, (payload: never) => unknown>>>;
  afterCommit(run: () => void): void;
}

interface ChangesOptions {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Store;
  readonly clock: Clock;
  readonly state: QueueState;
}

const MAX_KNOWN = 50_000;
const MAX_IN_BATCH = 10_000;

/**
 * How a change of the queue comes to the disk. It is decided on the committed rows and on those that are on their way there,
 * and is one commit with the events that tell of it; the writer refuses it if a row has changed meanwhile, and it is decided
 * anew. So callers never wait for one another, and nothing is ever decided on what was not so.
 */
export class QueueChanges {
  readonly #router: Pick<EventRouter, "transact">;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #state: QueueState;
  readonly #known = new KnownRows(MAX_KNOWN);
  /** Whether any job may wait for another one: known before that job is on disk, so that no completion overlooks it. */
  #dependencies: boolean;
  readonly #listeners = new Set<() => void>();

  constructor({ router, store, clock, state }: ChangesOptions) {
    this.#router = router;
    this.#store = store;
    this.#clock = clock;
    this.#state = state;
    this.#dependencies = store.read("SELECT 1 FROM work_dependencies LIMIT 1").length > 0;
  }

  /** Decides and writes; resolves once it is on disk. A refusal is thrown once what it was decided on is. */
  async make<T>(decide: (plan: Plan) => T, cause?: Cause, follows?: RemoteSpan): Promise<T> {
    let plan: Plan | undefined;
    let answer: Answer<T> | undefined;
    const withdraw = () => {
      if (plan === undefined) return;
      this.#known.withdraw(plan);
      this.#state.unfinished -= plan.unfinished;
      plan = undefined;
    };
    const how = {
      source: WORK_STORE,
      validation: "strict",
      ...defined({ follows }),
    } as const;
    try {
      await this.#router.transact(how, ({ rows, emit }) => {
        withdraw();
        const next = this.#plan();
        [answer] = each([undefined], () => decide(next));
        if (answer!.ok) next.emitAll(({ eventType, payload }, own) => emit(eventType, payload, own ?? cause));
        // A refusal is an answer too: it waits until what it was decided on is on disk.
        const operation = answer!.ok ? next.operation(this.#dependencies) : next.refusal();
        if (operation !== undefined) rows.apply(operation);
        if (!answer!.ok) return;
        this.#dependencies ||= next.waits;
        this.#known.enter(next);
        this.#state.unfinished += next.unfinished;
        plan = next;
      });
    } catch (thrown) {
      withdraw();
      throw thrown;
    }
    if (plan !== undefined) this.#settled(plan);
    return only([answer!]);
  }

  /** What would be decided now; nothing of it happens. */
  async tryOut<T>(decide: (plan: Plan) => T): Promise<T> {
    return decide(this.#plan());
  }

  /** The same within the commit of a unit's handler or tick: it comes about with its rows and its ack, or not at all. */
  join(context: JoinedContext): { addAll(specs: readonly JobSpecInput[]): AddedJob[] } {
    return {
      addAll: (specs) => {
        const plan = new Plan(this.#store, this.#state.lanes, undefined, this.#clock.now());
        const added = addJobs(this.#state, plan, specs, MAX_IN_BATCH);
        this.#dependencies ||= plan.waits;
        plan.emitAll(({ eventType, payload }) => context.emit[eventType]!(payload as never));
        const operation = plan.operation(this.#dependencies);
        if (operation !== undefined) context.rows.apply(operation);
        context.afterCommit(() => {
          this.#state.unfinished += plan.unfinished;
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

  /** Jobs may have become claimable. */
  announce(): void {
    for (const listen of this.#listeners) listen();
  }

  #plan(): Plan {
    return new Plan(this.#store, this.#state.lanes, this.#known, this.#clock.now());
  }

  /** How attempts ended says how their nodes do. */
  #noteOutcomes({ emitted, now: at }: Plan): void {
    for (const { eventType, payload } of emitted) {
      if (eventType !== "TASK_COMPLETED" && eventType !== "TASK_FAILED") continue;
      const { node_id, work_type, config_key, error } = payload as unknown as PayloadFor<"TASK_FAILED">;
      const [ok, sort] = [eventType === "TASK_COMPLETED", `${work_type}/${config_key ?? ""}`];
      this.#state.outcomes.note(node_id, { sort, ok, at, error: ok ? null : error });
    }
  }

  /** A plan is on disk: claims find what it has made claimable. */
  #settled(plan: Plan): void {
    const { lanes, times, durations } = this.#state;
    this.#known.settle(plan);
    this.#noteOutcomes(plan);
    for (const { lane, ms, nodeId } of plan.took) durations.note(lane, ms, nodeId);
    for (const row of plan.rows())
      if (!isHeld(row.state) && !isHeld(this.#known.row(row.seq)?.state ?? "completed")) times.forget(row.seq);
    for (const { lane, level } of plan.waiting) lanes.filled(lane, level);
    const unblocks = plan.completes && this.#dependencies;
    if (unblocks) lanes.lookEverywhere();
    if (plan.waiting.length > 0 || unblocks) this.announce();
  }
}
