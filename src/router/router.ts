import { AsyncLocalStorage } from "node:async_hooks";
import type { Catalog, EventName, PayloadFor, RouterEvent, Rows } from "../events/index.ts";
import { createIds, createTimeLimits, defined, OperatingError, runAll } from "../kernel/index.ts";
import { crossProcessOf, dataBusOf, type EventBus, stageBusOf } from "./buses.ts";
import { badConsumerName, type ConsumeOptions, Consumers, consumerShape, type SessionRequest } from "./consumers.ts";
import { createDeadLetterQueue, type DeadLetterQueue } from "./dead-letter-queue.ts";
import { EphemeralSubscribers, type Handler } from "./ephemeral.ts";
import { type AnyEvent, fromStored, type Published, type ViewName, viewBits, whyUnreadable } from "./event.ts";
import { FailureReports } from "./failure-reports.ts";
import {
  type ConsumerStatus,
  consumerStatus,
  consumersBehind,
  eventsAfter,
  type HistoryFilter,
  headSeq,
  journalHistory,
} from "./journal/queries.ts";
import type { ReplaySelection } from "./journal/replay.ts";
import type { CommitHooks, RouterParts } from "./parts.ts";
import type { Prepared, PublishOptions, Validation } from "./prepare.ts";
import { Publisher } from "./publisher.ts";
import { createRecentEvents, type RecentEvents } from "./recent-events.ts";
import { type Replayed, replayTo } from "./replay.ts";
import type { Session } from "./session.ts";
import { defaultRouterSettings, type RouterSettings } from "./settings.ts";
import { Settlement } from "./settlement.ts";
import { createSpellings, type Spellings } from "./spellings.ts";
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

export interface TransactOptions
  extends Pick<TransactWork, "source" | "signal">,
    Partial<Pick<TransactWork, "timeoutMs">> {
  readonly validation?: Validation;
  /** The event that caused it, if one did; the parent of what is emitted. */
  readonly parent?: AnyEvent;
  /** The span of another process that it follows from, where no event caused it. */
  readonly follows?: RemoteSpan;
}

