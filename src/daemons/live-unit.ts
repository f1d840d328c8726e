import type { Rows } from "../events/index.ts";
import { type Clock, isOperatingError, type Log, messageOf, OperatingError, sleep } from "../kernel/index.ts";
import { type AnyEvent, createWriteSet, type EventRouter, type Handler, type HandlerContext } from "../router/index.ts";
import type { DaemonContext, DaemonHealth } from "./daemon-manager/daemon.ts";
import { type UnitHealth, worstHealth } from "./health.ts";
import type { ErasedContext, Unit } from "./unit.ts";
import { createUnitLedger, type UnitStatus } from "./unit-ledger.ts";
import { createUnitLoop } from "./unit-loop.ts";

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
  /** Under what name it consumes and speaks. */
  readonly identity: string;
  readonly router: UnitRouter;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the whole runtime ends: then it takes all subscriptions back in its own order. */
  readonly isEnding: () => boolean;
  /** The unit's loop failed; told once for each tick that did. */
  readonly onTickError: (unit: Unit, thrown: unknown) => void;
}

/** One unit that runs: subscribed, ticking, counted. */
export interface LiveUnit {
  readonly unit: Unit;
  /** Builds the cache and subscribes. Rejects with nothing left behind. */
  subscribe(): Promise<void>;
  /** One run of it under its supervisor: its loop, if it has one, until it is told to end. */
  run(context: Pick<DaemonContext, "signal" | "ready" | "run">): Promise<void>;
  unsubscribe(graceMs: number): Promise<void>;
  /** What its watchdog wants to know. */
  work(): UnitWork;
  /** For the supervisor: a tick that hangs is dead; one that fails, or a handler that does, is only told. */
  health(): DaemonHealth;
  status(): UnitStatus;
}

export interface UnitWork {
  /** How long the oldest piece of work in hand has been running; 0 when there is none. */
  readonly busyMs: number;
  /** How long ago its loop should have ended well once more; 0 when it is in time, or has no loop, or does not run. */
  readonly overdueMs: number;
  /** It tried to subscribe and could not. */
  readonly refused: boolean;
}

const SHOWN_ERRORS = 5;
/** What a handler still has when its unit stops, before its unfinished work is left to the next run. */
const STOP_GRACE_MS = 10_000;

