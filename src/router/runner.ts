import {
  type Breaker,
  type BreakerPolicy,
  type Clock,
  createBreaker,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  sleep,
  type TimeLimits,
} from "../kernel/index.ts";
import { runAfterCommit } from "./after-commit.ts";
import { type Appended, appendAll, appendedOf, isDurable } from "./append-all.ts";
import type { Cursor, Death } from "./cursor.ts";
import { type AnyEvent, whyUnreadable } from "./event.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { Delivery } from "./lanes.ts";
import type { Prepared } from "./prepare.ts";
import { isStoreTrouble, type Operation, type Store } from "./store.port.ts";
import { createWriteSet, type WriteSet } from "./write-set.ts";

/** What a durable handler works with besides the event. */
export interface HandlerContext {
  /** Rows it reads and changes; applied only if it succeeds. */
  readonly rows: WriteSet;
  /** Says something; it is published only if the handler succeeds. */
  emit(eventType: string, payload: Readonly<Record<string, unknown>>): AnyEvent;
  /** 1 on the first try. */
  readonly attempt: number;
  /** Aborts at the time limit and when the process stops. */
  readonly signal: AbortSignal;
  /** Runs once the write set, the emissions and the ack are on disk, and never if they are not. */
  afterCommit(run: () => void): void;
}

export type DurableHandler = (event: AnyEvent, context: HandlerContext) => void | Promise<void>;

export interface RunnerOptions {
  readonly consumer: string;
  readonly handlerOf: (eventType: string) => DurableHandler | undefined;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeLimits: TimeLimits;
  readonly windowSeconds: number;
  readonly breaker: BreakerPolicy;
  readonly prepareEmission: (eventType: string, payload: unknown, parent: AnyEvent) => Prepared;
  readonly within: <T>(event: AnyEvent, run: () => T) => T;
  /** The write set, the emissions and the ack are on disk. */
  readonly onCommitted: (emitted: readonly Appended[]) => void;
  /** Emissions that are not durable go out once the handler has succeeded. */
  readonly publishPassing: (prepared: Prepared) => void;
  readonly onFailure: (failure: Failure) => void;
  /** The router's own word on a delivery that died. */
  readonly onDeath: (delivery: Delivery, failure: Failure, attempts: number) => Prepared | undefined;
}

export interface Failure {
  readonly consumer: string;
  readonly event: AnyEvent;
  readonly kind: "failed" | "timeout";
  readonly error: string;
  readonly attempts: number;
  /** The time limit that this handler has. */
  readonly limitMs: number;
}

/** A handler whose read set keeps changing under it: after so many runs it counts as failed. */
const MOST_CONFLICTS = 50;
const STORE_RETRY_MS = 1_000;

/** Runs the handlers of one consumer of this process over its cursor. */
export class Runner {
  readonly #o: RunnerOptions;
  readonly #cursor: Cursor;
  readonly #breakers = new Map<string, Breaker>();
  readonly #stop = new AbortController();
  /** Of the handlers that run. */
  readonly #aborts = new Set<AbortController>();
  #running = 0;
  #pumping = false;
  #idle: (() => void)[] = [];

  constructor(cursor: Cursor, options: RunnerOptions) {
    this.#cursor = cursor;
    this.#o = options;
  }