/** What a listener is called: as it was told, or as its function is. One that is written in place has no name. */
const listenerNameOf = (handler: Handler, given: string | undefined): string | null => {
  if (given !== undefined && !consumerShape.test(given)) throw badConsumerName(given);
  const name = given ?? handler.name.replace(/^bound /, "");
  return consumerShape.test(name) ? name : null;
};

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
  readonly #current = new AsyncLocalStorage<AnyEvent | undefined>();
  readonly #spellings: Spellings;
  readonly #publisher: Publisher;
  readonly #ephemeral: EphemeralSubscribers;
  readonly #consumers: Consumers;
  readonly #history: RecentEvents;
  readonly #settlement: Settlement;
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
      onCommitted: (emitted) => void this.#publisher.committed(emitted),
      publishPassing: (prepared) => void this.#publisher.pass(prepared),
    };
    const { log, store } = options;
    const { strictNames } = this.settings;
    this.#tracing = createTracing(log, this.settings.trace, options.spanIds);
    this.#history = createRecentEvents(this.settings.historySize);
    this.#settlement = new Settlement(store);
    this.#spellings = createSpellings({ catalog: options.catalog, strictNames, statistics: this.statistics, log });
    this.#publisher = new Publisher({
      ...this.#hooks,
      context: { ...this.#hooks, ...this.#spellings, nodeId: options.nodeId, strictNames },
      current: this.#current,
      tracing: this.#tracing,
      statistics: this.statistics,
      onAppended: (events) => this.#tail.add(events),
      onPassing: (event) => this.#deliver(event),
    });
    const reports = new FailureReports({
      hooks: this.#hooks,
      statistics: this.statistics,
      prepare: (type, payload, how, validation) => this.prepare(type, payload, how, validation),
    });
    this.#ephemeral = new EphemeralSubscribers({
      ...this.#hooks,
      within: (event, run) => this.#current.run(event, run),
      onFailure: (failure) => reports.failed(failure),
      onDeath: (failure) => reports.buryListener(failure),
    });
    this.#consumers = new Consumers({
      ...this.#hooks,
      canonical: this.#spellings.canonical,
      head: () => this.#tail.seq,
      prepare: (type, payload, how, validation) => this.prepare(type, payload, how, validation),
      within: (event, consumer, run) => this.#tracing.handled(event, consumer, () => this.#current.run(event, run)),
      onEnded: (seqs) => this.#settlement.ended(seqs),
      onGivenUp: () => this.#settlement.recheck(),
      onFailure: (failure) => reports.failed(failure),
      onDeath: (failure) => reports.onDeath(failure),
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
      : this.#publisher.pass(prepared);
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
    return this.#publisher.prepare(eventType, payload, options, how);
  }

  async publishPrepared(prepared: Prepared): Promise<Published> {
    this.#assertRunning();
    return (await this.#publisher.publishAll([prepared]))[0]!;
  }

  /** Several events, all or nothing, with one flush. */
  async publishAll(all: readonly Prepared[]): Promise<Published[]> {
    this.#assertRunning();
    return this.#publisher.publishAll(all);
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
    const name = eventType === null ? null : this.#spellings.canonical(eventType);
    const view = options.view ?? "router";
    this.#ephemeral.add(name, { handler: call, name: listenerNameOf(call, options.name), view });
    return () => {
      this.#ephemeral.remove(name, call, view);
    };
  }

  /** Ends one subscription of this router; what the same handler hears through a bus, it still hears. */
  unsubscribe(eventType: string | null, handler: unknown, { view = "router" }: { view?: ViewName } = {}): boolean {
    return this.#ephemeral.remove(
      eventType === null ? null : this.#spellings.canonical(eventType),
      handler as Handler,
      view,
    );
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
    const eventTypes = (selection.eventTypes ?? []).map((type) => this.#spellings.canonical(type));
    return replayTo(this.store, this.#consumers, { ...selection, eventTypes });
  }

  hasSubscribers(eventType: string): boolean {
    return this.getSubscriptionCount(eventType) > 0;
  }

  getSubscriptionCount(eventType: string): number {
    return (
      (this.listSubscribers()[this.#spellings.canonical(eventType)] ?? []).length +
      (this.listSubscribers()["*"] ?? []).length
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
    const wanted = eventType === undefined ? filter : { ...filter, eventType: this.#spellings.canonical(eventType) };
    if (filter.fromJournal) return journalHistory(this.store, wanted).map((stored) => fromStored(this.catalog, stored));
    return this.#history.find(wanted);
  }

  /** Resolves when every consumer that is owed this event is done with it, one way or the other. */
  async settled(event: Pick<AnyEvent, "eventId" | "seq">): Promise<void> {
    await this.#ephemeral.settled(event.eventId);
    if (event.seq !== null) await this.#settlement.settled(event.seq, () => this.#stopped);
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
      open_breakers: this.openBreakers(),
    };
  }

  /** Consumers of this process to whom events of a type are not brought for now: they fail again and again. */
  openBreakers(): { consumer: string; event_type: string }[] {
    return this.#consumers.openBreakers();
  }

  /**
   * Consumers of this process and how many journal rows each has still to look at. What waits for its next try is not in it,
   * nor what stands behind that: `settled` says of an event whether everybody is done with it.
   */
  consumerLag(): Record<string, number> {
    return this.#consumers.lag();
  }

  /** All consumers. How far one of this process is behind it knows itself: its stored mark follows from time to time. */
  consumers(): ConsumerStatus[] {
    return this.#withOwnLag(consumerStatus(this.store));
  }

  /** How far each consumer that is present is behind, furthest first. */
  consumersBehind(): Pick<ConsumerStatus, "consumer" | "lag">[] {
    return this.#withOwnLag(consumersBehind(this.store)).sort((a, b) => b.lag - a.lag);
  }

  #withOwnLag<T extends Pick<ConsumerStatus, "consumer" | "lag">>(all: readonly T[]): T[] {
    const own = this.consumerLag();
    return all.map((each) => ({ ...each, lag: own[each.consumer] ?? each.lag }));
  }

  /** Writes down marks that moved without an ack, and signs of life. Called from time to time. */
  async flushMarks(): Promise<void> {
    await this.#consumers.flushMarks();
    // Pairs also end without this process doing it: a consumer expired, or a tool changed the journal.
    this.#settlement.recheck();
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
          .catch((error: unknown) =>
            this.#hooks.log.warn("positions of consumers were not stored", { error: String(error) }),
          );
      },
      () => this.#hooks.timeLimits.stop(),
      () => this.#settlement.recheck(),
    ]);
  }

  #assertRunning(): void {
    if (this.#stopped)
      throw OperatingError.unavailable("ROUTER_STOPPED", "the router has stopped", { retryable: false });
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
}
