import { isOperatingError, type OperatingError } from "../kernel/index.ts";
import { emissionsOf } from "./append-all.ts";
import type { Cursor } from "./cursor.ts";
import { type DeliveryHooks, type Failure, spendTry } from "./delivery-hooks.ts";
import { type AnyEvent, whyUnreadable } from "./event.ts";
import type { Delivery } from "./lanes.ts";
import type { Prepared } from "./prepare.ts";

export interface SessionOptions extends DeliveryHooks {
  readonly id: string;
  readonly consumer: string;
  readonly cursor: Cursor;
  /** How long a delivery may be held without an answer. */
  readonly leaseMs: number;
}

export interface AckOutcome {
  readonly acked: readonly number[];
  /** Not held by this session (any more): they were or will be delivered again. */
  readonly refused: readonly number[];
}

/**
 * One connection of an outside consumer: deliveries are leased to it and end by its ack, its nack or the time limit. A
 * newer session of the same consumer replaces it.
 */
export class Session {
  readonly id: string;
  readonly consumer: string;
  readonly #o: SessionOptions;
  /** What it holds, in the order in which it was handed out. */
  readonly #leases = new Map<number, Delivery>();
  /** The one whose time runs: the first that has no answer. */
  #watched: Delivery | undefined;
  #limit: { end(): void } | undefined;
  /** Whether anything was answered since that time began to run. */
  #answered = false;
  #heardAt: number;
  #wakeUps: (() => void)[] = [];
  #closed: OperatingError | undefined;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.consumer = options.consumer;
    this.#o = options;
    this.#heardAt = options.clock.monotonic();
  }

  get held(): number {
    return this.#leases.size;
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Nobody waits here, nothing is held, and nothing was heard for so long: whoever it was is gone. */
  isSilent(forMs: number): boolean {
    if (this.#leases.size > 0 || this.#wakeUps.length > 0) return false;
    return this.#o.clock.monotonic() - this.#heardAt >= forMs;
  }

  /** Deliveries to work on, in order; waits for some up to `waitMs`. */
  async poll(max: number, waitMs: number, signal?: AbortSignal): Promise<{ event: AnyEvent; attempt: number }[]> {
    this.#assertOpen();
    let batch = this.#o.cursor.takeBatch(max);
    if (batch.length === 0 && waitMs > 0) {
      await this.#ready(waitMs, signal);
      this.#assertOpen();
      if (signal?.aborted) return [];
      batch = this.#o.cursor.takeBatch(max);
    }
    this.#lease(batch);
    const readable = batch.filter((delivery) => {
      const why = whyUnreadable(delivery.event);
      if (why !== undefined) void this.#fail(delivery, "failed", why);
      return why === undefined;
    });
    return readable.map(({ event, attempts }) => ({ event, attempt: attempts + 1 }));
  }

  /** Waits until some of what is held has ended. */
  async room(waitMs: number, signal?: AbortSignal): Promise<undefined> {
    await this.#ready(waitMs, signal);
    return undefined;
  }

  /** Something may be ready: whoever waits looks again. */
  wake(): void {
    for (const resolve of this.#wakeUps.splice(0)) resolve();
  }

  /** Done, together with what the consumer says because of it. All or nothing for those that it still holds. */
  async ack(named: readonly number[], emitted: readonly Prepared[] = []): Promise<AckOutcome> {
    this.#assertOpen();
    const seqs = [...new Set(named)];
    const held = seqs.flatMap((seq) => this.#leases.get(seq) ?? []);
    const refused = seqs.filter((seq) => !this.#leases.has(seq));
    // What it says belongs to what it did: if a delivery was taken from it, neither counts.
    if (refused.length > 0 && emitted.length > 0) return { acked: [], refused: seqs };
    if (held.length === 0) return { acked: [], refused };
    this.#drop(held);
    const { appends, onCommitted } = emissionsOf(this.#o, emitted);
    try {
      await this.#o.cursor.complete(held, appends, onCommitted);
    } catch (thrown) {
      // A session that has ended meanwhile holds nothing any more: the next one gets them.
      if (this.closed) this.#o.cursor.release(held);
      else this.#leaseAgain(held);
      throw thrown;
    }
    return { acked: held.map(({ seq }) => seq), refused };
  }

  /** It failed there: one try is spent, and what follows it on the same key is taken back. */
  async nack(seq: number, error: string): Promise<"retrying" | "dead" | "refused"> {
    this.#assertOpen();
    const delivery = this.#leases.get(seq);
    if (delivery === undefined) return "refused";
    return this.#fail(delivery, "failed", error);
  }

  /**
   * Gives everything back. `died` says that the consumer vanished: what it was most likely working on, the oldest one,
   * spends a try, so that an event which kills its consumer ends as a dead letter and not as an endless loop.
   */
  async close(reason: OperatingError, died: boolean): Promise<void> {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.wake();
    const left = [...this.#leases.values()].sort((a, b) => a.seq - b.seq);
    const oldest = died ? left[0] : undefined;
    if (oldest !== undefined) await this.#fail(oldest, "failed", `the consumer went away: ${reason.message}`);
    const rest = left.filter(({ seq }) => this.#leases.has(seq));
    this.#drop(rest);
    this.#o.cursor.release(rest);
  }

  /** Somebody speaks to it. */
  #assertOpen(): void {
    this.#heardAt = this.#o.clock.monotonic();
    if (this.#closed !== undefined) throw this.#closed;
  }

  #lease(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#leases.set(delivery.seq, delivery);
    this.#watch();
  }

  /** They were answered and the answer did not count: they stand before what was handed out after them. */
  #leaseAgain(deliveries: readonly Delivery[]): void {
    const later = [...this.#leases.values()];
    this.#leases.clear();
    this.#lease([...deliveries, ...later]);
  }

  #drop(deliveries: readonly Delivery[]): void {
    for (const { seq } of deliveries) this.#leases.delete(seq);
    this.#answered = true;
    this.#watch();
    this.wake();
  }

  /** Whoever works through a batch works on its first one: the others' time begins when that has its answer. */
  #watch(): void {
    const [first] = this.#leases.values();
    if (first === this.#watched) return;
    this.#limit?.end();
    this.#watched = first;
    this.#answered = false;
    this.#limit = first && this.#o.timeLimits.begin(this.#o.leaseMs, () => this.#expire(first));
  }

  #expire(first: Delivery): void {
    const silent = !this.#answered;
    void this.#fail(first, "timeout", `no answer after ${this.#o.leaseMs / 1_000} s`);
    if (!silent) return;
    // Not a word in all that time: the others go back untried, and whoever asks next gets them.
    const rest = [...this.#leases.values()];
    this.#drop(rest);
    this.#o.cursor.release(rest);
  }

  /** Never rejects: while the disk refuses, it tries again, as long as the session lasts. */
  async #fail(delivery: Delivery, kind: Failure["kind"], error: string): Promise<"retrying" | "dead"> {
    // After the last try the key goes on: what follows stays where it is.
    const held = this.#o.cursor.isLastTry(delivery) ? [] : [...this.#leases.values()];
    const behind = held.filter(
      (other) => other.lane === delivery.lane && other.seq > delivery.seq && other.event.orderKey !== null,
    );
    this.#drop([delivery, ...behind]);
    const { cursor, leaseMs: limitMs } = this.#o;
    const isOver = (thrown?: unknown) =>
      this.closed || isOperatingError(thrown, "STORE_CLOSED") || isOperatingError(thrown, "STORE_GONE");
    const outcome = await spendTry(this.#o, cursor, delivery, { kind, error, limitMs }, isOver);
    cursor.release(behind);
    return outcome;
  }

  #ready(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        signal?.removeEventListener("abort", done);
        this.#wakeUps = this.#wakeUps.filter((known) => known !== done);
        resolve();
      };
      const timer = this.#o.clock.after(waitMs, done);
      signal?.addEventListener("abort", done, { once: true });
      this.#wakeUps.push(done);
    });
  }
}
