/**
 * Named locks: one holder at a time, for as long as it renews, with a fence that only grows.
 *
 * A lock and its fence are rows; when it lapses is counted here, in time in which this process listened. So a restart or a sleep of this
 * process takes a lock from nobody: everybody has the whole time again. Those who wait do so in memory, in the order in which they asked.
 */
import { type Clock, OperatingError, type Timer } from "../../kernel/index.ts";
import type { EventRouter, Store } from "../../router/index.ts";
import { lockLimits } from "../limits.ts";
import { dropLock, type LockRow, lockLost, storedLocks, takeLock } from "./lock-rows.ts";
import { findRing, type Ring, type Wait } from "./wait-graph.ts";

export const LOCK_STORE = "lock_store";

export interface LockRequest {
  readonly name: string;
  /** Who asks. One who has the lock already gets it again, renewed for the time that it asked for first. */
  readonly holder: string;
  readonly ttlMs: number;
  /** How long it waits if somebody has the lock; 0 is refused at once. */
  readonly waitMs: number;
  /** It will ask again, so that a wait that ran out is no failure yet. */
  readonly asksAgain?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface LockView extends LockRow {
  /** How long it is still theirs; 0 once it has lapsed and only nobody else has asked. */
  readonly left_ms: number;
  readonly waiting: readonly string[];
}

interface Held {
  readonly row: LockRow;
  until: number;
}

interface Waiter extends LockRequest {
  readonly resolve: (row: LockRow) => void;
  readonly reject: (thrown: unknown) => void;
  leave: () => void;
}

export interface LockStoreOptions {
  readonly store: Store;
  readonly router: Pick<EventRouter, "publish">;
  readonly clock: Clock;
  /** Milliseconds in which this process listened. */
  readonly listened: () => number;
  readonly nodeId: string;
}

const isFull = (what: string, max: number) =>
  OperatingError.busy("TOO_MANY_LOCKS", `there are ${max} ${what} already`, {
    hint: "Release locks that are not needed; 'ringrift locks' lists them.",
  });

export class LockStore {
  readonly #ports: LockStoreOptions;
  readonly #held = new Map<string, Held>();
  readonly #queues = new Map<string, Waiter[]>();
  readonly #timers = new Map<string, Timer>();
  readonly #granting = new Set<string>();
  #waiters = 0;
  #closed = false;

  constructor(ports: LockStoreOptions) {
    this.#ports = ports;
    for (const row of storedLocks(ports.store)) this.#held.set(row.name, { row, until: this.#until(row.ttl_ms) });
  }

