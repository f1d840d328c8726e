import type { PayloadFor, Rows } from "../events/index.ts";
import {
  type Clock,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  runAll,
  sleep,
  type Timer,
} from "../kernel/index.ts";
import { isPlaceholder } from "./coordinator-registry.ts";
import { type CriticalReport, validateCriticalSubscriptions } from "./critical.ts";
import type { DaemonManager } from "./daemon-manager/daemon-manager.ts";
import { heldBecause } from "./daemon-manager/holds.ts";
import { criticalDaemons } from "./daemon-types.ts";
import { consumerOf } from "./identity.ts";
import { createLiveUnit, type LiveUnit, type UnitRouter } from "./live-unit.ts";
import type { Registry } from "./registry.ts";
import { startOrder } from "./start-order.ts";
import { PLACEMENTS, type Placement, type Unit } from "./unit.ts";
import type { UnitStatus } from "./unit-ledger.ts";

export interface UnitRuntimeOptions {
  readonly registry: Registry<Rows>;
  readonly router: UnitRouter;
  readonly clock: Clock;
  readonly log: Log;
  /** The one supervisor of this process: it starts, watches and ends the units. */
  readonly manager: DaemonManager;
  /** Aborting it stops the runtime. */
  readonly signal?: AbortSignal;
  /** The placements whose units run here; all of them unless said. */
  readonly placements?: readonly Placement[];
  readonly heartbeatMs?: number;
  /** Names this process among those of the node. */
  readonly process?: string;
}

export interface Readiness extends CriticalReport {
  /** Units whose subscriptions could not be made. */
  readonly unsubscribed: readonly string[];
}

/** How the start of one unit went. */
export interface UnitOutcome {
  readonly name: string;
  readonly layer: number;
  readonly subscribed: boolean;
  /** Why it could not subscribe, the last time it was tried; null if it could or was never asked to. */
  readonly error: string | null;
}

/** The units of one process, running. Starting and stopping twice is doing it once. */
export interface UnitRuntime {
  /**
   * Subscribes the named units (all unless said), lowest layer first, and only then lets the supervisor start them:
   * listeners before speakers. Called again it starts what is missing: other units, or those that could not subscribe.
   */
  start(names?: readonly string[]): Promise<Readiness>;
  stop(): Promise<void>;
  status(): UnitStatus[];
  readiness(): Readiness;
  /** The units that were asked to start, in the order of their start. */
  outcomes(): UnitOutcome[];
  /** When each unit last said that it lives, in milliseconds since the epoch. */
  lastBeats(): ReadonlyMap<string, number>;
}

/** A subscription that fails is tried again after these waits. */
const SUBSCRIBE_RETRY_MS = [1_000, 2_000, 4_000] as const;
const HEARTBEAT_MS = 30_000;
const STOP_GRACE_MS = 10_000;
const SOURCE = "unit_runtime";

