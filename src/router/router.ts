import { AsyncLocalStorage } from "node:async_hooks";
import type { Catalog, EventName, PayloadFor, RouterEvent, Rows } from "../events/index.ts";
import {
  type Clock,
  createIds,
  createRecent,
  createRing,
  createTimeLimits,
  type Ids,
  type Log,
  OperatingError,
  type Random,
  type Recent,
  type Ring,
  sleep,
  type TimeLimits,
} from "../kernel/index.ts";
import { Cursor } from "./cursor.ts";
import { createDeadLetterQueue, type DeadLetterQueue } from "./dead-letter-queue.ts";
import { EphemeralSubscribers, type Handler } from "./ephemeral.ts";
import { type AnyEvent, fromStored, type Published, VIEW, type ViewName, viewBits } from "./event.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type AppendResult, appendEvent } from "./journal/append.ts";
import { registerConsumer, touchConsumers, unregisterConsumer } from "./journal/consumers.ts";
import { eventsAfter, type HistoryFilter, headSeq, journalHistory, pairsOfEvent } from "./journal/queries.ts";
import type { Delivery } from "./lanes.ts";
import {
  appendArgs,
  type PrepareContext,
  type Prepared,
  type PublishOptions,
  prepare,
  type Validation,
} from "./prepare.ts";
import { type DurableHandler, type Failure, type HandlerContext, Runner } from "./runner.ts";
import { Session } from "./session.ts";
import { defaultRouterSettings, type RouterSettings } from "./settings.ts";
import { Statistics } from "./statistics.ts";
import type { Operation, Store } from "./store.port.ts";
import { createTail, type Tail } from "./tail.ts";
import { createTracing, type Tracing } from "./tracing.ts";
import { transact } from "./transact.ts";
import { crossProcessOf, dataBusOf, type EventBus, stageBusOf } from "./views.ts";

export interface RouterOptions<R extends Rows> {
  readonly catalog: Catalog<R>;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeId: string;
  readonly settings?: Partial<RouterSettings>;
}

export type Emitters<R extends Rows> = {
  readonly [N in EventName<R>]: (
    payload: PayloadFor<N, R>,
    options?: PublishOptions,
  ) => Promise<RouterEvent<N, R> & Pick<Published, "suppressed">>;
};

export interface ConsumeOptions {
  /** Stable name; its cursor is kept under it. */
  readonly consumer: string;
  readonly handlers: Readonly<Record<string, DurableHandler>>;
  /** Where it starts when it is first seen. */
  readonly start?: "earliest" | "now";
  /** Shown with its dead letters, so that one knows which code failed. */
  readonly version?: string;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  /** What this source says is not delivered: a unit never hears itself. */
  readonly deafTo?: string;
  readonly validation?: Validation;
}

export interface TransactOptions {
  /** Who speaks; the source of what is emitted. */
  readonly source: string;
  readonly validation?: Validation;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The event that caused it, if one did; the parent of what is emitted. */
  readonly parent?: AnyEvent;
}

export interface SessionRequest {
  readonly consumer: string;
  /** Names in any spelling; empty or '*' for all. */
  readonly eventTypes: readonly string[];
  readonly start?: "earliest" | "now";
  readonly version?: string;
  readonly leaseMs?: number;
}

interface Registered {
  readonly cursor: Cursor;
  readonly types: ReadonlySet<string>;
  readonly runner: Runner | undefined;
  session: Session | undefined;
}

/** The names of things that listen; a name of a process may not look like one of ours. */
const consumerShape = /^[A-Za-z0-9_][\w.@:/-]{0,199}$/;

