import { OperatingError, runAll, sumOf } from "../kernel/index.ts";
import { Cursor, type CursorOptions } from "./cursor.ts";
import type { DeliveryHooks } from "./delivery-hooks.ts";
import { type AnyEvent, bytesOf, VIEW } from "./event.ts";
import { type RegisterArgs, registerConsumer, touchConsumers, unregisterConsumer } from "./journal/consumers.ts";
import type { Prepared, PublishOptions, Validation } from "./prepare.ts";
import { type DurableHandler, Runner } from "./runner.ts";
import { Session } from "./session.ts";

/** Who asks for events, and from where on. */
interface Consumer {
  /** Stable name; its cursor is kept under it. */
  readonly consumer: string;
  /** Where it starts when it is first seen; now, unless said. */
  readonly start?: "earliest" | "now";
  /** Shown with its dead letters, so that one knows which code failed. */
  readonly version?: string;
}

export interface ConsumeOptions extends Consumer {
  readonly handlers: Readonly<Record<string, DurableHandler>>;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  /** What this source says is not delivered: a unit never hears itself. */
  readonly deafTo?: string;
  readonly validation?: Validation;
}

export interface SessionRequest extends Consumer {
  /** Names in any spelling; empty or '*' for all. */
  readonly eventTypes: readonly string[];
  readonly leaseMs?: number;
  /** Who asks, where that one may have only so many consumers. */
  readonly madeBy?: string | undefined;
}

export interface ConsumersOptions extends DeliveryHooks, Pick<CursorOptions, "onEnded"> {
  readonly canonical: (spelling: string) => string;
  /** The last event that was released to consumers. */
  readonly head: () => number;
  readonly prepare: (type: string, payload: unknown, options: PublishOptions, how: Validation | undefined) => Prepared;
  readonly within: <T>(event: AnyEvent, consumer: string, run: () => T) => T;
  /** Pairs ended without being handled: a consumer was forgotten, or wants other events now. */
  readonly onGivenUp: () => void;
}

interface Registered {
  readonly cursor: Cursor;
  readonly types: ReadonlySet<string>;
  readonly runner?: Runner;
  readonly session?: Session;
}

interface Registration
  extends Consumer,
    Pick<RegisterArgs, "kind" | "deafTo" | "madeBy">,
    Pick<CursorOptions, "onReady" | "breakerOf"> {
  readonly types: readonly string[];
  readonly view: number;
}

export const consumerShape = /^[A-Za-z0-9_][\w.@:/-]{0,199}$/;
export const badConsumerName = (name: string): OperatingError =>
  OperatingError.invalid("INVALID_CONSUMER", `'${name}' is not a valid name for a consumer`, {
    hint: "Letters, digits and _ . @ : / - are allowed, at most 200 characters.",
  });
const STOP_GRACE_MS = 10_000;
/** A poller that died says no goodbye. Were its session kept, its consumer would seem alive and never expire. */
const SESSION_SILENCE_MS = 3_600_000;