export function createUnitRuntime(options: UnitRuntimeOptions): UnitRuntime {
  const { registry, router, clock, log, manager } = options;
  const placements = options.placements ?? PLACEMENTS;
  const { nodeId } = router;
  const startedAt = clock.monotonic();
  const stopping = new AbortController();
  const beats = new Map<string, number>();
  let begun = false;
  let heartbeat: Timer | undefined;
  /** The last start that was asked for; starts never overlap. */
  let starting: Promise<Readiness> | undefined;
  let ending: Promise<void> | undefined;

  /** Says something for the runtime itself. What cannot be said is logged: the runtime never fails on its own words. */
  const say = (eventType: string, payload: Readonly<Record<string, unknown>>) => {
    if (router.catalog.row(eventType) === undefined) return;
    const told = (thrown: unknown) => log.error(`${eventType} was not published`, { error: messageOf(thrown) });
    try {
      router.publishPrepared(router.prepare(eventType, payload, { source: SOURCE }, "strict")).catch(told);
    } catch (thrown) {
      told(thrown);
    }
  };

  const onTickError = (unit: Unit, thrown: unknown) => {
    const error = messageOf(thrown).slice(0, 2_000);
    log.error("the loop of a unit failed", { unit: unit.name, error });
    say("ERROR", {
      component: unit.name,
      error,
      error_code: isOperatingError(thrown) ? thrown.code : "TICK_FAILED",
      severity: "error",
      node_id: nodeId,
    } satisfies PayloadFor<"ERROR">);
  };

  const units: LiveUnit[] = startOrder(
    registry.units.filter((unit) => placements.includes(unit.placement) && !isPlaceholder(unit)),
  ).map((unit) =>
    createLiveUnit({
      unit,
      identity: consumerOf(unit, nodeId, options.process),
      router,
      clock,
      log,
      isEnding: () => stopping.signal.aborted,
      onTickError,
    }),
  );

  const names = units.map(({ unit }) => unit.name);
  const wanted = new Set<string>();
  const faults = new Map<string, string>();
  for (const live of units)
    manager.registerFactory({
      daemonType: live.unit.name,
      factory: live.run,
      // What runs elsewhere cannot be waited for here; the audit names what is nowhere.
      dependsOn: live.unit.dependsOn.filter((name) => names.includes(name)),
      critical: criticalDaemons.includes(live.unit.name),
      healthCheck: live.health,
      readyAfterMs: null,
    });

  const subscribe = async (live: LiveUnit): Promise<void> => {
    for (const delayMs of [...SUBSCRIBE_RETRY_MS, null]) {
      try {
        return await live.subscribe();
      } catch (thrown) {
        // Only what may pass by itself is worth a wait.
        if (delayMs === null || !isOperatingError(thrown) || !thrown.retryable) throw thrown;
        log.warn("a unit could not subscribe; trying again", {
          unit: live.unit.name,
          after_ms: delayMs,
          error: thrown.message,
        });
        await sleep(clock, delayMs, stopping.signal);
      }
    }
  };

  /** Why a unit is not to run, by the supervisor's books: nobody wants it, or something holds it. Null for those on duty. */
  const offDuty = (): ReadonlyMap<string, string | null> => {
    const status = manager.getStatus();
    return new Map(
      names.map((name) => {
        const { wanted, holds } = status[name]!;
        return [name, wanted ? heldBecause(holds) : "stopped"];
      }),
    );
  };

  const beat = () => {
    const why = offDuty();
    // Those that were started by hand live as much as those of the profile.
    const speaking = units.filter(({ unit }) => wanted.has(unit.name) || why.get(unit.name) !== "stopped");
    for (const live of speaking) {
      beats.set(live.unit.name, clock.now());
      const { name, status, message, handled_events, failed_events } = live.status();
      const { busyMs, overdueMs } = live.work();
      const paused = why.get(name) ?? null;
      say("COORDINATOR_HEARTBEAT", {
        coordinator_name: name,
        node_id: nodeId,
        health: status,
        handled_events,
        failed_events,
        ...(message === "" ? {} : { message: message.slice(0, 2_000) }),
        ...(paused === null ? {} : { paused: paused.slice(0, 2_000) }),
        ...(busyMs === 0 ? {} : { busy_seconds: busyMs / 1_000 }),
        ...(overdueMs === 0 ? {} : { overdue_seconds: overdueMs / 1_000 }),
        uptime_seconds: (clock.monotonic() - startedAt) / 1_000,
      } satisfies PayloadFor<"COORDINATOR_HEARTBEAT">);
    }
    heartbeat = clock.after(options.heartbeatMs ?? HEARTBEAT_MS, beat);
  };

  const readiness = (): Readiness => {
    const subscribers = router.listSubscribers();
    const report = validateCriticalSubscriptions({
      registry: { ...registry, units: registry.units.filter(({ name }) => wanted.has(name)) },
      nodeId,
      process: options.process,
      placements,
      subscribers,
    });
    // What is held or stopped is no fault; before the start nothing is either, and nothing is ready.
    const why = begun ? offDuty() : undefined;
    const unsubscribed = units
      .filter((live) => !live.status().subscribed && (why?.get(live.unit.name) ?? null) === null)
      .map(({ unit }) => unit.name);
    return { ...report, ready: begun && report.ready && unsubscribed.length === 0, unsubscribed };
  };

  const stop = () => {
    ending ??= (async () => {
      stopping.abort(new OperatingError("RUNTIME_STOPPED", "the units stop"));
      heartbeat?.cancel();
      await starting?.catch(() => undefined);
      heartbeat?.cancel();
      await runAll([
        () => Promise.all(names.map((name) => manager.stop(name, { actor: SOURCE }))),
        // Speakers before listeners: the highest layer first.
        ...[...units].reverse().map((unit) => () => unit.unsubscribe(STOP_GRACE_MS)),
      ]);
    })();
    return ending;
  };

  const startNow = async (given: readonly string[]): Promise<Readiness> => {
    stopping.signal.throwIfAborted();
    const chosen = units.filter(({ unit }) => given.includes(unit.name));
    const failedBefore = chosen.filter(({ unit }) => faults.has(unit.name));
    for (const { unit } of chosen) wanted.add(unit.name);
    for (const live of chosen) {
      // One that is held from before this process hears nothing until it is resumed.
      if (manager.holds().get(live.unit.name)!.length > 0) continue;
      try {
        await subscribe(live);
        faults.delete(live.unit.name);
      } catch (thrown) {
        stopping.signal.throwIfAborted();
        // The others run; readiness and health say that this one does not.
        faults.set(live.unit.name, messageOf(thrown));
        log.error("a unit is not subscribed", { unit: live.unit.name, error: messageOf(thrown) });
      }
    }
    stopping.signal.throwIfAborted();
    await Promise.all([
      manager.startAll({ names: chosen.map(({ unit }) => unit.name), actor: SOURCE }),
      // What can subscribe by now has no reason to wait for the backoff of its failure.
      ...failedBefore
        .filter(({ unit }) => !faults.has(unit.name))
        .map(({ unit }) => manager.start(unit.name, { waitForDeps: true, actor: SOURCE })),
    ]);
    stopping.signal.throwIfAborted();
    if (!begun) {
      begun = true;
      beat();
    }
    return readiness();
  };

  options.signal?.addEventListener("abort", () => void stop(), { once: true });
  return {
    start(given = names) {
      if (options.signal?.aborted === true) return Promise.reject(options.signal.reason);
      const before = starting;
      const now = before === undefined ? startNow(given) : before.catch(() => undefined).then(() => startNow(given));
      starting = now;
      return now;
    },
    stop,
    status() {
      const why = begun ? offDuty() : undefined;
      return units.map((live) => {
        const status = live.status();
        const paused = status.subscribed ? null : (why?.get(status.name) ?? null);
        return paused === null ? status : { ...status, message: `paused: ${paused}` };
      });
    },
    readiness,
    outcomes: () =>
      units
        .filter(({ unit }) => wanted.has(unit.name))
        .map((live) => ({
          name: live.unit.name,
          layer: live.unit.layer,
          subscribed: live.status().subscribed,
          error: faults.get(live.unit.name) ?? null,
        })),
    lastBeats: () => beats,
  };
}
