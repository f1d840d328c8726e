import { type Clock, isOperatingError, type Timer } from "../../kernel/index.ts";
import { checkLock, type LockCheck, type LockRow, lockLost } from "./lock-rows.ts";
import type { LockStore } from "./lock-store.ts";

export interface LockOptions {
  /** How long it is yours without a renewal, in milliseconds. */
  readonly ttlMs: number;
  /** How long to wait for whoever has it; 30 s by default, and 0 asks once. */
  readonly waitMs?: number;
  /** Who you are to others that wait; a ring of holders is found by these names. A new name for each lock by default. */
  readonly holder?: string;
  readonly signal?: AbortSignal;
}

/** A lock in the hands of its holder. */
export class Lock implements AsyncDisposable {
  readonly name: string;
  readonly holder: string;
  /** Give it to whatever you protect: who comes with a smaller one than was seen before is late. */
  readonly fence: number;
  readonly #store: Pick<LockStore, "renew" | "release">;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  #timer: Timer | undefined;

  constructor(row: LockRow, askedAt: number, store: Pick<LockStore, "renew" | "release">, clock: Clock) {
    this.name = row.name;
    this.holder = row.holder;
    this.fence = row.fence;
    this.#ttlMs = row.ttl_ms;
    this.#store = store;
    this.#clock = clock;
    this.#trustFrom(askedAt);
  }

  /** Aborts once the lock may belong to somebody else. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Part of a commit that must count only while the lock is held: `rows.apply(lock.check())`. */
  check(): LockCheck {
    return checkLock({ name: this.name, fence: this.fence });
  }

  /** Holds it for its whole time again; throws LOCK_LOST if it is somebody else's. */
  renew(): void {
    this.#lost.signal.throwIfAborted();
    const askedAt = this.#clock.monotonic();
    this.#store.renew(this);
    this.#trustFrom(askedAt);
  }

  async release(): Promise<void> {
    this.#timer?.cancel();
    await this.#store.release(this);
    this.#lose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // One that is somebody else's by now needs no release; the fence has told whoever had to know.
    await this.release().catch((thrown: unknown) => {
      if (!isOperatingError(thrown, "LOCK_LOST")) throw thrown;
    });
  }

  /** Counted from before the question was asked, so that it ends here before it ends there. */
  #trustFrom(askedAt: number): void {
    this.#timer?.cancel();
    const leftMs = askedAt + this.#ttlMs - this.#clock.monotonic();
    this.#timer = this.#clock.after(leftMs, () => this.#lose());
  }

  #lose(): void {
    if (!this.#lost.signal.aborted) this.#lost.abort(lockLost(this.name));
  }
}