  breakerOf(eventType: string): Breaker {
    let breaker = this.#breakers.get(eventType);
    if (breaker === undefined) {
      breaker = createBreaker(this.#o.breaker, this.#o.clock);
      this.#breakers.set(eventType, breaker);
    }
    return breaker;
  }

  /** Event types whose handler is not called at the moment. */
  openBreakers(): string[] {
    return [...this.#breakers].filter(([, breaker]) => breaker.state !== "closed").map(([type]) => type);
  }

  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#running < this.#o.concurrency && !this.#stop.signal.aborted) {
        const delivery = this.#cursor.take();
        if (delivery === undefined) break;
        this.#running += 1;
        this.#run(delivery).then(() => {
          this.#running -= 1;
          if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
          this.pump();
        });
      }
    } finally {
      this.#pumping = false;
    }
  }

  /** Lets what runs come to its end, at most so long. */
  async stop(graceMs: number): Promise<void> {
    this.#cursor.stop();
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.#o.clock.after(graceMs, resolve, "hold");
        this.#idle.push(() => {
          timer.cancel();
          resolve();
        });
      });
    }
    const reason = new Error("the process stops");
    this.#stop.abort(reason);
    for (const abort of this.#aborts) abort.abort(reason);
  }

  async #run(delivery: Delivery): Promise<void> {
    const breaker = this.breakerOf(delivery.event.eventType);
    for (let conflicts = 0; ; conflicts += 1) {
      const outcome = await this.#attempt(delivery);
      if (this.#stop.signal.aborted && outcome.kind !== "done") return breaker.abandon();
      if (outcome.kind === "done") return breaker.succeed();
      if (outcome.kind === "conflict" && conflicts < MOST_CONFLICTS) continue;
      breaker.fail();
      const kind = outcome.kind === "timeout" ? "timeout" : "failed";
      return this.#failed(delivery, kind, outcome.error);
    }
  }

  async #attempt(delivery: Delivery): Promise<{ kind: "done" | "failed" | "timeout" | "conflict"; error: string }> {
    const { event } = delivery;
    const unreadable = whyUnreadable(event);
    if (unreadable !== undefined) return { kind: "failed", error: unreadable };
    const handler = this.#o.handlerOf(event.eventType);
    const rows = createWriteSet(this.#o.store);
    const emitted: Prepared[] = [];
    const after: (() => void)[] = [];
    let open = true;
    const abort = new AbortController();
    const context: HandlerContext = {
      rows,
      attempt: delivery.attempts + 1,
      signal: abort.signal,
      emit: (eventType, payload) => {
        if (!open)
          throw new Error(`${this.#o.consumer} emits ${eventType} after its handler of ${event.eventType} has ended`);
        const prepared = this.#o.prepareEmission(eventType, payload, event);
        emitted.push(prepared);
        return prepared.event;
      },
      afterCommit: (run) => void after.push(run),
    };
    this.#aborts.add(abort);
    try {
      if (handler !== undefined) {
        const running = this.#o.within(event, () => handler(event, context));
        if (running instanceof Promise) await this.#limited(running, abort);
      }
    } catch (thrown) {
      const kind = isOperatingError(thrown, "HANDLER_TIME_LIMIT") ? "timeout" : "failed";
      abort.abort(thrown);
      return { kind, error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : messageOf(thrown) };
    } finally {
      open = false;
      this.#aborts.delete(abort);
    }
    // Too late: its place may be another's by now, which has had this event too.
    if (this.#stop.signal.aborted) return { kind: "failed", error: "ended after the stop" };
    const outcome = await this.#commit(delivery, rows.operations(), emitted);
    if (outcome.kind === "done") runAfterCommit(this.#o.log, this.#o.consumer, after);
    return outcome;
  }

  #limited(running: Promise<void>, abort: AbortController): Promise<void> {
    return new Promise((resolve, reject) => {
      const limit = this.#o.timeLimits.begin(this.#o.timeoutMs, () => {
        const error = new OperatingError("HANDLER_TIME_LIMIT", `no end after ${this.#o.timeoutMs / 1_000} s`);
        abort.abort(error);
        reject(error);
      });
      running.then(
        () => {
          limit.end();
          resolve();
        },
        (thrown: unknown) => {
          limit.end();
          reject(thrown);
        },
      );
    });
  }

  async #commit(
    delivery: Delivery,
    writes: readonly Operation[],
    emitted: readonly Prepared[],
  ): Promise<{ kind: "done" | "failed" | "conflict"; error: string }> {
    const durable = emitted.filter(isDurable);
    const appends = appendAll(durable, this.#o.windowSeconds);
    for (;;) {
      try {
        await this.#cursor.complete([delivery], [...writes, ...appends], (results) =>
          this.#o.onCommitted(appendedOf(durable, results.slice(writes.length))),
        );
        for (const prepared of emitted) if (!isDurable(prepared)) this.#o.publishPassing(prepared);
        return { kind: "done", error: "" };
      } catch (thrown) {
        if (isOperatingError(thrown, "READ_CONFLICT")) return { kind: "conflict", error: thrown.message };
        if (!isStoreTrouble(thrown)) return { kind: "failed", error: messageOf(thrown) };
        if (!this.#stop.signal.aborted) await sleep(this.#o.clock, STORE_RETRY_MS);
        if (this.#stop.signal.aborted) return { kind: "failed", error: messageOf(thrown) };
      }
    }
  }

  async #failed(delivery: Delivery, kind: "failed" | "timeout", error: string): Promise<void> {
    const { consumer, timeoutMs: limitMs } = this.#o;
    const { event } = delivery;
    const failure: Failure = { consumer, event, kind, error, attempts: delivery.attempts + 1, limitMs };
    this.#o.onFailure(failure);
    let word: Prepared | undefined;
    const death: Death = {
      error,
      fingerprint: fingerprintOf(error),
      also: (attempts) => {
        word ??= this.#o.onDeath(delivery, failure, attempts);
        return word === undefined ? [] : appendAll([word], this.#o.windowSeconds);
      },
    };
    for (;;) {
      try {
        await this.#cursor.fail(delivery, death, (results) => {
          if (word !== undefined) this.#o.onCommitted(appendedOf([word], results));
        });
        return;
      } catch (thrown) {
        if (this.#stop.signal.aborted) return;
        this.#o.log.error("a failed delivery could not be written down; trying again", {
          consumer,
          event_id: delivery.event.eventId,
          error: messageOf(thrown),
        });
        await sleep(this.#o.clock, STORE_RETRY_MS);
        if (this.#stop.signal.aborted) return;
      }
    }
  }
}
