import type { AnyEvent } from "./event.ts";

export interface RouterStats {
  readonly events_routed: Readonly<Record<string, number>>;
  readonly events_by_source: Readonly<Record<string, number>>;
  readonly total_events: number;
  readonly duplicates_prevented: number;
  readonly content_duplicates_prevented: number;
  readonly handler_failures: number;
  readonly handler_timeouts: Readonly<Record<string, number>>;
  readonly unknown_events: Readonly<Record<string, number>>;
  readonly deprecated: Readonly<Record<string, number>>;
  /** Published from outside without all of their fields. */
  readonly incomplete_events: Readonly<Record<string, number>>;
  readonly emitted_without_subscriber: Readonly<Record<string, number>>;
}

const MAX_KEYS = 1_000;

/** Counts by key, and under "(other)" once there are too many keys, because some of them come from outside. */
class Tally {
  readonly #counts = new Map<string, number>();

  /** Counts one; how many of its key there were. */
  add(key: string): number {
    const known = this.#counts.get(key);
    const at = known === undefined && this.#counts.size >= MAX_KEYS ? "(other)" : key;
    const next = (known ?? this.#counts.get(at) ?? 0) + 1;
    this.#counts.set(at, next);
    return next;
  }

  report(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

/** Counters of one router since it started. */
export class Statistics {
  readonly #routed = new Tally();
  readonly #bySource = new Tally();
  readonly timeouts = new Tally();
  readonly unknown = new Tally();
  readonly deprecated = new Tally();
  readonly incomplete = new Tally();
  readonly unheard = new Tally();
  total = 0;
  duplicates = 0;
  contentDuplicates = 0;
  failures = 0;

  routed(event: AnyEvent): void {
    this.total += 1;
    this.#routed.add(event.eventType);
    this.#bySource.add(event.origin);
  }

  report(): RouterStats {
    return {
      events_routed: this.#routed.report(),
      events_by_source: this.#bySource.report(),
      total_events: this.total,
      duplicates_prevented: this.duplicates,
      content_duplicates_prevented: this.contentDuplicates,
      handler_failures: this.failures,
      handler_timeouts: this.timeouts.report(),
      unknown_events: this.unknown.report(),
      deprecated: this.deprecated.report(),
      incomplete_events: this.incomplete.report(),
      emitted_without_subscriber: this.unheard.report(),
    };
  }
}
