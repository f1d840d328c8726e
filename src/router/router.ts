import { AsyncLocalStorage } from "node:async_hooks";
import type { Catalog, EventName, PayloadFor, RouterEvent, Rows } from "../events/index.ts";
import {
  createIds,
  createRecent,
  createRing,
  createTimeLimits,
  defined,
  didYouMean,
  messageOf,
  OperatingError,
  type Recent,
  type Ring,
  runAll,
} from "../kernel/index.ts";
import { appendAll, appendedOf, emissionsOf, isDurable } from "./append-all.ts";
import { crossProcessOf, dataBusOf, type EventBus, stageBusOf } from "./buses.ts";
import { badConsumerName, type ConsumeOptions, Consumers, consumerShape, type SessionRequest } from "./consumers.ts";
import { createDeadLetterQueue, type DeadLetterQueue } from "./dead-letter-queue.ts";
import type { Failure } from "./delivery-hooks.ts";
import { EphemeralSubscribers, type Handler } from "./ephemeral.ts";
import { type AnyEvent, bytesOf, fromStored, type Published, type ViewName, viewBits, whyUnreadable } from "./event.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { buryDelivery } from "./journal/deliveries.ts";
import { eventsAfter, type HistoryFilter, headSeq, journalHistory, pairsOfEvent } from "./journal/queries.ts";
import { type Replayable, type ReplaySelection, replayDeliveries, scanReplayable } from "./journal/replay.ts";
import { laneOf } from "./lanes.ts";
import { HISTORY_BYTES } from "./limits.ts";
import type { Appended, CommitHooks, RouterParts } from "./parts.ts";
import {
  type Cause,
  type PrepareContext,
  type Prepared,
  type PublishOptions,
  prepare,
  type Validation,
} from "./prepare.ts";
import type { Session } from "./session.ts";
import { defaultRouterSettings, type RouterSettings } from "./settings.ts";
import { Statistics } from "./statistics.ts";
import type { Store } from "./store.port.ts";
import { createTail, type Tail } from "./tail.ts";
import { createTracing, type RemoteSpan, type SpanIds, type Tracing } from "./tracing.ts";
import { type TransactWork, transact } from "./transact.ts";
import type { WorkBody } from "./work.ts";

export interface RouterOptions<R extends Rows> extends Pick<RouterParts, "store" | "clock" | "random" | "log"> {
  readonly catalog: Catalog<R>;
  readonly nodeId: string;
  readonly settings?: Partial<RouterSettings>;
  /** Where whoever makes the ids of spans is told those of the next one. */
  readonly spanIds?: SpanIds;
}

export type Emitters<R extends Rows> = {
  readonly [N in EventName<R>]: (
    payload: PayloadFor<N, R>,
    options?: PublishOptions,
  ) => Promise<RouterEvent<N, R> & Pick<Published, "suppressed">>;
};

/** What is delivered to a consumer once more, or would be. */
export interface Replayed {
  readonly events: readonly Replayable[];
  /** There are more than were asked for. */
  readonly hasMore: boolean;
  /** Somebody consumes under the name now; otherwise they wait for it. */
  readonly isConnected: boolean;
}

export interface TransactOptions
  extends Pick<TransactWork, "source" | "signal">,
    Partial<Pick<TransactWork, "timeoutMs">> {
  readonly validation?: Validation;
  /** The event that caused it, if one did; the parent of what is emitted. */
  readonly parent?: AnyEvent;
  /** The span of another process that it follows from, where no event caused it. */
  readonly follows?: RemoteSpan;
}

/** The consumers of the router's own words about failed handlers are not reported on: that would never end. */
const REPORTS = new Set(["HANDLER_FAILED", "HANDLER_TIMEOUT"]);

/** What passes by is not in the journal, and nobody could follow it back: what it causes follows from its own parent. */
const storedCause = (event: AnyEvent | undefined): Cause | undefined => {
  if (event === undefined || event.eventClass === "durable") return event;
  const { parentEventId, traceId, correlationId } = event;
  return parentEventId === null ? undefined : { eventId: parentEventId, traceId, correlationId };
};

