import type { PayloadFor, Rows } from "../../events/index.ts";
import {
  type Clock,
  defined,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  runAll,
  sleep,
  type Timer,
} from "../../kernel/index.ts";
import { criticalDaemons } from "../legacy.ts";
import { HEARTBEAT_MS, MAX_TEXT, STOP_GRACE_MS, SUBSCRIBE_RETRY_MS } from "../limits.ts";
import type { DaemonManager } from "../supervisor/daemon-manager.ts";
import { heldBecause, OPERATOR_HOLD } from "../supervisor/holds.ts";
import { consumerOf } from "./consumer-name.ts";
import { type CriticalReport, validateCriticalSubscriptions } from "./critical-subscriptions.ts";
import { LiveUnit, type UnitRouter } from "./live-unit.ts";
import { isPlaceholder, type Registry } from "./registry.ts";
import { PLACEMENTS, type Placement, type Unit } from "./shape.ts";
import { startOrder } from "./start-order.ts";
import type { UnitStatus } from "./work-counts.ts";

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

const SOURCE = "unit_runtime";

const waitWords = (root: string | undefined): string | null => (root === undefined ? null : `waits for '${root}'`);

/** The units of one process, running. Starting and stopping twice is doing it once. */
export class UnitRuntime {
  readonly #o: UnitRuntimeOptions;
  readonly #placements: readonly Placement[];
  readonly #units: readonly LiveUnit[];
  readonly #names: readonly string[];
  readonly #startedAt: number;
  readonly #stopping = new AbortController();
  readonly #beats = new Map<string, number>();
  /** Those that were asked to start. */
  readonly #wanted = new Set<string>();
  /** Why units could not subscribe. */
  readonly #faults = new Map<string, string>();
  #begun = false;
  #heartbeat: Timer | undefined;
  /** The last start that was asked for; starts never overlap. */
  #starting: Promise<Readiness> | undefined;
  #ending: Promise<void> | undefined;

