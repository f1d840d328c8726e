import type { AsyncLocalStorage } from "node:async_hooks";
import { createRecent, defined, type Recent } from "../kernel/index.ts";
import { appendAll, appendedOf, isDurable } from "./append-all.ts";
import type { AnyEvent, Published } from "./event.ts";
import type { Appended, RouterParts } from "./parts.ts";
import {
  type Cause,
  type PrepareContext,
  type Prepared,
  type PublishOptions,
  prepare,
  type Validation,
} from "./prepare.ts";
import type { Statistics } from "./statistics.ts";
import type { Tracing } from "./tracing.ts";

interface PublisherOptions extends Pick<RouterParts, "store" | "clock" | "settings"> {
  readonly context: PrepareContext;
  /** The event that is being handled, if any. */
  readonly current: AsyncLocalStorage<AnyEvent | undefined>;
  readonly tracing: Tracing;
  readonly statistics: Statistics;
  /** Takes events that are in the journal now. */
  readonly onAppended: (events: readonly AnyEvent[]) => void;
  /** Takes an event that only passes by. */
  readonly onPassing: (event: AnyEvent) => void;
}

const MAX_REMEMBERED = 10_000;

/** What passes by is not in the journal, and nobody could follow it back: what it causes follows from its own parent. */
const storedCause = (event: AnyEvent | undefined): Cause | undefined => {
  if (event === undefined || event.eventClass === "durable") return event;
  const { parentEventId, traceId, correlationId } = event;
  return parentEventId === null ? undefined : { eventId: parentEventId, traceId, correlationId };
};

/** From what a publisher says to an event that is committed, or handed on where it is not durable. */
export class Publisher {
  readonly #o: PublisherOptions;
  /** What passed through lately: event ids, and the id of the first event with some content. */
  readonly #seen: Recent<true>;
  readonly #contents: Recent<string>;

  constructor(options: PublisherOptions) {
    this.#o = options;
    const windowMs = options.settings.dedupWindowSeconds * 1_000;
    this.#seen = createRecent(windowMs, MAX_REMEMBERED);
    this.#contents = createRecent(windowMs, MAX_REMEMBERED);
  }

  /** Checks and completes what a publisher said. The event that is being handled, if any, becomes its parent. */
  prepare(eventType: string, payload: unknown, options: PublishOptions, how: Validation): Prepared {
    const { current, tracing, context } = this.#o;
    const handled = options.parent === undefined ? current.getStore() : undefined;
    const parent = options.parent === undefined ? storedCause(handled) : options.parent;
    const { follows } = options;
    const traceId =
      options.traceId ??
      (parent === undefined ? (follows?.traceId ?? handled?.traceId ?? tracing.activeTraceId()) : undefined);
    const complete =
      parent === undefined && traceId === undefined ? options : { ...options, ...defined({ parent, traceId }) };
    const prepared = prepare(context, eventType, payload, complete, how);
    if (follows?.traceId === prepared.event.traceId) tracing.follows(prepared.event, follows);
    return prepared;
  }

  /** Several events, all or nothing, with one flush. */
  async publishAll(all: readonly Prepared[]): Promise<Published[]> {
    const published = new Map(await this.#append(all.filter(isDurable)));
    return all.map((prepared) => published.get(prepared) ?? this.pass(prepared));
  }

  /** Hands out what is not durable, unless it repeats what passed lately. */
  pass({ event, dedupKey }: Prepared): Published {
    const { clock, statistics, onPassing } = this.#o;
    const now = clock.now();
    if (this.#seen.get(event.eventId, now) !== undefined) {
      statistics.duplicates += 1;
      return { ...event, suppressed: "event_id" };
    }
    const first = dedupKey === undefined ? undefined : this.#contents.get(dedupKey, now);
    if (first !== undefined) {
      statistics.contentDuplicates += 1;
      return { ...event, eventId: first, suppressed: "content" };
    }
    this.#seen.set(event.eventId, true, now);
    if (dedupKey !== undefined) this.#contents.set(dedupKey, event.eventId, now);
    onPassing(event);
    return { ...event, suppressed: null };
  }

  /** They are on disk, whoever's commit it was: fresh ones are delivered, repeats are counted. */
  committed(emitted: readonly Appended[]): [Prepared, Published][] {
    const { statistics, onAppended } = this.#o;
    const fresh: AnyEvent[] = [];
    const published = emitted.map(({ prepared, result }): [Prepared, Published] => {
      if (result.suppressed === null) {
        const event = Object.freeze({ ...prepared.event, seq: result.seq });
        fresh.push(event);
        return [prepared, { ...event, suppressed: null }];
      }
      if (result.suppressed === "content") statistics.contentDuplicates += 1;
      else statistics.duplicates += 1;
      return [
        prepared,
        { ...prepared.event, eventId: result.event_id, seq: result.seq, suppressed: result.suppressed },
      ];
    });
    if (fresh.length > 0) onAppended(fresh);
    return published;
  }

  async #append(durable: readonly Prepared[]): Promise<[Prepared, Published][]> {
    const { settings, store } = this.#o;
    const appends = appendAll(durable, settings.dedupWindowSeconds);
    return appends.length === 0 ? [] : this.committed(appendedOf(durable, await store.commit(appends)));
  }
}
