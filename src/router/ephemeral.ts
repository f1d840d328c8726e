import { messageOf } from "../kernel/index.ts";
import type { Failure } from "./delivery-hooks.ts";
import { type AnyEvent, VIEW, type ViewName } from "./event.ts";
import type { RouterParts } from "./parts.ts";

export type Handler = (event: AnyEvent) => void | Promise<void>;

export interface EphemeralSubscriber {
  readonly handler: Handler;
  readonly name: string;
  readonly view: ViewName;
}

export interface EphemeralOptions extends RouterParts {
  /** Runs handlers as effects of the event, so that what they publish knows its cause. */
  readonly within: (event: AnyEvent, run: () => void) => void;
  readonly onFailure: (failure: Failure) => void;
}

/** A handler that has begun. */
interface Started {
  readonly subscriber: EphemeralSubscriber;
  readonly promise: Promise<void>;
  ended: boolean;
}

/**
 * Subscribers of this process without a name: they hear what happens while they listen and are owed nothing. Global ones
 * hear first, then those of the type, in the order they subscribed; a failing or slow one never stops the next.
 */
export class EphemeralSubscribers {
  readonly #o: EphemeralOptions;
  readonly #byType = new Map<string, EphemeralSubscriber[]>();
  #global: readonly EphemeralSubscriber[] = [];
  /** Events with handlers that have not ended, and who waits for their end. */
  readonly #running = new Map<string, (() => void)[]>();

  constructor(options: EphemeralOptions) {
    this.#o = options;
  }

  /** `null` hears all events. Subscribing the same handler twice to one event is once. */
  add(eventType: string | null, subscriber: EphemeralSubscriber): void {
    const list = this.of(eventType);
    if (list.some((known) => known.handler === subscriber.handler && known.view === subscriber.view)) return;
    this.#set(eventType, [...list, subscriber]);
  }

  remove(eventType: string | null, handler: Handler): boolean {
    const list = this.of(eventType);
    const left = list.filter((known) => known.handler !== handler);
    this.#set(eventType, left);
    return left.length < list.length;
  }

  of(eventType: string | null): readonly EphemeralSubscriber[] {
    return eventType === null ? this.#global : (this.#byType.get(eventType) ?? []);
  }

  types(): string[] {
    return [...this.#byType.keys()];
  }

  deliver(event: AnyEvent, bits: number): number {
    const some = this.#byType.get(event.eventType);
    if (some === undefined && this.#global.length === 0) return 0;
    let reached = 0;
    const started: Started[] = [];
    // One context for all of them: each handler's promises inherit it.
    this.#o.within(event, () => {
      reached = this.#callAll(this.#global, event, bits, started);
      if (some !== undefined) reached += this.#callAll(some, event, bits, started);
    });
    if (started.length > 0) this.#watch(event, started);
    return reached;
  }

  /** Resolves when the handlers that run for this event have ended. */
  settled(eventId: string): Promise<void> {
    const waiting = this.#running.get(eventId);
    return waiting === undefined ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
  }

  get running(): number {
    return this.#running.size;
  }

  #set(eventType: string | null, list: EphemeralSubscriber[]): void {
    if (eventType === null) this.#global = list;
    else if (list.length === 0) this.#byType.delete(eventType);
    else this.#byType.set(eventType, list);
  }

  #callAll(list: readonly EphemeralSubscriber[], event: AnyEvent, bits: number, started: Started[]): number {
    let reached = 0;
    for (const subscriber of list) {
      if ((VIEW[subscriber.view] & bits) === 0) continue;
      reached += 1;
      try {
        const promise = subscriber.handler(event);
        if (promise instanceof Promise) started.push({ subscriber, promise, ended: false });
      } catch (thrown) {
        this.#failed(event, subscriber, "failed", messageOf(thrown));
      }
    }
    return reached;
  }

  #failed(event: AnyEvent, { name }: EphemeralSubscriber, kind: Failure["kind"], error: string): void {
    const limitMs = this.#o.settings.handlerTimeoutMs;
    this.#o.onFailure({ consumer: name, event, kind, error, attempts: 1, limitMs });
  }

  /** They began together and have the same limit: one limit watches all of them. */
  #watch(event: AnyEvent, started: readonly Started[]): void {
    const { timeLimits, settings } = this.#o;
    const waiting: (() => void)[] = [];
    let left = started.length;
    const end = (one: Started) => {
      if (one.ended) return;
      one.ended = true;
      left -= 1;
      if (left > 0) return;
      limit.end();
      this.#running.delete(event.eventId);
      for (const resolve of waiting) resolve();
    };
    const limit = timeLimits.begin(settings.handlerTimeoutMs, () => {
      for (const one of started) {
        if (one.ended) continue;
        this.#failed(event, one.subscriber, "timeout", `no end after ${settings.handlerTimeoutMs / 1_000} s`);
        end(one);
      }
    });
    this.#running.set(event.eventId, waiting);
    for (const one of started)
      one.promise.then(
        () => end(one),
        (thrown: unknown) => {
          if (!one.ended) this.#failed(event, one.subscriber, "failed", messageOf(thrown));
          end(one);
        },
      );
  }
}