  constructor(options: UnitRuntimeOptions) {
    const { registry, router, clock, log, manager } = options;
    this.#o = options;
    this.#placements = options.placements ?? PLACEMENTS;
    this.#startedAt = clock.monotonic();
    this.#units = startOrder(
      registry.units.filter((unit) => this.#placements.includes(unit.placement) && !isPlaceholder(unit)),
    ).map(
      (unit) =>
        new LiveUnit({
          unit,
          identity: consumerOf(unit, router.nodeId),
          router,
          clock,
          log,
          isEnding: () => this.#stopping.signal.aborted,
          onTickError: (failed, thrown) => this.#onTickError(failed, thrown),
        }),
    );
    this.#names = this.#units.map(({ unit }) => unit.name);
    for (const live of this.#units)
      manager.registerFactory({
        daemonType: live.unit.name,
        daemonTypes: live.unit.daemonTypes,
        factory: (context) => live.run(context),
        // What runs elsewhere cannot be waited for here; the audit names what is nowhere.
        dependsOn: live.unit.dependsOn.filter((name) => this.#names.includes(name)),
        critical: criticalDaemons.includes(live.unit.name),
        healthCheck: () => live.health(),
        startedAs: (daemonType) => live.unit.behaviour.startedAs?.(daemonType),
        readyAfterMs: null,
        profiles: live.unit.profiles,
      });
    options.signal?.addEventListener("abort", () => void this.stop(), { once: true });
  }

  /**
   * Subscribes the named units (all unless said), lowest layer first, and only then lets the supervisor start them:
   * listeners before emitters. Called again it starts what is missing: other units, or those that could not subscribe.
   */
  start(names: readonly string[] = this.#names): Promise<Readiness> {
    const { signal } = this.#o;
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    const before = this.#starting;
    this.#starting =
      before === undefined ? this.#start(names) : before.catch(() => undefined).then(() => this.#start(names));
    return this.#starting;
  }

  stop(): Promise<void> {
    this.#ending ??= this.#stop();
    return this.#ending;
  }

  /** Of those that are named, all unless said: each is asked how it is, and some read rows for it. */
  status(names?: readonly string[]): UnitStatus[] {
    const why = this.#begun ? this.#offDuty() : undefined;
    const roots = this.waiting();
    const asked = names === undefined ? this.#units : this.#units.filter(({ unit }) => names.includes(unit.name));
    return asked.map((live) => {
      const status = live.status();
      const paused = status.subscribed ? null : (why?.get(status.name) ?? waitWords(roots.get(status.name)));
      return paused === null ? status : { ...status, message: `paused: ${paused}` };
    });
  }

  /** Units that another unit keeps from running for now, and lets run again: not those that a person paused. */
  heldBack(): ReadonlySet<string> {
    const status = this.#o.manager.getStatus();
    const isHeldBack = (name: string) => {
      const { wanted, holds } = status[name]!;
      return wanted && holds.length > 0 && holds.every(({ hold }) => hold !== OPERATOR_HOLD);
    };
    return new Set(this.#names.filter(isHeldBack));
  }

  /** Units that only wait for another one to run, and the one at the root of it. */
  waiting(): ReadonlyMap<string, string> {
    const status = this.#o.manager.getStatus();
    return new Map(
      this.#names.flatMap((name) => {
        const { waitsFor } = status[name]!;
        return waitsFor === null ? [] : [[name, waitsFor] as const];
      }),
    );
  }

  readiness(): Readiness {
    const { registry, router } = this.#o;
    // What is held or stopped is no fault; before the start nothing is either, and nothing is ready.
    const why = this.#begun ? this.#offDuty() : undefined;
    const isOnDuty = (name: string) => (why?.get(name) ?? null) === null;
    const report = validateCriticalSubscriptions({
      registry: {
        ...registry,
        units: registry.units.filter(({ name }) => this.#wanted.has(name) && isOnDuty(name)),
      },
      nodeId: router.nodeId,
      placements: this.#placements,
      subscribers: router.listSubscribers(),
    });
    const unsubscribed = this.#units
      .filter((live) => !live.isSubscribed && isOnDuty(live.unit.name))
      .map(({ unit }) => unit.name);
    return { ...report, ready: this.#begun && report.ready && unsubscribed.length === 0, unsubscribed };
  }

  /** The units that were asked to start, in the order of their start. */
  outcomes(): UnitOutcome[] {
    return this.#units
      .filter(({ unit }) => this.#wanted.has(unit.name))
      .map(({ unit: { name, layer }, isSubscribed }) => ({
        name,
        layer,
        subscribed: isSubscribed,
        error: this.#faults.get(name) ?? null,
      }));
  }

  /** When each unit last showed that it lives, in milliseconds since the epoch. */
  lastBeats(): ReadonlyMap<string, number> {
    return this.#beats;
  }

  async #start(names: readonly string[]): Promise<Readiness> {
    const { manager } = this.#o;
    const { signal } = this.#stopping;
    signal.throwIfAborted();
    const chosen = this.#units.filter(({ unit }) => names.includes(unit.name));
    const failedBefore = chosen.filter(({ unit }) => this.#faults.has(unit.name));
    for (const { unit } of chosen) this.#wanted.add(unit.name);
    // Those of a layer together: what they write down shares a flush of the disk.
    for (const layer of Map.groupBy(chosen, ({ unit }) => unit.layer).values())
      await Promise.all(layer.map((live) => this.#subscribeOrTell(live)));
    signal.throwIfAborted();
    await Promise.all([
      manager.startAll({ names: chosen.map(({ unit }) => unit.name), actor: SOURCE }),
      // What can subscribe by now has no reason to wait for the backoff of its failure.
      ...failedBefore
        .filter(({ unit }) => !this.#faults.has(unit.name))
        .map(({ unit }) => manager.start(unit.name, { waitForDeps: true, actor: SOURCE })),
    ]);
    signal.throwIfAborted();
    if (!this.#begun) {
      this.#begun = true;
      this.#beat();
    }
    return this.readiness();
  }

  async #stop(): Promise<void> {
    const { manager } = this.#o;
    this.#stopping.abort(OperatingError.internal("RUNTIME_STOPPED", "the units are stopping"));
    this.#heartbeat?.cancel();
    await this.#starting?.catch(() => undefined);
    this.#heartbeat?.cancel();
    await runAll([
      () => Promise.all(this.#names.map((name) => manager.stop(name, { actor: SOURCE }))),
      // Emitters before listeners: the highest layer first.
      ...this.#units.toReversed().map((unit) => () => unit.unsubscribe(STOP_GRACE_MS)),
    ]);
  }

  async #subscribeOrTell(live: LiveUnit): Promise<void> {
    const { manager, log } = this.#o;
    const { name } = live.unit;
    // One that is held from before this process hears nothing until it is resumed.
    if (manager.holds().get(name)!.length > 0) return;
    try {
      await this.#subscribe(live);
      this.#faults.delete(name);
    } catch (thrown) {
      this.#stopping.signal.throwIfAborted();
      // The others run; readiness and health say that this one does not.
      this.#faults.set(name, messageOf(thrown));
      log.error("a unit is not subscribed", { unit: name, error: messageOf(thrown) });
    }
  }

  async #subscribe(live: LiveUnit): Promise<void> {
    const { clock, log } = this.#o;
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
        await sleep(clock, delayMs, this.#stopping.signal);
      }
    }
  }

  /** Why a unit is not to run, as the supervisor knows it: nobody wants it, or something holds it. Null for those on duty. */
  #offDuty(): ReadonlyMap<string, string | null> {
    const status = this.#o.manager.getStatus();
    return new Map(
      this.#names.map((name) => {
        const { wanted, holds } = status[name]!;
        return [name, wanted ? heldBecause(holds) : "stopped"];
      }),
    );
  }

  #beat(): void {
    const { clock, router, heartbeatMs = HEARTBEAT_MS } = this.#o;
    const why = this.#offDuty();
    const roots = this.waiting();
    for (const live of this.#units) {
      // Those that were started by hand live as much as those of the profile.
      if (!this.#wanted.has(live.unit.name) && why.get(live.unit.name) === "stopped") continue;
      this.#beats.set(live.unit.name, clock.now());
      const { name, status, message, handled_events, failed_events } = live.status();
      const { busyMs, overdueMs } = live.work();
      this.#emit("COORDINATOR_HEARTBEAT", {
        coordinator_name: name,
        node_id: router.nodeId,
        health: status,
        handled_events,
        failed_events,
        ...defined({
          message: message.slice(0, MAX_TEXT) || undefined,
          // Whoever waits is not ill: its root is, and speaks for itself.
          paused: (why.get(name) ?? waitWords(roots.get(name)))?.slice(0, MAX_TEXT),
          busy_seconds: busyMs / 1_000 || undefined,
          overdue_seconds: overdueMs / 1_000 || undefined,
        }),
        uptime_seconds: (clock.monotonic() - this.#startedAt) / 1_000,
      });
    }
    this.#heartbeat = clock.after(heartbeatMs, () => this.#beat());
  }

  #onTickError(unit: Unit, thrown: unknown): void {
    const error = messageOf(thrown).slice(0, MAX_TEXT);
    this.#o.log.error("the loop of a unit threw an error", { unit: unit.name, error });
    this.#emit("ERROR", {
      component: unit.name,
      error,
      error_code: isOperatingError(thrown) ? thrown.code : "TICK_FAILED",
      severity: "error",
      node_id: this.#o.router.nodeId,
    });
  }

  /** Emits for the runtime itself. What cannot be emitted is logged: the runtime never fails on its own events. */
  #emit<N extends "COORDINATOR_HEARTBEAT" | "ERROR">(eventType: N, payload: PayloadFor<N>): void {
    const { router, log } = this.#o;
    if (router.catalog.row(eventType) === undefined) return;
    const lost = (thrown: unknown) => log.error(`${eventType} was not published`, { error: messageOf(thrown) });
    try {
      router.publishPrepared(router.prepare(eventType, payload, { source: SOURCE }, "strict")).catch(lost);
    } catch (thrown) {
      lost(thrown);
    }
  }
}

export const createUnitRuntime = (options: UnitRuntimeOptions): UnitRuntime => new UnitRuntime(options);
