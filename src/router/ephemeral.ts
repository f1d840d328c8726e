import { messageOf, type TimeLimits } from "../kernel/index.ts";
import { type AnyEvent, VIEW, type ViewName } from "./event.ts";

export type Handler = (event: AnyEvent) => void | Promise<void>;

export interface EphemeralSubscriber {
  readonly handler: Handler;
  readonly name: string;
  readonly view: ViewName;
}

export interface EphemeralOptions {
  readonly timeLimits: TimeLimits;
  readonly timeoutMs: number;
  /** Runs a handler as an effect of the event, so that what it publishes knows its cause. */
  readonly within: (event: AnyEvent, run: () => void | Promise<void>) => void | Promise<void>;
  readonly onFailure: (event: AnyEvent, subscriber: string, kind: "failed" | "timeout", error: string) => void;
}

/**
 * Subscribers of this process without a name: they hear what happens while they listen and are owed nothing. Global ones
 * hear first, then those of the type, in the order they subscribed; a failing or slow one never stops the next.
 */
export class EphemeralSubscribers {
  readonly #o: EphemeralOptions;
  readonly #byType = new Map<string, EphemeralSubscriber[]>();
  #global: readonly EphemeralSubscriber[] = [];
  readonly #running = new Map<string, Promise<void>>();

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
    let pending: Promise<void>[] | undefined;
    for (const list of [this.#global, some])
      if (list !== undefined)
        for (const subscriber of list) {
          if ((VIEW[subscriber.view] & bits) === 0) continue;
          reached += 1;
          const running = this.#call(subscriber, event);
          if (running !== undefined) {
            pending ??= [];
            pending.push(running);
          }
        }
    if (pending !== undefined) {
      const all = (pending.length === 1 ? pending[0]! : Promise.all(pending)).then(() => {
        this.#running.delete(event.eventId);
      });
      this.#running.set(event.eventId, all);
    }
    return reached;
  }

  /** Resolves when the handlers that run for this event have ended. */
  settled(eventId: string): Promise<void> {
    return this.#running.get(eventId) ?? Promise.resolve();
  }

  get running(): number {
    return this.#running.size;
  }

  #set(eventType: string | null, list: EphemeralSubscriber[]): void {
    if (eventType === null) this.#global = list;
    else if (list.length === 0) this.#byType.delete(eventType);
    else this.#byType.set(eventType, list);
  }

  #call(subscriber: EphemeralSubscriber, event: AnyEvent): Promise<void> | undefined {
    const { timeLimits, timeoutMs, within, onFailure } = this.#o;
    let result: void | Promise<void>;
    try {
      result = within(event, () => subscriber.handler(event));
    } catch (thrown) {
      onFailure(event, subscriber.name, "failed", messageOf(thrown));
      return undefined;
    }
    if (!(result instanceof Promise)) return undefined;
    return new Promise<void>((resolve) => {
      let open = true;
      const limit = timeLimits.begin(timeoutMs, () => {
        open = false;
        onFailure(event, subscriber.name, "timeout", `no end after ${timeoutMs / 1_000} s`);
        resolve();
      });
      const end = () => {
        if (!open) return;
        limit.end();
        resolve();
      };
      result.then(end, (thrown: unknown) => {
        if (open) onFailure(event, subscriber.name, "failed", messageOf(thrown));
        end();
      });
    });
  }
}
