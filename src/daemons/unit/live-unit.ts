import { missingFields, type Rows } from "../../events/index.ts";
import {
  aborted,
  type Clock,
  defined,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  sleep,
} from "../../kernel/index.ts";
import {
  type AnyEvent,
  type Cause,
  createWriteSet,
  type EventRouter,
  type Handler,
  type HandlerContext,
} from "../../router/index.ts";
import { type UnitHealth, worstHealth } from "../health.ts";
import { STOP_GRACE_MS } from "../limits.ts";
import type { DaemonContext, DaemonHealth } from "../supervisor/daemon.ts";
import { createUnitLoop } from "./loop.ts";
import type { ErasedContext, Unit } from "./shape.ts";
import { type UnitStatus, WorkCounts } from "./work-counts.ts";

/** What units need of the router. */
export interface UnitRouter
  extends Pick<
    EventRouter<Rows>,
    "catalog" | "consume" | "transact" | "prepare" | "publishPrepared" | "listSubscribers" | "nodeId" | "store"
  > {
  subscribe(eventType: string | null, handler: Handler, options?: { name?: string }): () => void;
}

interface LiveUnitOptions {
  readonly unit: Unit;
  /** Under what name it consumes and emits. */
  readonly identity: string;
  readonly router: UnitRouter;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the whole runtime ends: then it takes all subscriptions back in its own order. */
  readonly isEnding: () => boolean;
  /** The unit's loop failed; called once for each tick that did. */
  readonly onTickError: (unit: Unit, thrown: unknown) => void;
}

export interface UnitWork {
  /** How long the oldest piece of work in hand has been running; 0 when there is none. */
  readonly busyMs: number;
  /** How long ago its loop should have ended well once more; 0 when it is in time, or has no loop, or does not run. */
  readonly overdueMs: number;
}

const SHOWN_ERRORS = 5;

/** One unit that runs: subscribed, ticking, counted. */
export class LiveUnit {
  readonly unit: Unit;
  readonly #o: LiveUnitOptions;
  readonly #log: Log;
  readonly #limits: { readonly timeoutMs?: number };
  readonly #counts = new WorkCounts();
  /** When each piece of work in hand began. */
  readonly #inHand = new Map<object, number>();
  #cache: unknown;
  #leave: (() => Promise<void>) | undefined;
  #hangsSince: number | undefined;
  #loopSince: number | undefined;
  #lastGoodTick = 0;
  /** Lets its loop look at once. */
  #wake: () => void = () => undefined;
  /** It tried to subscribe and could not. */
  #refused = false;

  constructor(options: LiveUnitOptions) {
    this.unit = options.unit;
    this.#o = options;
    this.#log = options.log.child({ unit: options.unit.name });
    this.#limits = defined({ timeoutMs: options.unit.behaviour.timeoutMs });
  }

  get isSubscribed(): boolean {
    return this.#leave !== undefined;
  }