export function createLiveUnit(options: LiveUnitOptions): LiveUnit {
  const { unit, identity, router, clock } = options;
  const { behaviour } = unit;
  const log = options.log.child({ unit: unit.name });
  const ledger = createUnitLedger();
  const limits = behaviour.timeoutMs === undefined ? {} : { timeoutMs: behaviour.timeoutMs };
  let cache: unknown;
  let leave: (() => Promise<void>) | undefined;
  let hangsSince: number | undefined;
  let loopSince: number | undefined;
  let refused = false;
  /** When each piece of work in hand began. */
  const inHand = new Map<object, number>();
  const begin = (): (() => void) => {
    const work = {};
    inHand.set(work, clock.now());
    return () => void inHand.delete(work);
  };

  const contextOf = (given: HandlerContext): ErasedContext => ({
    emit: Object.fromEntries(
      unit.emits.map((name) => [name, (payload: Readonly<Record<string, unknown>>) => given.emit(name, payload)]),
    ),
    rows: given.rows,
    tables: behaviour.tables,
    cache,
    now: clock.now(),
    log,
    signal: given.signal,
    attempt: given.attempt,
    afterCommit: given.afterCommit,
  });

  /** Runs a handler and counts how it ends: done when it is on disk, failed when it throws or runs out of time. */
  const handle = (event: AnyEvent, given: HandlerContext): void | Promise<void> => {
    let counted = false;
    const fail = (thrown: unknown) => {
      if (!counted) ledger.fail("event", messageOf(thrown), clock.now());
      counted = true;
    };
    given.signal.addEventListener("abort", () => fail(given.signal.reason), { once: true });
    given.afterCommit(() => {
      if (!counted) ledger.succeed("event", clock.now());
      counted = true;
    });
    const end = begin();
    try {
      const running = behaviour.handle(event, contextOf(given));
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
  };

  /** For what has no durable cursor: passing events, and units of which every process has one. */
  const listen = (eventTypes: readonly string[]): (() => void) => {
    const hear: Handler = (event) => {
      if (event.source === identity) return undefined;
      return router.transact({ source: identity, validation: "strict", parent: event, ...limits }, (given) =>
        handle(event, given),
      );
    };
    const ends = eventTypes.map((type) => router.subscribe(type, hear, { name: identity }));
    return () => {
      for (const end of ends) end();
    };
  };

  const tick = async (signal: AbortSignal): Promise<void> => {
    const body: { running?: Promise<void> } = {};
    try {
      const work = { source: identity, validation: "strict", signal, ...limits } as const;
      await router.transact(work, (given) => {
        const running = behaviour.tick(contextOf(given));
        if (running instanceof Promise) body.running = running;
        return running;
      });
      ledger.succeed("tick", clock.now());
    } catch (thrown) {
      if (signal.aborted) return;
      ledger.fail("tick", messageOf(thrown), clock.now());
      options.onTickError(unit, thrown);
      if (isOperatingError(thrown, "HANDLER_TIME_LIMIT")) hangsSince = clock.now();
    }
    // A tick that ran out of time may still be at work; its own fault, if it ends with one, has been told already.
    await body.running?.catch(() => undefined);
    hangsSince = undefined;
  };

  const ownHealth = (): UnitHealth[] => {
    const judgements: UnitHealth[] = [ledger.health()];
    if (hangsSince !== undefined)
      judgements.push({ status: "stopped", message: "a tick ran into its time limit and has not ended" });
    if (leave === undefined) judgements.push({ status: "stopped", message: "not subscribed" });
    try {
      const rows = createWriteSet(router.store);
      const own = behaviour.health({ now: clock.now(), cache, rows, lastTickAt: ledger.lastTickAt });
      if (own !== undefined) judgements.push(own);
    } catch (thrown) {
      judgements.push({ status: "degraded", message: `its health cannot be told: ${messageOf(thrown)}` });
    }
    return judgements;
  };

  const subscribe = async (): Promise<void> => {
    if (leave !== undefined) return;
    refused = true;
    cache = behaviour.rebuild(createWriteSet(router.store));
    const isOwed = (type: string) =>
      unit.placement !== "each-process" && (router.catalog.row(type)?.class ?? "durable") === "durable";
    const owed = unit.hears.filter(isOwed);
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
            ...limits,
          });
    const end = listen(unit.hears.filter((type) => !isOwed(type)));
    leave = async () => {
      end();
      await consumer?.stop();
    };
    refused = false;
  };

  const unsubscribe = async (graceMs: number): Promise<void> => {
    const left = leave;
    leave = undefined;
    const waiting = new AbortController();
    await Promise.race([left?.(), sleep(clock, graceMs, waiting.signal)]).finally(() => waiting.abort());
  };

  return {
    unit,
    subscribe,
    async run({ signal, ready, run }) {
      if (leave === undefined) {
        // The runtime has tried before this; the supervisor tries again, each time later.
        if (refused && run === 1)
          throw new OperatingError("UNIT_NOT_SUBSCRIBED", "it is not subscribed", { retryable: true });
        await subscribe();
      }
      const loop =
        unit.everyMs === null
          ? undefined
          : createUnitLoop({ clock, everyMs: unit.everyMs, tick: () => tick(signal).finally(begin()) });
      ready();
      loop?.start();
      if (loop !== undefined) loopSince = clock.now();
      await aborted(signal);
      await loop?.stop();
      loopSince = undefined;
      // One that is stopped or held hears nothing; what it is owed waits for its next run.
      if (!options.isEnding()) await unsubscribe(STOP_GRACE_MS);
    },
    unsubscribe,
    work() {
      const now = clock.now();
      const oldest = Math.min(...inHand.values());
      const lastGoodAt = Math.max(ledger.lastTickAt ?? 0, loopSince ?? 0);
      return {
        busyMs: inHand.size === 0 ? 0 : Math.max(0, now - oldest),
        overdueMs: loopSince === undefined ? 0 : Math.max(0, now - lastGoodAt - (unit.everyMs ?? 0)),
        refused,
      };
    },
    health: () => ({ ...worstHealth(ownHealth()), alive: hangsSince === undefined }),
    status() {
      const { status, message, details = {} } = worstHealth(ownHealth());
      return {
        name: unit.name,
        status,
        message,
        details,
        subscribed: leave !== undefined,
        handled_events: ledger.handled,
        failed_events: ledger.failed,
        ticks: ledger.ticks,
        tick_errors: ledger.tickErrors,
        last_tick_at: ledger.lastTickAt,
        last_error: ledger.lastError,
        recent_errors: ledger.recentErrors.slice(-SHOWN_ERRORS),
      };
    },
  };
}

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