/** What a listener is called: as it was told, or as its function is. One that is written in place has no name. */
const listenerNameOf = (handler: Handler, given: string | undefined): string | null => {
  if (given !== undefined && !consumerShape.test(given)) throw badConsumerName(given);
  const name = given ?? handler.name.replace(/^bound /, "");
  return consumerShape.test(name) ? name : null;
};

/** What events in memory are chosen by, as those of the journal are. */
const SAME = ["eventType", "origin", "source", "orderKey"] as const;

/**
 * Publishes, journals and delivers. A durable event is on disk when `publish` resolves; handlers see it only after that,
 * and every consumer that is owed it gets it at least once, until it is done, dead or expired.
 */
export class EventRouter<R extends Rows = Rows> {
  readonly catalog: Catalog<R>;
  readonly deadLetters: DeadLetterQueue;
  readonly dataBus: EventBus;
  readonly stageBus: EventBus;
  readonly crossProcess: EventBus;
  /** A typed emitter for every event: `emit.MODEL_PROMOTED({ ... })`. Checked strictly. */
  readonly emit: Emitters<R>;
  readonly statistics = new Statistics();
  readonly settings: RouterSettings;
  readonly nodeId: string;
  readonly store: Store;
  readonly #context: PrepareContext;
  readonly #current = new AsyncLocalStorage<AnyEvent | undefined>();
  readonly #ephemeral: EphemeralSubscribers;
  readonly #consumers: Consumers;
  readonly #history: Ring<AnyEvent>;
  /** What passed through lately: event ids, and the id of the first event with some content. */
  readonly #seen: Recent<true>;
  readonly #contents: Recent<string>;
  /** Listeners that failed lately at what only passes by. */
  readonly #reported: Recent<true>;
  readonly #waiters = new Map<number, (() => void)[]>();
  readonly #tail: Tail;
  readonly #tracing: Tracing;
  /** What all parts share, and what follows a commit: its durable emissions are delivered, and the others go out. */
  readonly #hooks: CommitHooks;
  #stopped = false;

