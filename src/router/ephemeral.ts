import { stackOf } from "../kernel/index.ts";
import type { Failure } from "./delivery-hooks.ts";
import { type AnyEvent, VIEW, type ViewName } from "./event.ts";
import type { RouterParts } from "./parts.ts";

export type Handler = (event: AnyEvent) => void | Promise<void>;

export interface EphemeralSubscriber {
  readonly handler: Handler;
  /** Null for one that nobody could be told of: what it fails at is logged and counted, and no more. */
  readonly name: string | null;
  readonly view: ViewName;
}

export interface EphemeralOptions extends RouterParts {
  /** Runs handlers as effects of the event, so that what they publish knows its cause. */
  readonly within: (event: AnyEvent, run: () => void) => void;
  readonly onFailure: (failure: Failure) => void;
  /** Writes down what a listener with a name failed at. Resolves when that is on disk, or cannot be. */
  readonly onDeath: (failure: Failure) => Promise<void>;
}

/** How listeners are called where durable consumers are listed too: their names never meet. */
const listenerName = (name: string): string => `listener:${name}`;

/** A handler that has begun. */
interface Started {
  readonly subscriber: EphemeralSubscriber;
  readonly promise: Promise<void>;
  /** Its failure is on its way to the disk. */
  failed?: boolean;
  ended: boolean;
}

/** Undefined for one that has ended well already. */
const call = ({ handler }: EphemeralSubscriber, event: AnyEvent): Promise<void> | undefined => {
  try {
    const promise = handler(event);
    return promise instanceof Promise ? promise : undefined;
  } catch (thrown) {
    return Promise.reject(thrown);
  }
};

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

  /** Ends the subscription through this view; one of the same handler through another view stays. */
  remove(eventType: string | null, handler: Handler, view: ViewName): boolean {
    const list = this.of(eventType);
    const left = list.filter((known) => known.handler !== handler || known.view !== view);
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

  /** Names of those that listen now, as their letters call them. */
  names(): Set<string> {
    const all = [this.#global, ...this.#byType.values()].flat();
    return new Set(all.flatMap(({ name }) => (name === null ? [] : [listenerName(name)])));
  }

  /** Gives an event to the listener that failed on it once more; false if it fails again, or listens no longer. */
  async again(consumer: string, event: AnyEvent): Promise<boolean> {
    const { timeLimits, settings } = this.#o;
    const found = [...this.#global, ...this.of(event.eventType)].find(
      ({ name }) => name !== null && listenerName(name) === consumer,
    );
    if (found === undefined) return false;
    const late = Promise.withResolvers<never>();
    let kind: Failure["kind"] = "failed";
    const limit = timeLimits.begin(settings.handlerTimeoutMs, () => {
      kind = "timeout";
      late.reject(this.#tooLate());
    });
    let begun: Promise<void> | undefined;
    this.#o.within(event, () => {
      begun = call(found, event);
    });
    try {
      await Promise.race([begun, late.promise]);
      return true;
    } catch (thrown) {
      await this.#failed(event, found, kind, thrown);
      return false;
    } finally {
      limit.end();
    }
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
      const promise = call(subscriber, event);
      if (promise !== undefined) started.push({ subscriber, promise, ended: false });
    }
    return reached;
  }

  #failed(event: AnyEvent, { name }: EphemeralSubscriber, kind: Failure["kind"], thrown: unknown): Promise<void> {
    const limitMs = this.#o.settings.handlerTimeoutMs;
    const consumer = name === null ? "anonymous" : listenerName(name);
    const failure: Failure = { consumer, event, kind, error: stackOf(thrown), attempts: 1, limitMs };
    this.#o.onFailure(failure);
    return name === null ? Promise.resolve() : this.#o.onDeath(failure);
  }

  #tooLate(): Error {
    return new Error(`no end after ${this.#o.settings.handlerTimeoutMs / 1_000} s`);
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
    const fail = (one: Started, kind: Failure["kind"], thrown: unknown) => {
      if (one.ended || one.failed) return;
      one.failed = true;
      void this.#failed(event, one.subscriber, kind, thrown).then(() => end(one));
    };
    const limit = timeLimits.begin(settings.handlerTimeoutMs, () => {
      for (const one of started) {
        if (one.ended) continue;
        fail(one, "timeout", this.#tooLate());
      }
    });
    this.#running.set(event.eventId, waiting);
    for (const one of started)
      one.promise.then(
        () => end(one),
        (thrown: unknown) => fail(one, "failed", thrown),
      );
  }
}