  /** Resolves with the lock. Throws LOCK_HELD, LOCK_TIMEOUT or DEADLOCK_DETECTED when it is not to be had. */
  async acquire(request: LockRequest): Promise<LockRow> {
    if (this.#closed) throw stopping();
    assertSound(request);
    const { name, holder, waitMs, signal } = request;
    signal?.throwIfAborted();
    const held = this.#held.get(name);
    if (held?.row.holder === holder && !this.#hasLapsed(held)) {
      held.until = this.#until(held.row.ttl_ms);
      return held.row;
    }
    const queue = this.#queues.get(name) ?? [];
    const isFree = queue.length === 0 && this.#isFree(name);
    if (!isFree && waitMs === 0) throw heldBy(name, held?.row);
    if (held === undefined && this.#held.size >= lockLimits.maxHeld) await this.#forgetLapsed();
    if (this.#waiters >= lockLimits.maxWaiting) throw isFull("requests that wait for a lock", lockLimits.maxWaiting);
    const ring = isFree ? undefined : this.#ringClosedBy(request);
    if (ring !== undefined) await this.#refuseRing(name, ring);
    return await new Promise<LockRow>((resolve, reject) => this.#enqueue({ ...request, resolve, reject, leave() {} }));
  }

  /** Holds it for its whole time again. */
  renew({ name, fence }: Pick<LockRow, "name" | "fence">): void {
    const held = this.#held.get(name);
    if (held?.row.fence !== fence) throw lockLost(name);
    held.until = this.#until(held.row.ttl_ms);
  }

  async release({ name, fence }: Pick<LockRow, "name" | "fence">): Promise<void> {
    if (this.#held.get(name)?.row.fence !== fence) throw lockLost(name);
    await this.#drop(name, fence);
  }

  /** Takes it away from whoever has it: what that one does under its fence is refused from now on. */
  async break(name: string): Promise<LockRow> {
    const held = this.#held.get(name);
    if (held === undefined) throw OperatingError.notFound("LOCK_UNKNOWN", `nobody holds a lock '${name}'`);
    await this.#drop(name, held.row.fence);
    return held.row;
  }

  list(): LockView[] {
    return [...this.#held.values()]
      .map(({ row, until }) => ({
        ...row,
        left_ms: Math.max(0, until - this.#ports.listened()),
        waiting: (this.#queues.get(row.name) ?? []).map(({ holder }) => holder),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) timer.cancel();
    for (const waiter of [...this.#queues.values()].flat()) {
      waiter.leave();
      waiter.reject(stopping());
    }
  }

  #until(ttlMs: number): number {
    return this.#ports.listened() + ttlMs;
  }

  #hasLapsed({ until }: Held): boolean {
    return this.#ports.listened() >= until;
  }

  #isFree(name: string): boolean {
    const held = this.#held.get(name);
    return held === undefined || this.#hasLapsed(held);
  }

  /** A lapsed lock that nobody asked for stays where it is until its place is needed. */
  async #forgetLapsed(): Promise<void> {
    const lapsed = [...this.#held.values()].filter((held) => this.#hasLapsed(held));
    if (lapsed.length === 0) throw isFull("locks", lockLimits.maxHeld);
    for (const { row } of lapsed) await this.#drop(row.name, row.fence);
  }

  async #drop(name: string, fence: number): Promise<void> {
    const { store } = this.#ports;
    await store.commit([dropLock({ name, fence })]);
    if (this.#held.get(name)?.row.fence === fence) this.#held.delete(name);
    void this.#grantNext(name);
  }

  #enqueue(waiter: Waiter): void {
    const { name, waitMs, signal } = waiter;
    if (this.#closed || signal?.aborted) {
      waiter.reject(this.#closed ? stopping() : signal?.reason);
      return;
    }
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    queue.push(waiter);
    this.#waiters += 1;
    const onAbort = () => {
      waiter.leave();
      waiter.reject(signal?.reason);
    };
    const timer = waitMs === 0 ? undefined : this.#ports.clock.after(waitMs, () => this.#giveUp(waiter));
    waiter.leave = () => {
      if (!queue.includes(waiter)) return;
      queue.splice(queue.indexOf(waiter), 1);
      if (queue.length === 0) this.#queues.delete(name);
      this.#waiters -= 1;
      timer?.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    void this.#grantNext(name);
  }

  /** Gives the lock to whoever has waited longest, as soon as it is free. One at a time for each name. */
  async #grantNext(name: string): Promise<void> {
    if (this.#granting.has(name)) return;
    this.#granting.add(name);
    try {
      while (!this.#closed) {
        const waiter = this.#queues.get(name)?.[0];
        if (waiter === undefined) return;
        if (!this.#isFree(name)) return this.#lookAgain(name);
        await this.#grant(waiter);
      }
    } finally {
      this.#granting.delete(name);
    }
  }

  async #grant(waiter: Waiter): Promise<void> {
    const { name, holder, ttlMs } = waiter;
    const { store, clock } = this.#ports;
    const over = this.#held.get(name)?.row.fence ?? null;
    try {
      const [row] = await store.commit([
        takeLock({ name, holder, ttl_ms: ttlMs, acquired_at: clock.now(), over }),
      ] as const);
      this.#held.set(name, { row, until: this.#until(ttlMs) });
      const isThere = this.#queues.get(name)?.[0] === waiter;
      waiter.leave();
      if (isThere) return waiter.resolve(row);
      // It went away while the lock was on its way to it.
      await store.commit([dropLock({ name, fence: row.fence })]);
      this.#held.delete(name);
    } catch (thrown) {
      waiter.leave();
      waiter.reject(thrown);
    }
  }

  /** What lapses wakes nobody by itself. */
  #lookAgain(name: string): void {
    this.#timers.get(name)?.cancel();
    const leftMs = Math.max(1, (this.#held.get(name)?.until ?? 0) - this.#ports.listened());
    const look = () => {
      this.#timers.delete(name);
      void this.#grantNext(name);
    };
    this.#timers.set(name, this.#ports.clock.after(leftMs, look));
  }

  #giveUp(waiter: Waiter): void {
    const { name, holder, waitMs, asksAgain } = waiter;
    waiter.leave();
    const held = this.#held.get(name)?.row;
    if (asksAgain === true) {
      waiter.reject(heldBy(name, held));
      return;
    }
    const timeout = {
      lock_name: name,
      requested_by: holder,
      timeout_seconds: waitMs / 1_000,
      node_id: this.#ports.nodeId,
      ...(held === undefined ? {} : { holder: held.holder, held_since_at: held.acquired_at / 1_000 }),
    };
    const refuse = () =>
      waiter.reject(
        OperatingError.busy(
          "LOCK_TIMEOUT",
          `the lock '${name}' was not free within ${waitMs / 1_000} s${byWhom(held)}`,
          {
            details: { holder: held?.holder ?? null },
          },
        ),
      );
    this.#ports.router.publish("LOCK_TIMEOUT", timeout, { source: LOCK_STORE }).then(refuse, waiter.reject);
  }

  #waits(): Wait[] {
    return [...this.#queues].flatMap(([name, queue]) => {
      const holder = this.#held.get(name)?.row.holder;
      const first = holder === undefined ? [] : [holder];
      return queue.map((waiter, i) => ({
        holder: waiter.holder,
        lock: name,
        before: [...first, ...queue.slice(0, i).map((other) => other.holder)],
      }));
    });
  }

  #ringClosedBy({ name, holder }: LockRequest): Ring | undefined {
    const held = this.#held.get(name);
    const before = [
      ...(held === undefined ? [] : [held.row.holder]),
      ...(this.#queues.get(name) ?? []).map((waiter) => waiter.holder),
    ];
    return findRing({ holder, lock: name, before: before.filter((other) => other !== holder) }, this.#waits());
  }

  /** Whoever would close a ring is refused: it is the only one who has not begun to wait. */
  async #refuseRing(name: string, ring: Ring): Promise<never> {
    const told = { lock_name: name, lock_names: ring.map(({ lock }) => lock), holders: ring.map((one) => one.holder) };
    await this.#ports.router.publish("DEADLOCK_DETECTED", told, { source: LOCK_STORE });
    throw deadlock(name, ring);
  }
}

const PRINTABLE = /^\P{C}{1,200}$/u;

function assertSound({ name, holder, ttlMs, waitMs }: LockRequest): void {
  const { minTtlMs, maxMs } = lockLimits;
  const wrong = [
    ...(PRINTABLE.test(name) && PRINTABLE.test(holder) ? [] : ["name and holder need 1 to 200 printable characters"]),
    ...(ttlMs >= minTtlMs && ttlMs <= maxMs ? [] : [`its time must be ${minTtlMs / 1_000} to ${maxMs / 1_000} s`]),
    ...(waitMs >= 0 && waitMs <= maxMs ? [] : [`the wait must be 0 to ${maxMs / 1_000} s`]),
  ];
  if (wrong.length > 0) throw OperatingError.invalid("INVALID_LOCK", `no such lock can be given: ${wrong.join("; ")}`);
}

const stopping = () => OperatingError.unavailable("STOPPING", "the process ends; ask for the lock again");

const byWhom = (held: LockRow | undefined): string => (held === undefined ? "" : `; '${held.holder}' holds it`);

const heldBy = (name: string, held: LockRow | undefined): OperatingError =>
  OperatingError.busy("LOCK_HELD", `the lock '${name}' is taken${byWhom(held)}`, {
    hint: "Ask again later, or say how long to wait.",
    details: { holder: held?.holder ?? null },
  });

const deadlock = (name: string, ring: Ring): OperatingError =>
  OperatingError.conflict(
    "DEADLOCK_DETECTED",
    `waiting for the lock '${name}' would never end: ${ring
      .map(({ holder, lock }, i) => `'${holder}' waits for '${lock}' of '${ring[(i + 1) % ring.length]!.holder}'`)
      .join(", ")}`,
    {
      hint: "Release what you hold, and take locks in the same order everywhere.",
      details: { holders: ring.map(({ holder }) => holder), locks: ring.map(({ lock }) => lock) },
    },
  );