/** The durable consumers that are connected now: those of this process with a runner, those of others with a session. */
export class Consumers {
  readonly #o: ConsumersOptions;
  readonly #all = new Map<string, Registered>();
  readonly #memory = { bytes: 0 };
  /** Names that are being registered: two cursors under one name would deliver twice. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(options: ConsumersOptions) {
    this.#o = options;
  }

  async consume(options: ConsumeOptions): Promise<{ stop(): Promise<void> }> {
    return this.#inTurn(options.consumer, () => this.#consume(options));
  }

  async openSession(request: SessionRequest): Promise<Session> {
    return this.#inTurn(request.consumer, () => this.#openSession(request));
  }

  session(consumer: string, id: string): Session {
    const session = this.#all.get(consumer)?.session;
    // Somebody else speaks under this name now; who is told so must not take the name back, or the two would fight.
    if (session !== undefined && session.id !== id && !session.closed)
      throw OperatingError.conflict("SESSION_REPLACED", `another session of '${consumer}' was opened`, {
        hint: "Give each consumer its own name.",
      });
    if (session === undefined || session.id !== id || session.closed)
      throw OperatingError.notFound("SESSION_NOT_FOUND", `session ${id} of '${consumer}' has ended`, {
        hint: "Open a new session; deliveries without an ack come again.",
      });
    return session;
  }

  async closeSession(session: Session, died: boolean): Promise<void> {
    const why = died ? "the connection was lost" : "closed by the consumer";
    await session.close(OperatingError.conflict("SESSION_CLOSED", why), died);
    const registered = this.#all.get(session.consumer);
    if (registered?.session !== session) return;
    registered.cursor.stop();
    this.#all.delete(session.consumer);
  }

  async forget(consumer: string): Promise<{ forgiven: number }> {
    return this.#inTurn(consumer, async () => {
      const registered = this.#all.get(consumer);
      await registered?.session?.close(OperatingError.conflict("SESSION_CLOSED", "the consumer was removed"), false);
      await registered?.runner?.stop(STOP_GRACE_MS);
      registered?.cursor.stop();
      this.#all.delete(consumer);
      const [result] = await this.#o.store.commit([unregisterConsumer({ consumer, at: this.#o.clock.now() })]);
      this.#o.onGivenUp();
      return result;
    });
  }

  /** Committed events, in journal order. */
  offer(events: readonly AnyEvent[]): void {
    const bytes = sumOf(events, bytesOf);
    for (const { cursor } of this.#all.values()) cursor.offer(events, bytes);
  }

  has(consumer: string): boolean {
    return this.#all.has(consumer);
  }

  hears(eventType: string): boolean {
    for (const { types } of this.#all.values()) if (types.has(eventType) || types.has("*")) return true;
    return false;
  }

  /** Name and event types of each. */
  *list(): Generator<[consumer: string, types: ReadonlySet<string>]> {
    for (const [consumer, { types }] of this.#all) yield [consumer, types];
  }

  /** Dead letters were sent back to this consumer. */
  wake(consumer: string, lanes: readonly string[]): void {
    this.#all.get(consumer)?.cursor.wake(lanes);
  }

  openBreakers(): { consumer: string; event_type: string }[] {
    return [...this.#all].flatMap(([consumer, { runner }]) =>
      (runner?.openBreakers() ?? []).map((event_type) => ({ consumer, event_type })),
    );
  }

  lag(): Record<string, number> {
    return Object.fromEntries([...this.#all].map(([consumer, { cursor }]) => [consumer, cursor.lag]));
  }

  get idle(): boolean {
    return [...this.#all.values()].every(({ cursor }) => cursor.idle);
  }

  /** Writes down marks that moved without an ack, and signs of life. Ends sessions that nobody speaks to any more. */
  async flushMarks(): Promise<void> {
    for (const { session } of [...this.#all.values()])
      if (session?.isSilent(SESSION_SILENCE_MS)) await this.closeSession(session, false);
    const moved = [...this.#all.values()].flatMap(({ cursor }) => {
      const operation = cursor.flushMark();
      return operation === undefined ? [] : [{ cursor, operation }];
    });
    const alive = [...this.#all.keys()];
    if (moved.length === 0 && alive.length === 0) return;
    await this.#o.store.commit([
      ...moved.map(({ operation }) => operation),
      touchConsumers({ consumers: alive, at: this.#o.clock.now() }),
    ]);
    for (const { cursor, operation } of moved) cursor.markFlushed(operation);
  }

  async stop(): Promise<void> {
    const end = OperatingError.conflict("SESSION_CLOSED", "the main process is stopping", { retryable: true });
    const stopped = await Promise.allSettled(
      [...this.#all.values()].map(({ runner, session, cursor }) =>
        runAll([() => runner?.stop(STOP_GRACE_MS), () => session?.close(end, false), () => cursor.stop()]),
      ),
    );
    await runAll(stopped.map((each) => () => (each.status === "rejected" ? Promise.reject(each.reason) : undefined)));
  }

  /** One after the other for each name. */
  async #inTurn<T>(consumer: string, run: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(consumer);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return run();
    })();
    this.#turns.set(consumer, mine);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(consumer) === mine) this.#turns.delete(consumer);
    }
  }

  async #consume(options: ConsumeOptions): Promise<{ stop(): Promise<void> }> {
    const { consumer } = options;
    const { settings } = this.#o;
    if (this.#all.has(consumer))
      throw OperatingError.invalid("INVALID_CONSUMER", `a consumer named '${consumer}' is connected already`, {
        hint: "Each consumer needs its own name.",
      });
    const handlers = new Map(
      Object.entries(options.handlers).map(([name, handler]) => [this.#o.canonical(name), handler]),
    );
    const source = options.deafTo ?? consumer;
    let runner: Runner | undefined;
    const cursor = await this.#register({
      ...options,
      kind: "unit",
      types: [...handlers.keys()],
      view: VIEW.router,
      deafTo: options.deafTo ?? null,
      onReady: () => runner?.pump(),
      breakerOf: (type) => runner?.breakerOf(type),
    });
    const started = new Runner(cursor, {
      ...this.#o,
      consumer,
      handlerOf: (type) => handlers.get(type) ?? handlers.get("*"),
      concurrency: options.concurrency ?? settings.concurrency,
      timeoutMs: options.timeoutMs ?? settings.handlerTimeoutMs,
      prepareEmission: (type, payload, parent) =>
        this.#o.prepare(type, payload, { parent, source }, options.validation),
      within: (event, run) => this.#o.within(event, consumer, run),
    });
    runner = started;
    this.#all.set(consumer, { cursor, types: new Set(handlers.keys()), runner });
    cursor.start(this.#o.head());
    return {
      stop: async () => {
        await started.stop(STOP_GRACE_MS);
        if (this.#all.get(consumer)?.runner === started) this.#all.delete(consumer);
      },
    };
  }

  async #openSession(request: SessionRequest): Promise<Session> {
    const { consumer } = request;
    const { settings } = this.#o;
    const known = this.#all.get(consumer);
    if (known?.runner !== undefined)
      throw OperatingError.invalid("INVALID_CONSUMER", `'${consumer}' is a consumer of the main process`, {
        hint: "Choose another name.",
      });
    await known?.session?.close(
      OperatingError.conflict("SESSION_REPLACED", `another session of '${consumer}' was opened`),
      true,
    );
    known?.cursor.stop();
    const all = request.eventTypes.length === 0 || request.eventTypes.includes("*");
    const types = all ? ["*"] : request.eventTypes.map(this.#o.canonical);
    let session: Session | undefined;
    const cursor = await this.#register({
      ...request,
      madeBy: request.madeBy === undefined ? undefined : { caller: request.madeBy, max: settings.maxConsumers },
      kind: "process",
      types,
      view: VIEW.crossProcess,
      deafTo: null,
      onReady: () => session?.wake(),
      breakerOf: () => undefined,
    });
    session = new Session({
      ...this.#o,
      id: this.#o.ids.uuid(),
      consumer,
      cursor,
      leaseMs: request.leaseMs ?? this.#o.settings.handlerTimeoutMs,
    });
    this.#all.set(consumer, { cursor, types: new Set(types), session });
    cursor.start(this.#o.head());
    return session;
  }

  /** Stores what it wants and takes up its place in the journal. */
  async #register(request: Registration): Promise<Cursor> {
    const { consumer, kind, view, start = "now", version: handlerVersion = "1", deafTo, madeBy, types } = request;
    const { store, clock, log } = this.#o;
    if (!consumerShape.test(consumer)) throw badConsumerName(consumer);
    const wanted = types.map((eventType) => ({ eventType, view }));
    const at = clock.now();
    const [registered] = await store.commit([
      registerConsumer({ consumer, kind, wanted, start, handlerVersion, deafTo, madeBy, at }),
    ]);
    this.#o.onGivenUp();
    if (registered.wasExpired) log.warn("an expired consumer is back; it starts as a new one", { consumer, start });
    // Also those that have ended: what they still owe is delivered as long as the type is wanted in some way.
    const subscriptions = Map.groupBy(
      store.read<{ event_type: string; view: number; start_seq: number; end_seq: number }>(
        `SELECT event_type, view, start_seq, coalesce(end_seq, 9e15) AS end_seq FROM subscriptions
         WHERE consumer = ? AND coalesce(end_seq, 9e15) > ?`,
        consumer,
        registered.lowWater,
      ),
      ({ event_type }) => event_type,
    );
    const covers = (type: string, seq: number, bits: number): boolean =>
      subscriptions.get(type)?.some((s) => seq > s.start_seq && seq <= s.end_seq && (bits & s.view) !== 0) ?? false;
    return new Cursor({
      ...this.#o,
      memory: this.#memory,
      consumer,
      handlerVersion,
      lowWater: registered.lowWater,
      wants: (eventType, seq, source, bits) =>
        source !== deafTo && (covers(eventType, seq, bits) || covers("*", seq, bits)),
      onUnread: (error) =>
        log.error("the deliveries of a consumer cannot be read; trying again", { consumer, error: error.message }),
      onReady: request.onReady,
      breakerOf: request.breakerOf,
    });
  }
}
