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
  readonly emitted_without_subscriber: Readonly<Record<string, number>>;
}

/** Counters of one router since it started. The number of distinct keys from outside is bounded. */
export class Statistics {
  readonly #routed = new Map<string, number>();
  readonly #bySource = new Map<string, number>();
  readonly #timeouts = new Map<string, number>();
  readonly #unknown = new Map<string, number>();
  readonly #deprecated = new Map<string, number>();
  readonly #unheard = new Map<string, number>();
  total = 0;
  duplicates = 0;
  contentDuplicates = 0;
  failures = 0;

  routed(event: AnyEvent): void {
    this.total += 1;
    bump(this.#routed, event.eventType);
    bump(this.#bySource, event.origin);
  }

  unheard(event: AnyEvent): void {
    bump(this.#unheard, event.eventType);
  }

  timeout(consumer: string): void {
    bump(this.#timeouts, consumer);
  }

  unknown(name: string): number {
    return bump(this.#unknown, name);
  }

  deprecated(what: string): number {
    return bump(this.#deprecated, what);
  }

  report(): RouterStats {
    return {
      events_routed: Object.fromEntries(this.#routed),
      events_by_source: Object.fromEntries(this.#bySource),
      total_events: this.total,
      duplicates_prevented: this.duplicates,
      content_duplicates_prevented: this.contentDuplicates,
      handler_failures: this.failures,
      handler_timeouts: Object.fromEntries(this.#timeouts),
      unknown_events: Object.fromEntries(this.#unknown),
      deprecated: Object.fromEntries(this.#deprecated),
      emitted_without_subscriber: Object.fromEntries(this.#unheard),
    };
  }
}

const MOST_KEYS = 1_000;

/** Counts under "(other)" once there are too many keys, because some of them come from outside. */
function bump(counts: Map<string, number>, key: string): number {
  const known = counts.get(key);
  const at = known === undefined && counts.size >= MOST_KEYS ? "(other)" : key;
  const next = (known ?? counts.get(at) ?? 0) + 1;
  counts.set(at, next);
  return next;
}