  constructor(options: RouterOptions<R>) {
    this.catalog = options.catalog;
    this.settings = { ...defaultRouterSettings, ...options.settings };
    this.nodeId = options.nodeId;
    this.store = options.store;
    this.#hooks = {
      ...options,
      ids: createIds(options.clock, options.random),
      settings: this.settings,
      timeLimits: createTimeLimits(options.clock),
      onCommitted: (emitted) => void this.#committedAll(emitted),
      publishPassing: (prepared) => void this.#publishPassing(prepared),
    };
    this.#tracing = createTracing(options.log, this.settings.trace, options.spanIds);
    this.#history = createRing<AnyEvent>(this.settings.historySize, { max: HISTORY_BYTES, of: bytesOf });
    this.#seen = createRecent(this.settings.dedupWindowSeconds * 1_000, 10_000);
    this.#contents = createRecent(this.settings.dedupWindowSeconds * 1_000, 10_000);
    this.#reported = createRecent(this.settings.dedupWindowSeconds * 1_000, 1_000);
    this.#context = {
      ...this.#hooks,
      nodeId: options.nodeId,
      strictNames: this.settings.strictNames,
      onIncomplete: (type, missing) => {
        if (this.statistics.incomplete.add(type) === 1)
          options.log.warn(
            `'${type}' was published without all of its fields: it wakes units, and tells them nothing`,
            {
              event_type: type,
              missing,
            },
          );
      },
      onDeprecated: (kind, what, instead) => this.#deprecated(kind, what, instead),
    };
    this.#ephemeral = new EphemeralSubscribers({
      ...this.#hooks,
      within: (event, run) => this.#current.run(event, run),
      onFailure: (failure) => this.#failed(failure),
      onDeath: (failure) => this.#buryListener(failure),
    });
    this.#consumers = new Consumers({
      ...this.#hooks,
      canonical: (spelling) => this.#canonical(spelling),
      head: () => this.#tail.seq,
      prepare: (type, payload, how, validation) => this.prepare(type, payload, how, validation),
      within: (event, consumer, run) => this.#tracing.handled(event, consumer, () => this.#current.run(event, run)),
      onEnded: (seqs) => this.#ended(seqs),
      onGivenUp: () => this.#recheckSettled(),
      onFailure: (failure) => this.#failed(failure),
      onDeath: (failure) => this.#death(failure),
    });
    this.deadLetters = createDeadLetterQueue({
      ...this.#hooks,
      onReturned: (consumer, lanes) => this.#consumers.wake(consumer, lanes),
      listeners: () => this.#ephemeral.names(),
      again: async (listener, seq) => {
        const [stored] = eventsAfter(options.store, seq - 1, 1);
        if (stored?.seq !== seq) return false;
        return this.#ephemeral.again(listener, fromStored(options.catalog, stored));
      },
    });
    this.dataBus = dataBusOf(this as unknown as EventRouter);
    this.stageBus = stageBusOf(this as unknown as EventRouter);
    this.crossProcess = crossProcessOf(this as unknown as EventRouter);
    this.emit = Object.fromEntries(
      Object.keys(options.catalog.rows).map((name) => [
        name,
        async (payload: unknown, how: PublishOptions = {}) =>
          this.publishPrepared(this.prepare(name, payload, how, "strict")),
      ]),
    ) as unknown as Emitters<R>;
    this.#tail = createTail(
      headSeq(options.store),
      (events) => this.#release(events),
      (seq, limit) => eventsAfter(options.store, seq, limit).map((stored) => fromStored(options.catalog, stored)),
      (run, delayMs) => {
        options.clock.after(delayMs, run);
      },
    );
  }

  /** Resolves once the event is committed (durable) or handed out (volatile, process); never waits for handlers. */
  async publish<N extends EventName<R>>(
    eventType: N,
    payload: PayloadFor<N, R>,
    options?: PublishOptions,
  ): Promise<RouterEvent<N, R> & Pick<Published, "suppressed">>;
  async publish(
    eventType: string,
    payload: Readonly<Record<string, unknown>>,
    options?: PublishOptions,
  ): Promise<Published>;
  async publish(eventType: string, payload: unknown, options: PublishOptions = {}): Promise<Published> {
    const prepared = this.prepare(eventType, payload, options);
    return prepared.event.eventClass === "durable" || this.#stopped
      ? this.publishPrepared(prepared)
      : this.#publishPassing(prepared);
  }

  /** For contexts that cannot await: the event at once, and a promise of its commit. */
  publishSync(
    eventType: string,
    payload: Readonly<Record<string, unknown>>,
    options: PublishOptions = {},
  ): AnyEvent & { readonly durable: Promise<Published> } {
    const prepared = this.prepare(eventType, payload, options);
    const durable = this.publishPrepared(prepared);
    durable.catch((error: unknown) =>
      this.#hooks.log.error("an event published without waiting was not committed", {
        event_type: prepared.event.eventType,
        event_id: prepared.event.eventId,
        error: String(error),
      }),
    );
    return { ...prepared.event, durable };
  }

  /** Checks and completes what a publisher said. The event that is being handled, if any, becomes its parent. */
  prepare(eventType: string, payload: unknown, options: PublishOptions = {}, how: Validation = "tolerant"): Prepared {
    const handled = options.parent === undefined ? this.#current.getStore() : undefined;
    const current = options.parent === undefined ? storedCause(handled) : options.parent;
    const { follows } = options;
    const traceId =
      options.traceId ??
      (current === undefined ? (follows?.traceId ?? handled?.traceId ?? this.#tracing.activeTraceId()) : undefined);
    const complete =
      current === undefined && traceId === undefined
        ? options
        : {
            ...options,
            ...defined({ parent: current, traceId }),
          };
    const prepared = prepare(this.#context, eventType, payload, complete, how);
    if (follows?.traceId === prepared.event.traceId) this.#tracing.follows(prepared.event, follows);
    return prepared;
  }

  async publishPrepared(prepared: Prepared): Promise<Published> {
    this.#assertRunning();
    if (prepared.event.eventClass !== "durable") return this.#publishPassing(prepared);
    const [published] = await this.#append([prepared]);
    return published![1];
  }

  /** Several events, all or nothing, with one flush. */
  async publishAll(all: readonly Prepared[]): Promise<Published[]> {
    this.#assertRunning();
    const published = new Map(await this.#append(all.filter(isDurable)));
    return all.map((prepared) => published.get(prepared) ?? this.#publishPassing(prepared));
  }

  /** Hears an event (any spelling, or `null` for all) while this process lives. Returns how to stop. */
  subscribe<N extends EventName<R>>(
    eventType: N,
    handler: (event: RouterEvent<N, R>) => void | Promise<void>,
    options?: { name?: string; view?: ViewName },
  ): () => void;
  subscribe(eventType: string | null, handler: Handler, options?: { name?: string; view?: ViewName }): () => void;
  subscribe(eventType: string | null, handler: unknown, options: { name?: string; view?: ViewName } = {}): () => void {
    const call = handler as Handler;
    const name = eventType === null ? null : this.#canonical(eventType);
    const view = options.view ?? "router";
    this.#ephemeral.add(name, { handler: call, name: listenerNameOf(call, options.name), view });
    return () => {
      this.#ephemeral.remove(name, call, view);
    };
  }

  /** Ends one subscription of this router; what the same handler hears through a bus, it still hears. */
  unsubscribe(eventType: string | null, handler: unknown, { view = "router" }: { view?: ViewName } = {}): boolean {
    return this.#ephemeral.remove(eventType === null ? null : this.#canonical(eventType), handler as Handler, view);
  }

  /**
   * Registers a durable consumer of this process: it gets every event it is owed, also those published while it was away.
   * Its handlers' writes, emissions and ack are committed together.
   */
  consume(options: ConsumeOptions): Promise<{ stop(): Promise<void> }> {
    return this.#consumers.consume(options);
  }

  /** Work that is no delivery, with a handler's promises: its rows and emissions are one commit, within its time limit. */
  async transact(options: TransactOptions, body: WorkBody): Promise<void> {
    this.#assertRunning();
    const { source, signal, parent, follows, validation, timeoutMs = this.settings.handlerTimeoutMs } = options;
    const prepareEmission: TransactWork["prepareEmission"] = (type, payload, cause) =>
      this.prepare(type, payload, { source, ...defined({ parent: cause, follows }) }, validation);
    // Its cause is the one it names: a loop that was started by a handler is not that event's doing for ever after.
    await this.#current.run(parent, () => transact(this.#hooks, { source, signal, timeoutMs, prepareEmission }, body));
  }

  /** Opens a session for a consumer of another process. A newer session of the same name replaces the older one. */
  openSession(request: SessionRequest): Promise<Session> {
    return this.#consumers.openSession(request);
  }

  session(consumer: string, id: string): Session {
    return this.#consumers.session(consumer, id);
  }

  /** Ends a session; its consumer keeps its place. */
  closeSession(session: Session, died: boolean): Promise<void> {
    return this.#consumers.closeSession(session, died);
  }

  /** A consumer says goodbye: it is owed nothing any more. */
  forgetConsumer(consumer: string): Promise<{ forgiven: number }> {
    return this.#consumers.forget(consumer);
  }

  /**
   * Delivers events that a consumer has behind it once more, oldest first, each with all its tries; what it is owed otherwise
   * stays as it is. A dry run changes nothing.
   */
  async replay(selection: ReplaySelection & { readonly dryRun?: boolean }): Promise<Replayed> {
    const { consumer, max, dryRun = false } = selection;
    const known = this.store.read<{ consumer: string }>("SELECT consumer FROM consumers WHERE expired_at IS NULL");
    if (!known.some((row) => row.consumer === consumer))
      throw OperatingError.notFound(
        "CONSUMER_NOT_FOUND",
        `there is no consumer '${consumer.slice(0, 200)}'.${didYouMean(
          consumer,
          known.map((row) => row.consumer),
        )}`,
        {
          hint: "Only durable consumers can be named here; 'ringrift events show <name>' tells who hears an event.",
        },
      );
    const eventTypes = (selection.eventTypes ?? []).map((type) => this.#canonical(type));
    // Marks that moved without an ack are written down first: what is below them has been had.
    await this.#consumers.flushMarks();
    const found = await scanReplayable(this.store, { ...selection, eventTypes });
    const events = found.slice(0, max);
    if (!dryRun && events.length > 0) {
      const [{ lanes }] = await this.store.commit([replayDeliveries({ consumer, seqs: events.map(({ seq }) => seq) })]);
      this.#consumers.wake(consumer, lanes);
    }
    return { events, hasMore: found.length > max, isConnected: this.#consumers.has(consumer) };
  }

  hasSubscribers(eventType: string): boolean {
    return this.getSubscriptionCount(eventType) > 0;
  }

  getSubscriptionCount(eventType: string): number {
    return (
      (this.listSubscribers()[this.#canonical(eventType)] ?? []).length + (this.listSubscribers()["*"] ?? []).length
    );
  }

  /** Who listens, by event; '*' for those that hear everything. */
  listSubscribers(): Record<string, string[]> {
    const lists: Record<string, string[]> = {};
    const add = (type: string, name: string) => {
      lists[type] = [...(lists[type] ?? []), name];
    };
    for (const [consumer, types] of this.#consumers.list()) for (const type of types) add(type, consumer);
    for (const { name } of this.#ephemeral.of(null)) add("*", name ?? "anonymous");
    for (const type of this.#ephemeral.types())
      for (const { name } of this.#ephemeral.of(type)) add(type, name ?? "anonymous");
    return lists;
  }

  /** The last events of this process in memory, newest last; asks the journal when told to. */
  history(filter: HistoryFilter & { fromJournal?: boolean } = {}): AnyEvent[] {
    const { eventType } = filter;
    const wanted = eventType === undefined ? filter : { ...filter, eventType: this.#canonical(eventType) };
    if (filter.fromJournal) return journalHistory(this.store, wanted).map((stored) => fromStored(this.catalog, stored));
    const found: AnyEvent[] = [];
    this.#history.newestFirst((event) => {
      if (filter.since !== undefined && event.timestamp < filter.since) return false;
      const fits =
        SAME.every((key) => wanted[key] === undefined || event[key] === wanted[key]) &&
        (filter.until === undefined || event.timestamp < filter.until);
      if (fits) found.push(event);
      return found.length < (filter.limit ?? this.settings.historySize);
    });
    return found.reverse();
  }

  /** Resolves when every consumer that is owed this event is done with it, one way or the other. */
  async settled(event: Pick<AnyEvent, "eventId" | "seq">): Promise<void> {
    await this.#ephemeral.settled(event.eventId);
    const { seq } = event;
    if (seq === null) return;
    for (;;) {
      const open = pairsOfEvent(this.store, seq).filter(
        ({ state }) => state === "owed" || state === "parked" || state === "retrying",
      );
      if (open.length === 0) return;
      if (this.#stopped) throw OperatingError.unavailable("ROUTER_STOPPED", "the router has stopped");
      await new Promise<void>((resolve) => {
        const list = this.#waiters.get(seq) ?? [];
        list.push(resolve);
        this.#waiters.set(seq, list);
      });
    }
  }

  getStats() {
    return {
      ...this.statistics.report(),
      subscribers: Object.fromEntries(
        Object.entries(this.listSubscribers()).map(([type, names]) => [type, names.length]),
      ),
      journal_head: this.#tail.seq,
      degraded: this.store.fault !== null,
      fault: this.store.fault,
      open_breakers: this.#consumers.openBreakers(),
    };
  }

  /** Consumers of this process and how many journal rows each has still to look at. */
  consumerLag(): Record<string, number> {
    return this.#consumers.lag();
  }

  /** Writes down marks that moved without an ack, and signs of life. Called from time to time. */
  async flushMarks(): Promise<void> {
    await this.#consumers.flushMarks();
    // Pairs also end without this process doing it: a consumer expired, or a tool changed the journal.
    this.#recheckSettled();
  }

  /** Nothing is on its way to any consumer of this process. */
  get idle(): boolean {
    return this.#ephemeral.running === 0 && this.#consumers.idle;
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await runAll([
      () => this.#consumers.stop(),
      async () => {
        if (this.store.fault !== null) return;
        await this.#consumers
          .flushMarks()
          .catch((error: unknown) => this.#hooks.log.warn("marks were not written", { error: String(error) }));
      },
      () => this.#hooks.timeLimits.stop(),
      () => this.#recheckSettled(),
    ]);
  }

  #assertRunning(): void {
    if (this.#stopped)
      throw OperatingError.unavailable("ROUTER_STOPPED", "the router has stopped", { retryable: false });
  }

  async #append(durable: readonly Prepared[]): Promise<[Prepared, Published][]> {
    const appends = appendAll(durable, this.settings.dedupWindowSeconds);
    return appends.length === 0 ? [] : this.#committedAll(appendedOf(durable, await this.store.commit(appends)));
  }

  #canonical(spelling: string): string {
    if (spelling === "*") return spelling;
    const resolved = this.catalog.names.resolve(spelling);
    if (resolved !== undefined) {
      if (resolved.spelling === "legacy") this.#deprecated("name", spelling, resolved.name);
      return resolved.name;
    }
    if (this.settings.strictNames) throw this.catalog.names.unknown(spelling);
    this.#deprecated("unknown", spelling, this.catalog.names.suggest(spelling).join(", "));
    return spelling;
  }

  #publishPassing(prepared: Prepared): Published {
    const { event, dedupKey } = prepared;
    const now = this.#hooks.clock.now();
    if (this.#seen.get(event.eventId, now) !== undefined) {
      this.statistics.duplicates += 1;
      return { ...event, suppressed: "event_id" };
    }
    const first = dedupKey === undefined ? undefined : this.#contents.get(dedupKey, now);
    if (first !== undefined) {
      this.statistics.contentDuplicates += 1;
      return { ...event, eventId: first, suppressed: "content" };
    }
    this.#seen.set(event.eventId, true, now);
    if (dedupKey !== undefined) this.#contents.set(dedupKey, event.eventId, now);
    this.#deliver(event);
    return { ...event, suppressed: null };
  }

  #committedAll(emitted: readonly Appended[]): [Prepared, Published][] {
    const fresh: AnyEvent[] = [];
    const published = emitted.map(({ prepared, result }): [Prepared, Published] => {
      if (result.suppressed === null) {
        const event = Object.freeze({ ...prepared.event, seq: result.seq });
        fresh.push(event);
        return [prepared, { ...event, suppressed: null }];
      }
      if (result.suppressed === "content") this.statistics.contentDuplicates += 1;
      else this.statistics.duplicates += 1;
      return [
        prepared,
        { ...prepared.event, eventId: result.event_id, seq: result.seq, suppressed: result.suppressed },
      ];
    });
    if (fresh.length > 0) this.#tail.add(fresh);
    return published;
  }

  /** Committed events, in journal order. */
  #release(events: readonly AnyEvent[]): void {
    if (this.#stopped) return;
    for (const event of events) this.#deliver(event);
    this.#consumers.offer(events);
  }

  #deliver(event: AnyEvent): void {
    this.#history.push(event);
    this.statistics.routed(event);
    const reached = whyUnreadable(event) === undefined ? this.#ephemeral.deliver(event, viewBits(event.views)) : 0;
    if (reached === 0 && !this.#consumers.hears(event.eventType)) this.statistics.unheard.add(event.eventType);
    this.#tracing.committed(event);
    this.#tracing.delivered(event, () => this.listSubscribers()[event.eventType] ?? []);
  }

  #ended(seqs: readonly number[]): void {
    if (this.#waiters.size === 0) return;
    for (const seq of seqs) {
      const waiting = this.#waiters.get(seq);
      this.#waiters.delete(seq);
      for (const resolve of waiting ?? []) resolve();
    }
  }

  /** Whoever waits for an event to be settled looks again. */
  #recheckSettled(): void {
    this.#ended([...this.#waiters.keys()]);
  }

  #deprecated(kind: "name" | "key" | "unknown", what: string, instead: string): void {
    const times = this.statistics[kind === "unknown" ? "unknown" : "deprecated"].add(what);
    if (times > 1) return;
    if (kind === "unknown")
      this.#hooks.log.warn(`unknown event '${what}'`, instead === "" ? {} : { did_you_mean: instead });
    else this.#hooks.log.warn(`'${what}' is an old ${kind}; say '${instead}'`, { deprecated: what, instead });
  }

  #failed({ consumer, event, kind, error, attempts }: Failure): void {
    this.statistics.failures += 1;
    if (kind === "timeout") this.statistics.timeouts.add(consumer);
    const message = error.split("\n", 1)[0]!;
    this.#hooks.log.warn(`handler ${kind === "timeout" ? "ran into its time limit" : "failed"}`, {
      consumer,
      event_type: event.eventType,
      event_id: event.eventId,
      attempts,
      error: message,
    });
  }

  /** A listener with a name failed: its letter and the report on it are one commit. What only passes by leaves no letter. */
  async #buryListener(failure: Failure): Promise<void> {
    const { store, clock, log } = this.#hooks;
    const { consumer, event, error, attempts } = failure;
    const { seq, eventId, eventType } = event;
    const at = clock.now();
    if (seq === null) {
      // Such events may be many, and nobody can be given them again: one report for each window says enough.
      const about = `${consumer} ${eventType}`;
      if (this.#reported.get(about, at) !== undefined) return;
      this.#reported.set(about, true, at);
    }
    const { appends, onCommitted } = emissionsOf(this.#hooks, this.#death(failure));
    const mark = { consumer, lowWater: 0, sweepDone: false };
    const letter = { mark, lane: laneOf(event), eventId, eventType, attempts, at, error, handlerVersion: "1" };
    const bury = seq === null ? [] : [buryDelivery({ ...letter, seq, fingerprint: fingerprintOf(error) })];
    if (bury.length + appends.length === 0) return;
    try {
      onCommitted(await store.commit([...bury, ...appends]));
    } catch (thrown) {
      log.error("what a listener failed at was not written down", {
        consumer,
        event_id: eventId,
        error: messageOf(thrown),
      });
    }
  }

  /** HANDLER_FAILED or HANDLER_TIMEOUT, except about handlers of those two. */
  #death({ event, kind, error, consumer, limitMs, attempts }: Failure): Prepared[] {
    const name = kind === "timeout" ? "HANDLER_TIMEOUT" : "HANDLER_FAILED";
    if (REPORTS.has(event.eventType) || this.catalog.row(name) === undefined) return [];
    const about = { consumer, event_type: event.eventType, event_id: event.eventId, attempts };
    const payload =
      kind === "timeout"
        ? { ...about, timeout_seconds: limitMs / 1_000 }
        : { ...about, error: error.slice(0, 2_000), fingerprint: fingerprintOf(error) };
    try {
      return [this.prepare(name, payload, { source: "router", parent: event }, "strict")];
    } catch (thrown) {
      // An id or a name that our own rules would not take: the letter is written all the same, and this says why it is alone.
      this.#hooks.log.error(`${name} could not be said`, { ...about, error: messageOf(thrown) });
      return [];
    }
  }
}
