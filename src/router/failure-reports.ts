import { createRecent, messageOf, type Recent } from "../kernel/index.ts";
import { emissionsOf } from "./append-all.ts";
import type { Failure } from "./delivery-hooks.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { buryDelivery } from "./journal/deliveries.ts";
import { laneOf } from "./lanes.ts";
import type { CommitHooks } from "./parts.ts";
import type { Prepared, PublishOptions, Validation } from "./prepare.ts";
import type { Statistics } from "./statistics.ts";

/** The consumers of the router's own words about failed handlers are not reported on: that would never end. */
const REPORTS = new Set(["HANDLER_FAILED", "HANDLER_TIMEOUT"]);
const MAX_REPORTED = 1_000;

interface FailureReportsOptions {
  readonly hooks: CommitHooks;
  readonly statistics: Statistics;
  readonly prepare: (type: string, payload: unknown, options: PublishOptions, how: Validation) => Prepared;
}

/** What the router says and writes down when a handler fails. */
export class FailureReports {
  readonly #o: FailureReportsOptions;
  /** Listeners that failed lately at what only passes by. */
  readonly #reported: Recent<true>;

  constructor(options: FailureReportsOptions) {
    this.#o = options;
    this.#reported = createRecent(options.hooks.settings.dedupWindowSeconds * 1_000, MAX_REPORTED);
  }

  /** One try failed. */
  failed({ consumer, event, kind, error, attempts }: Failure): void {
    const { statistics, hooks } = this.#o;
    statistics.failures += 1;
    if (kind === "timeout") statistics.timeouts.add(consumer);
    const message = error.split("\n", 1)[0]!;
    hooks.log.warn(`handler ${kind === "timeout" ? "ran into its time limit" : "failed"}`, {
      consumer,
      event_type: event.eventType,
      event_id: event.eventId,
      attempts,
      error: message,
    });
  }

  /** HANDLER_FAILED or HANDLER_TIMEOUT, except about handlers of those two. */
  onDeath({ event, kind, error, consumer, limitMs, attempts }: Failure): Prepared[] {
    const { hooks, prepare } = this.#o;
    const name = kind === "timeout" ? "HANDLER_TIMEOUT" : "HANDLER_FAILED";
    if (REPORTS.has(event.eventType) || hooks.catalog.row(name) === undefined) return [];
    const about = { consumer, event_type: event.eventType, event_id: event.eventId, attempts };
    const payload =
      kind === "timeout"
        ? { ...about, timeout_seconds: limitMs / 1_000 }
        : { ...about, error: error.slice(0, 2_000), fingerprint: fingerprintOf(error) };
    try {
      return [prepare(name, payload, { source: "router", parent: event }, "strict")];
    } catch (thrown) {
      // An id or a name that our own rules would not take: the letter is written all the same, and this says why it is alone.
      hooks.log.error(`${name} could not be said`, { ...about, error: messageOf(thrown) });
      return [];
    }
  }

  /** A listener with a name failed: its letter and the report on it are one commit. What only passes by leaves no letter. */
  async buryListener(failure: Failure): Promise<void> {
    const { store, clock, log } = this.#o.hooks;
    const { consumer, event, error, attempts } = failure;
    const { seq, eventId, eventType } = event;
    const at = clock.now();
    if (seq === null) {
      // Such events may be many, and nobody can be given them again: one report for each window says enough.
      const about = `${consumer} ${eventType}`;
      if (this.#reported.get(about, at) !== undefined) return;
      this.#reported.set(about, true, at);
    }
    const { appends, onCommitted } = emissionsOf(this.#o.hooks, this.onDeath(failure));
    const mark = { consumer, lowWater: 0, sweepDone: false };
    const letter = { mark, lane: laneOf(event), eventId, eventType, attempts, at, error, handlerVersion: "1" };
    const bury = seq === null ? [] : [buryDelivery({ ...letter, seq, fingerprint: fingerprintOf(error) })];
    if (bury.length + appends.length === 0) return;
    try {
      onCommitted(await store.commit([...bury, ...appends]));
    } catch (thrown) {
      log.error("the failure of a listener was not stored", {
        consumer,
        event_id: eventId,
        error: messageOf(thrown),
      });
    }
  }
}
