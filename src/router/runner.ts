import { type Breaker, createBreaker, isOperatingError, messageOf, sleep, stackOf } from "../kernel/index.ts";
import { emissionsOf } from "./append-all.ts";
import type { Cursor } from "./cursor.ts";
import { type DeliveryHooks, spendTry } from "./delivery-hooks.ts";
import { type AnyEvent, whyUnreadable } from "./event.ts";
import type { Delivery } from "./lanes.ts";
import type { Cause, Prepared } from "./prepare.ts";
import { isStoreTrouble, type Operation } from "./store.port.ts";
import { MAX_CONFLICTS } from "./transact.ts";
import { beginWork, type HandlerContext } from "./work.ts";

export type DurableHandler = (event: AnyEvent, context: HandlerContext) => void | Promise<void>;

export interface RunnerOptions extends DeliveryHooks {
  readonly consumer: string;
  readonly handlerOf: (eventType: string) => DurableHandler | undefined;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly prepareEmission: (eventType: string, payload: unknown, parent: Cause | null) => Prepared;
  readonly within: <T>(event: AnyEvent, run: () => T) => T;
}

interface Outcome {
  readonly kind: "done" | "failed" | "timeout" | "conflict";
  readonly error: string;
}

const STORE_RETRY_MS = 1_000;

/** Runs the handlers of one consumer of this process over its cursor. */
export class Runner {
  readonly #o: RunnerOptions;
  readonly #cursor: Cursor;
  readonly #breakers = new Map<string, Breaker>();
  readonly #stop = new AbortController();
  /** How to end the handlers that run. */
  readonly #ends = new Set<(reason: unknown) => void>();
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
      const { breakerThreshold: threshold, breakerOpenMs: openMs } = this.#o.settings;
      breaker = createBreaker({ threshold, openMs }, this.#o.clock);
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
    const reason = new Error("the process is stopping");
    this.#stop.abort(reason);
    for (const end of this.#ends) end(reason);
  }

  async #run(delivery: Delivery): Promise<void> {
    const breaker = this.breakerOf(delivery.event.eventType);
    for (let conflicts = 0; ; conflicts += 1) {
      const outcome = await this.#attempt(delivery);
      if (this.#stop.signal.aborted && outcome.kind !== "done") return breaker.abandon();
      if (outcome.kind === "done") return breaker.succeed();
      if (outcome.kind === "conflict" && conflicts < MAX_CONFLICTS) continue;
      breaker.fail();
      const kind = outcome.kind === "timeout" ? "timeout" : "failed";
      const how = { kind, error: outcome.error, limitMs: this.#o.timeoutMs } as const;
      await spendTry(this.#o, this.#cursor, delivery, how, () => this.#stop.signal.aborted);
      return;
    }
  }

  async #attempt(delivery: Delivery): Promise<Outcome> {
    const { event } = delivery;
    const { consumer: source, store, log, timeLimits, timeoutMs } = this.#o;
    const unreadable = whyUnreadable(event);
    if (unreadable !== undefined) return { kind: "failed", error: unreadable };
    const handler = this.#o.handlerOf(event.eventType);
    const work = beginWork({
      store,
      source,
      what: `its handler of ${event.eventType}`,
      attempt: delivery.attempts + 1,
      prepareEmission: (eventType, payload, cause = event) => this.#o.prepareEmission(eventType, payload, cause),
    });
    this.#ends.add(work.end);
    try {
      await work.run((context) => this.#o.within(event, () => handler?.(event, context)), timeLimits, timeoutMs);
    } catch (thrown) {
      return { kind: isOperatingError(thrown, "HANDLER_TIME_LIMIT") ? "timeout" : "failed", error: stackOf(thrown) };
    } finally {
      this.#ends.delete(work.end);
    }
    // Too late: its place may be another's by now, which has had this event too.
    if (this.#stop.signal.aborted) return { kind: "failed", error: "ended after the stop" };
    const outcome = await this.#commit(delivery, work.rows.operations(), work.emitted);
    if (outcome.kind === "done") work.runAfterCommit(log);
    return outcome;
  }

  async #commit(delivery: Delivery, writes: readonly Operation[], emitted: readonly Prepared[]): Promise<Outcome> {
    const { appends, onCommitted } = emissionsOf(this.#o, emitted);
    for (;;) {
      try {
        await this.#cursor.complete([delivery], [...writes, ...appends], onCommitted);
        return { kind: "done", error: "" };
      } catch (thrown) {
        const error = messageOf(thrown);
        if (isOperatingError(thrown, "READ_CONFLICT")) return { kind: "conflict", error };
        if (!isStoreTrouble(thrown)) return { kind: "failed", error };
        if (!this.#stop.signal.aborted) await sleep(this.#o.clock, STORE_RETRY_MS);
        if (this.#stop.signal.aborted) return { kind: "failed", error };
      }
    }
  }
}