/** The consumers of the router's own words about failed handlers are not reported on: that would never end. */
const REPORTS = new Set(["HANDLER_FAILED", "HANDLER_TIMEOUT"]);

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
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #ids: Ids;
  readonly #timeLimits: TimeLimits;
  readonly #context: PrepareContext;
  readonly #current = new AsyncLocalStorage<AnyEvent | undefined>();
  readonly #ephemeral: EphemeralSubscribers;
  readonly #consumers = new Map<string, Registered>();
  readonly #history: Ring<AnyEvent>;
  /** What passed through lately: event ids, and the id of the first event with some content. */
  readonly #seen: Recent<true>;
  readonly #contents: Recent<string>;
  readonly #waiters = new Map<number, (() => void)[]>();
  readonly #tail: Tail;
  readonly #tracing: Tracing;
  #stopped = false;

  constructor(options: RouterOptions<R>) {
    this.catalog = options.catalog;
    this.settings = { ...defaultRouterSettings, ...options.settings };
    this.nodeId = options.nodeId;
    this.store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#log = options.log;
    this.#ids = createIds(options.clock, options.random);
    this.#timeLimits = createTimeLimits(options.clock);
    this.#tracing = createTracing(options.log, this.settings.trace);
    this.#history = createRing(this.settings.historySize);
    this.#seen = createRecent(this.settings.dedupWindowSeconds * 1_000, 10_000);
    this.#contents = createRecent(this.settings.dedupWindowSeconds * 1_000, 10_000);
    this.#context = {
      catalog: options.catalog,
      clock: options.clock,
      ids: this.#ids,
      nodeId: options.nodeId,
      strictNames: this.settings.strictNames,
      onDeprecated: (kind, what, instead) => this.#deprecated(kind, what, instead),
    };
    this.#ephemeral = new EphemeralSubscribers({
      timeLimits: this.#timeLimits,
      timeoutMs: this.settings.handlerTimeoutMs,
      within: (event, run) => this.#current.run(event, run),
      onFailure: (event, subscriber, kind, error) => this.#ephemeralFailed(event, subscriber, kind, error),
    });
    this.deadLetters = createDeadLetterQueue({
      store: options.store,
      clock: options.clock,
      maxAttempts: this.settings.maxAttempts,
      onReturned: (consumer, lanes) => this.#consumers.get(consumer)?.cursor.wake(lanes),
      sleep: (delayMs) => sleep(options.clock, delayMs),
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
      (run) => {
        options.clock.after(0, run);
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
      this.#log.error("an event published without waiting was not committed", {
        event_type: prepared.event.eventType,
        event_id: prepared.event.eventId,
        error: String(error),
      }),
    );
    return { ...prepared.event, durable };
  }

  /** Checks and completes what a publisher said. The event that is being handled, if any, becomes its parent. */
  prepare(eventType: string, payload: unknown, options: PublishOptions = {}, how: Validation = "tolerant"): Prepared {
    const current = options.parent ?? this.#current.getStore();
    const traceId = options.traceId ?? (current === undefined ? this.#tracing.activeTraceId() : undefined);
    const complete =
      current === undefined && traceId === undefined
        ? options
        : {
            ...options,
            ...(current === undefined ? {} : { parent: current }),
            ...(traceId === undefined ? {} : { traceId }),
          };
    return prepare(this.#context, eventType, payload, complete, how);
  }

  async publishPrepared(prepared: Prepared): Promise<Published> {
    if (this.#stopped) throw new OperatingError("ROUTER_STOPPED", "the router has stopped");
    if (prepared.event.eventClass !== "durable") return this.#publishPassing(prepared);
    return this.#tracing.published(prepared.event, async () => {
      const [result] = await this.store.commit([appendEvent(appendArgs(prepared, this.settings.dedupWindowSeconds))]);
      return this.#committed(prepared, result);
    });
  }

  /** Several events, all or nothing, with one flush. */
  async publishAll(all: readonly Prepared[]): Promise<Published[]> {
    if (this.#stopped) throw new OperatingError("ROUTER_STOPPED", "the router has stopped");
    const durable = all.filter(({ event }) => event.eventClass === "durable");
    const operations: Operation<AppendResult>[] = durable.map((p) =>
      appendEvent(appendArgs(p, this.settings.dedupWindowSeconds)),
    );
    const results = operations.length === 0 ? [] : await this.store.commit(operations);
    const published = new Map(this.#committedAll(durable.map((prepared, i) => ({ prepared, result: results[i]! }))));
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
    this.#ephemeral.add(name, {
      handler: call,
      name: options.name ?? (call.name || "anonymous"),
      view: options.view ?? "router",
    });
    return () => {
      this.#ephemeral.remove(name, call);
    };
  }

  unsubscribe(eventType: string | null, handler: unknown): boolean {
    return this.#ephemeral.remove(eventType === null ? null : this.#canonical(eventType), handler as Handler);
  }

  /**
   * Registers a durable consumer of this process: it gets every event it is owed, also those published while it was away.
   * Its handlers' writes, emissions and ack are committed together.
   */
  async consume(options: ConsumeOptions): Promise<{ stop(): Promise<void> }> {
    const types = new Map(
      Object.entries(options.handlers).map(([spelling, handler]) => [this.#canonical(spelling), handler]),
    );
    const handlerOf = (type: string) => types.get(type) ?? types.get("*");
    const validation = options.validation ?? "tolerant";
    const source = options.deafTo ?? options.consumer;
    let runner: Runner | undefined;
    const { cursor, wanted } = await this.#register({
      consumer: options.consumer,
      kind: "unit",
      types: [...types.keys()],
      view: VIEW.router,
      start: options.start ?? "now",
      version: options.version ?? "1",
      deafTo: options.deafTo ?? null,
      onReady: () => runner?.pump(),
      breakerOf: (type) => runner?.breakerOf(type),
    });
    runner = new Runner(cursor, {
      consumer: options.consumer,
      handlerOf,
      concurrency: options.concurrency ?? this.settings.concurrency,
      timeoutMs: options.timeoutMs ?? this.settings.handlerTimeoutMs,
      store: this.store,
      clock: this.#clock,
      log: this.#log,
      timeLimits: this.#timeLimits,
      windowSeconds: this.settings.dedupWindowSeconds,
      breaker: { threshold: this.settings.breakerThreshold, openMs: this.settings.breakerOpenMs },
      prepareEmission: (type, payload, parent) => this.prepare(type, payload, { parent, source }, validation),
      within: (event, run) => this.#tracing.handled(event, options.consumer, () => this.#current.run(event, run)),
      ...this.#consumerCallbacks(),
    });
    this.#consumers.set(options.consumer, { cursor, types: wanted, runner, session: undefined });
    cursor.start(this.#tail.seq);
    const registered = runner;
    return {
      stop: async () => {
        await registered.stop(10_000);
        this.#consumers.delete(options.consumer);
      },
    };
  }

  /** Work that is no delivery, with a handler's promises: its rows and emissions are one commit, within its time limit. */
  async transact(options: TransactOptions, body: (context: HandlerContext) => void | Promise<void>): Promise<void> {
    if (this.#stopped) throw new OperatingError("ROUTER_STOPPED", "the router has stopped");
    const { source, parent, validation = "tolerant" } = options;
    const { onCommitted, publishPassing } = this.#consumerCallbacks();
    const ports = {
      store: this.store,
      log: this.#log,
      timeLimits: this.#timeLimits,
      windowSeconds: this.settings.dedupWindowSeconds,
      prepareEmission: (type: string, payload: unknown) => this.prepare(type, payload, { source }, validation),
      onCommitted,
      publishPassing,
    };
    const work = { source, timeoutMs: options.timeoutMs ?? this.settings.handlerTimeoutMs, signal: options.signal };
    // Its cause is the one it names: a loop that was started by a handler is not that event's doing for ever after.
    await this.#current.run(parent, () => transact(ports, work, body));
  }

  /** Opens a session for a consumer of another process. A newer session of the same name replaces the older one. */
  async openSession(request: SessionRequest): Promise<Session> {
    const known = this.#consumers.get(request.consumer);
    if (known?.runner !== undefined)
      throw new OperatingError("INVALID_CONSUMER", `'${request.consumer}' is a consumer of the main process`, {
        hint: "Choose another name.",
      });
    if (known?.session !== undefined) {
      await known.session.close(
        new OperatingError("SESSION_REPLACED", `another session of '${request.consumer}' was opened`),
        true,
      );
    }
    known?.cursor.stop();
    const all = request.eventTypes.length === 0 || request.eventTypes.includes("*");
    let session: Session | undefined;
    const { cursor, wanted } = await this.#register({
      consumer: request.consumer,
      kind: "process",
      types: all ? ["*"] : request.eventTypes.map((type) => this.#canonical(type)),
      view: VIEW.crossProcess,
      start: request.start ?? "now",
      version: request.version ?? "1",
      deafTo: null,
      onReady: () => session?.wake(),
      breakerOf: () => undefined,
    });
    session = new Session({
      id: this.#ids.uuid(),
      consumer: request.consumer,
      cursor,
      clock: this.#clock,
      timeLimits: this.#timeLimits,
      leaseMs: request.leaseMs ?? this.settings.handlerTimeoutMs,
      windowSeconds: this.settings.dedupWindowSeconds,
      ...this.#consumerCallbacks(),
    });
    this.#consumers.set(request.consumer, { cursor, types: wanted, runner: undefined, session });
    cursor.start(this.#tail.seq);
    return session;
  }

  session(consumer: string, id: string): Session {
    const session = this.#consumers.get(consumer)?.session;
    if (session === undefined || session.id !== id || session.closed)
      throw new OperatingError("SESSION_NOT_FOUND", `session ${id} of '${consumer}' has ended`, {
        hint: "Open a new one; what was not acked is delivered again.",
      });
    return session;
  }

  /** Ends a session; its consumer keeps its place. */
  async closeSession(session: Session, died: boolean): Promise<void> {
    await session.close(
      new OperatingError("SESSION_CLOSED", died ? "the connection was lost" : "closed by the consumer"),
      died,
    );
    const registered = this.#consumers.get(session.consumer);
    if (registered?.session !== session) return;
    registered.cursor.stop();
    this.#consumers.delete(session.consumer);
  }

  /** A consumer says goodbye: it is owed nothing any more. */
  async forgetConsumer(consumer: string): Promise<{ forgiven: number }> {
    const registered = this.#consumers.get(consumer);
    await registered?.session?.close(new OperatingError("SESSION_CLOSED", "the consumer was removed"), false);
    await registered?.runner?.stop(10_000);
    registered?.cursor.stop();
    this.#consumers.delete(consumer);
    const [result] = await this.store.commit([unregisterConsumer({ consumer, at: this.#clock.now() })]);
    return result;
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
    for (const [consumer, { types }] of this.#consumers) for (const type of types) add(type, consumer);
    for (const { name } of this.#ephemeral.of(null)) add("*", name);
    for (const type of this.#ephemeral.types()) for (const { name } of this.#ephemeral.of(type)) add(type, name);
    return lists;
  }

  /** The last events of this process in memory, newest last; asks the journal when told to. */
  history(filter: HistoryFilter & { fromJournal?: boolean } = {}): AnyEvent[] {
    const eventType = filter.eventType === undefined ? undefined : this.#canonical(filter.eventType);
    if (filter.fromJournal) {
      const { fromJournal: _, ...rest } = filter;
      const query = eventType === undefined ? rest : { ...rest, eventType };
      return journalHistory(this.store, query).map((stored) => fromStored(this.catalog, stored));
    }
    const found: AnyEvent[] = [];
    this.#history.newestFirst((event) => {
      if (filter.since !== undefined && event.timestamp < filter.since) return false;
      const fits =
        (eventType === undefined || event.eventType === eventType) &&
        (filter.origin === undefined || event.origin === filter.origin) &&
        (filter.source === undefined || event.source === filter.source) &&
        (filter.orderKey === undefined || event.orderKey === filter.orderKey) &&
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
      open_breakers: [...this.#consumers].flatMap(([consumer, { runner }]) =>
        (runner?.openBreakers() ?? []).map((event_type) => ({ consumer, event_type })),
      ),
    };
  }

  /** Consumers of this process and how many journal rows each has still to look at. */
  consumerLag(): Record<string, number> {
    return Object.fromEntries([...this.#consumers].map(([consumer, { cursor }]) => [consumer, cursor.lag]));
  }

  /** Writes down marks that moved without an ack, and signs of life. Called from time to time. */
  async flushMarks(): Promise<void> {
    const moved = [...this.#consumers.values()].flatMap(({ cursor }) => {
      const operation = cursor.flushMark();
      return operation === undefined ? [] : [{ cursor, operation }];
    });
    const alive = [...this.#consumers.keys()];
    if (moved.length === 0 && alive.length === 0) return;
    await this.store.commit([
      ...moved.map(({ operation }) => operation),
      touchConsumers({ consumers: alive, at: this.#clock.now() }),
    ]);
    for (const { cursor, operation } of moved) cursor.markFlushed(operation);
  }

  /** Nothing is on its way to any consumer of this process. */
  get idle(): boolean {
    return this.#ephemeral.running === 0 && [...this.#consumers.values()].every(({ cursor }) => cursor.idle);
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    const ending = [...this.#consumers.values()];
    await Promise.all(
      ending.map(async ({ runner, session, cursor }) => {
        await runner?.stop(10_000);
        await session?.close(
          new OperatingError("SESSION_CLOSED", "the main process stops", { retryable: true }),
          false,
        );
        cursor.stop();
      }),
    );
    if (this.store.fault === null)
      await this.flushMarks().catch((error: unknown) =>
        this.#log.warn("marks were not written", { error: String(error) }),
      );
    this.#consumers.clear();
    this.#timeLimits.stop();
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

  async #register(request: {
    consumer: string;
    kind: "unit" | "process";
    types: readonly string[];
    view: number;
    start: "earliest" | "now";
    version: string;
    deafTo: string | null;
    onReady: () => void;
    breakerOf: (type: string) => ReturnType<Runner["breakerOf"]> | undefined;
  }): Promise<{ cursor: Cursor; wanted: ReadonlySet<string> }> {
    const { consumer, view, deafTo } = request;
    if (!consumerShape.test(consumer))
      throw new OperatingError("INVALID_CONSUMER", `'${consumer}' is no name for a consumer`, {
        hint: "Letters, digits and _ . @ : / - are allowed, at most 200 characters.",
      });
    const wanted = request.types.map((eventType) => ({ eventType, view }));
    const [registered] = await this.store.commit([
      registerConsumer({
        consumer,
        kind: request.kind,
        wanted,
        start: request.start,
        handlerVersion: request.version,
        deafTo,
        at: this.#clock.now(),
      }),
    ]);
    if (registered.wasExpired)
      this.#log.warn("a consumer that had expired is back; it starts anew", { consumer, start: request.start });
    const starts = new Map(
      this.store
        .read<{ event_type: string; start_seq: number }>(
          "SELECT event_type, start_seq FROM subscriptions WHERE consumer = ? AND end_seq IS NULL",
          consumer,
        )
        .map(({ event_type, start_seq }) => [event_type, start_seq]),
    );
    const cursor = new Cursor({
      consumer,
      handlerVersion: request.version,
      lowWater: registered.lowWater,
      wants: (event) => {
        const start = starts.get(event.eventType) ?? starts.get("*");
        return (
          start !== undefined && event.seq! > start && (viewBits(event.views) & view) !== 0 && event.source !== deafTo
        );
      },
      store: this.store,
      clock: this.#clock,
      random: this.#random,
      retry: {
        maxAttempts: this.settings.maxAttempts,
        backoff: { firstMs: this.settings.retryFirstMs, mostMs: this.settings.retryMostMs, jitter: 0.2 },
      },
      window: this.settings.window,
      fromStored: (stored) => fromStored(this.catalog, stored),
      onReady: request.onReady,
      onEnded: (seqs) => this.#ended(seqs),
      breakerOf: request.breakerOf,
    });
    return { cursor, wanted: new Set(request.types) };
  }

  #consumerCallbacks() {
    return {
      onCommitted: (emitted: readonly { prepared: Prepared; result: AppendResult }[]) => {
        this.#committedAll(emitted);
      },
      publishPassing: (prepared: Prepared) => {
        this.#publishPassing(prepared);
      },
      onFailure: (failure: Failure) => this.#failed(failure),
      onDeath: (delivery: Delivery, failure: Failure, attempts: number) => this.#death(delivery, failure, attempts),
    };
  }

  #publishPassing(prepared: Prepared): Published {
    const { event, dedupKey } = prepared;
    const now = this.#clock.now();
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

  #committed(prepared: Prepared, result: AppendResult): Published {
    return this.#committedAll([{ prepared, result }])[0]![1];
  }

  #committedAll(emitted: readonly { prepared: Prepared; result: AppendResult }[]): [Prepared, Published][] {
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
    for (const { cursor } of this.#consumers.values()) cursor.offer(events);
  }

  #deliver(event: AnyEvent): void {
    this.#history.push(event);
    this.statistics.routed(event);
    const reached = this.#ephemeral.deliver(event, viewBits(event.views));
    if (reached === 0 && !this.#heardByConsumer(event.eventType)) this.statistics.unheard(event);
    this.#tracing.delivered(event, () => this.listSubscribers()[event.eventType] ?? []);
  }

  #heardByConsumer(eventType: string): boolean {
    for (const { types } of this.#consumers.values()) if (types.has(eventType) || types.has("*")) return true;
    return false;
  }

  #ended(seqs: readonly number[]): void {
    if (this.#waiters.size === 0) return;
    for (const seq of seqs) {
      const waiting = this.#waiters.get(seq);
      this.#waiters.delete(seq);
      for (const resolve of waiting ?? []) resolve();
    }
  }

  #deprecated(kind: "name" | "key" | "unknown", what: string, instead: string): void {
    const times = kind === "unknown" ? this.statistics.unknown(what) : this.statistics.deprecated(what);
    if (times > 1) return;
    if (kind === "unknown") this.#log.warn(`unknown event '${what}'`, instead === "" ? {} : { did_you_mean: instead });
    else this.#log.warn(`'${what}' is an old ${kind}; say '${instead}'`, { deprecated: what, instead });
  }

  #ephemeralFailed(event: AnyEvent, subscriber: string, kind: "failed" | "timeout", error: string): void {
    this.#failed({ consumer: subscriber, event, kind, error, attempts: 1 });
  }

  #failed({ consumer, event, kind, error, attempts }: Failure): void {
    this.statistics.failures += 1;
    if (kind === "timeout") this.statistics.timeout(consumer);
    const message = error.split("\n", 1)[0]!;
    this.#log.warn(`handler ${kind === "timeout" ? "ran into its time limit" : "failed"}`, {
      consumer,
      event_type: event.eventType,
      event_id: event.eventId,
      attempts,
      error: message,
    });
  }

  /** HANDLER_FAILED or HANDLER_TIMEOUT, except about handlers of those two. */
  #death({ event }: Delivery, { kind, error, consumer }: Failure, attempts: number): Prepared | undefined {
    const name = kind === "timeout" ? "HANDLER_TIMEOUT" : "HANDLER_FAILED";
    if (REPORTS.has(event.eventType) || this.catalog.row(name) === undefined) return undefined;
    const about = { consumer, event_type: event.eventType, event_id: event.eventId, attempts };
    const payload =
      kind === "timeout"
        ? { ...about, timeout_seconds: this.settings.handlerTimeoutMs / 1_000 }
        : { ...about, error: error.slice(0, 2_000), fingerprint: fingerprintOf(error) };
    return this.prepare(name, payload, { source: "router", parent: event }, "strict");
  }
}