  /** Builds the cache and subscribes. Rejects with nothing left behind. */
  async subscribe(): Promise<void> {
    if (this.isSubscribed) return;
    const { router, identity } = this.#o;
    const { behaviour, hears, placement } = this.unit;
    this.#refused = true;
    this.#cache = behaviour.rebuild(createWriteSet(router.store));
    const isOwed = (type: string) =>
      placement !== "each-process" && (router.catalog.row(type)?.class ?? "durable") === "durable";
    const owed = hears.filter(isOwed);
    const handle = (event: AnyEvent, given: HandlerContext) => this.#handle(event, given);
    const consumer =
      owed.length === 0
        ? undefined
        : await router.consume({
            consumer: identity,
            handlers: Object.fromEntries(owed.map((type) => [type, handle])),
            deafTo: identity,
            validation: "strict",
            start: behaviour.start,
            version: behaviour.version,
            ...this.#limits,
          });
    const end = this.#listen(hears.filter((type) => !isOwed(type)));
    this.#leave = async () => {
      end();
      await consumer?.stop();
    };
    this.#refused = false;
  }

  async unsubscribe(graceMs: number): Promise<void> {
    const leave = this.#leave;
    this.#leave = undefined;
    const waiting = new AbortController();
    await Promise.race([leave?.(), sleep(this.#o.clock, graceMs, waiting.signal)]).finally(() => waiting.abort());
  }

  /** One run of it under its supervisor: its loop, if it has one, until it is told to end. */
  async run({ signal, ready, run }: Pick<DaemonContext, "signal" | "ready" | "run">): Promise<void> {
    const { clock, isEnding } = this.#o;
    const { everyMs } = this.unit;
    if (!this.isSubscribed) {
      // The runtime has tried before this; the supervisor tries again, each time later.
      if (this.#refused && run === 1)
        throw OperatingError.internal("UNIT_NOT_SUBSCRIBED", "it is not subscribed", { retryable: true });
      await this.subscribe();
    }
    const tick = () => this.#tick(signal).finally(this.#begin());
    const loop = everyMs === null ? undefined : createUnitLoop({ clock, everyMs, tick });
    this.#wake = () => loop?.wake();
    ready();
    loop?.start();
    if (loop !== undefined) this.#loopSince = clock.monotonic();
    await aborted(signal);
    await loop?.stop();
    this.#loopSince = undefined;
    this.#wake = () => undefined;
    // One that is stopped or held hears nothing; what it is owed waits for its next run.
    if (!isEnding()) await this.unsubscribe(STOP_GRACE_MS);
  }

  /** What its watchdog wants to know. */
  work(): UnitWork {
    // A wall clock that is set makes nobody late.
    const now = this.#o.clock.monotonic();
    const since = this.#loopSince;
    const lastGoodAt = Math.max(this.#lastGoodTick, since ?? 0);
    return {
      busyMs: Math.max(0, ...[...this.#inHand.values()].map((begunAt) => now - begunAt)),
      overdueMs: since === undefined ? 0 : Math.max(0, now - lastGoodAt - (this.unit.everyMs ?? 0)),
    };
  }

  /** For the supervisor: a tick that hangs is dead; one that fails, or a handler that does, is only shown. */
  health(): DaemonHealth {
    return { ...worstHealth(this.#judgements()), alive: this.#hangsSince === undefined };
  }

  status(): UnitStatus {
    const { status, message, details = {} } = worstHealth(this.#judgements());
    const { done, failed, lastTickAt, lastError, recentErrors } = this.#counts;
    return {
      name: this.unit.name,
      status,
      message,
      details,
      subscribed: this.isSubscribed,
      handled_events: done.event,
      failed_events: failed.event,
      ticks: done.tick,
      tick_errors: failed.tick,
      last_tick_at: lastTickAt,
      last_error: lastError,
      recent_errors: recentErrors.slice(-SHOWN_ERRORS),
    };
  }

  #begin(): () => void {
    const work = {};
    this.#inHand.set(work, this.#o.clock.monotonic());
    return () => void this.#inHand.delete(work);
  }

  #context({ emit, rows, signal, attempt, afterCommit }: HandlerContext): ErasedContext {
    const { emits, behaviour } = this.unit;
    return {
      emit: Object.fromEntries(
        emits.map((name) => [
          name,
          (payload: Readonly<Record<string, unknown>>, cause?: Cause | null) => emit(name, payload, cause),
        ]),
      ),
      rows,
      tables: behaviour.tables,
      cache: this.#cache,
      now: this.#o.clock.now(),
      log: this.#log,
      signal,
      attempt,
      afterCommit,
    };
  }

  /** Runs a handler and counts how it ends: done when it is on disk, failed when it throws or runs out of time. */
  #handle(event: AnyEvent, given: HandlerContext): void | Promise<void> {
    const { clock, router } = this.#o;
    // Somebody outside said less than a handler relies on: then it is only a reason to look.
    if (missingFields(router.catalog.row(event.eventType), event.payload).length > 0)
      return given.afterCommit(() => this.#wake());
    let counted = false;
    const fail = (thrown: unknown) => {
      if (!counted) this.#counts.fail("event", thrown, clock.now());
      counted = true;
    };
    given.signal.addEventListener("abort", () => fail(given.signal.reason), { once: true });
    given.afterCommit(() => {
      if (!counted) this.#counts.succeed("event", clock.now());
      counted = true;
    });
    const end = this.#begin();
    try {
      const running = this.unit.behaviour.handle(event, this.#context(given));
      if (!(running instanceof Promise)) return end();
      return running.finally(end).catch((thrown: unknown) => {
        fail(thrown);
        throw thrown;
      });
    } catch (thrown) {
      end();
      fail(thrown);
      throw thrown;
    }
  }

  /** For what has no durable cursor: passing events, and units of which every process has one. */
  #listen(eventTypes: readonly string[]): () => void {
    const { router, identity: source } = this.#o;
    const hear: Handler = (event) => {
      if (event.source === source) return undefined;
      return router.transact({ source, validation: "strict", parent: event, ...this.#limits }, (given) =>
        this.#handle(event, given),
      );
    };
    const ends = eventTypes.map((type) => router.subscribe(type, hear, { name: source }));
    return () => {
      for (const end of ends) end();
    };
  }

  async #tick(signal: AbortSignal): Promise<void> {
    const { router, clock, identity: source, onTickError } = this.#o;
    const body: { running?: Promise<void> } = {};
    try {
      await router.transact({ source, validation: "strict", signal, ...this.#limits }, (given) => {
        const running = this.unit.behaviour.tick(this.#context(given));
        if (running instanceof Promise) body.running = running;
        return running;
      });
      this.#counts.succeed("tick", clock.now());
      this.#lastGoodTick = clock.monotonic();
    } catch (thrown) {
      if (signal.aborted) return;
      this.#counts.fail("tick", thrown, clock.now());
      onTickError(this.unit, thrown);
      if (isOperatingError(thrown, "HANDLER_TIME_LIMIT")) this.#hangsSince = clock.now();
    }
    // A tick that ran out of time may still be at work; its own fault, if it ends with one, has been reported already.
    await body.running?.catch(() => undefined);
    this.#hangsSince = undefined;
  }

  #judgements(): UnitHealth[] {
    const judgements = [this.#counts.health()];
    if (this.#hangsSince !== undefined)
      judgements.push({ status: "stopped", message: "a tick ran into its time limit and has not ended" });
    if (!this.isSubscribed) judgements.push({ status: "stopped", message: "not subscribed" });
    try {
      const rows = createWriteSet(this.#o.router.store);
      const { lastTickAt } = this.#counts;
      const own = this.unit.behaviour.health({ now: this.#o.clock.now(), cache: this.#cache, rows, lastTickAt });
      if (own !== undefined) judgements.push(own);
    } catch (thrown) {
      judgements.push({ status: "degraded", message: `its health cannot be told: ${messageOf(thrown)}` });
    }
    return judgements;
  }
}
