/**
 * A million operations under one of a few locks, by holders that vanish, stop for a while and go on, while the coordinator restarts. Each
 * operation carries its fence to a register that refuses a smaller one than it has seen, as whatever a lock protects should. Chapters are
 * kept in a book, so that a run goes on with the world after the last one, and counts add up.
 */
import { inThreadStore, memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { Lock } from "../../src/cluster/locks/lock.ts";
import { LockStore } from "../../src/cluster/locks/lock-store.ts";
import { type Clock, isOperatingError, pick, seededRandom, virtualClock } from "../../src/kernel/index.ts";
import type { EventRouter } from "../../src/router/index.ts";
import { type BookOptions, soakBook } from "../support/soak-book.ts";
import { breathe } from "../support/virtual-time.ts";

export const about = "a million fenced operations under locks, with kills: no two holders at once";

export interface LocksOptions extends BookOptions {
  /** How many this run adds. */
  readonly operations?: number;
}
export const tiny: LocksOptions = { operations: 2_000, unbooked: true };

/** Operations of one world. */
const CHAPTER = 50_000;

const NOTHING = { worlds: 0, operations: 0, refused: 0, overlaps: 0, doubles: 0, kills: 0, restarts: 0 };
type Book = typeof NOTHING;

const NAMES = ["one", "two", "three"];
const HOLDERS = 8;
const TTL_MS = 1_000;

/** What a lock protects. */
class Register {
  #newest = 0;
  #holder: string | undefined;
  done = 0;
  stale = 0;
  overlaps = 0;

  write(holder: string, fence: number): boolean {
    if (fence < this.#newest) {
      this.stale += 1;
      return false;
    }
    if (fence === this.#newest && this.#holder !== holder) this.overlaps += 1;
    this.#newest = fence;
    this.#holder = holder;
    this.done += 1;
    return true;
  }
}

async function world(operations: number, seed: number): Promise<Book> {
  const base = virtualClock();
  const random = seededRandom(seed);
  const writer = memoryWriter(storeModules);
  const store = inThreadStore(writer, { clock: base });
  const router = { publish: async () => {} } as unknown as Pick<EventRouter, "publish">;
  const registers = new Map(NAMES.map((name) => [name, new Register()]));
  const sum = (of: (register: Register) => number) => [...registers.values()].reduce((all, one) => all + of(one), 0);
  const open = () => new LockStore({ store, router, clock: base, listened: () => base.monotonic(), nodeId: "here" });
  let locks = open();
  let restarts = 0;
  let kills = 0;
  /** Two that both believe to hold the same lock, at one moment. */
  let doubles = 0;
  const believing = new Map<string, Lock>();

  const restart = () => {
    restarts += 1;
    locks.close();
    locks = open();
    base.after(5_000 + pick(random, 20_000), restart);
  };
  base.after(5_000, restart);

  const live = (n: number, life: number): void => {
    const holder = `${n}.${life}`;
    let isDead = false;
    const clock: Clock = { ...base, after: (ms, work) => base.after(ms, () => (isDead ? undefined : work())) };
    const die = () => {
      isDead = true;
      kills += 1;
      clearBelief();
      base.after(pick(random, 3_000), () => live(n, life + 1));
    };
    let held: Lock | undefined;
    const clearBelief = () => {
      if (held !== undefined && believing.get(held.name) === held) believing.delete(held.name);
    };
    const work = (lock: Lock, left: number) => {
      if (lock.signal.aborted) {
        clearBelief();
        // One that does not look at its signal: the register must refuse it, or nobody else has had the lock since.
        registers.get(lock.name)!.write(holder, lock.fence);
        return clock.after(pick(random, 50), ask);
      }
      const other = believing.get(lock.name);
      if (other !== undefined && other !== lock && !other.signal.aborted) doubles += 1;
      believing.set(lock.name, lock);
      for (let i = 0; i < 20; i += 1) registers.get(lock.name)!.write(holder, lock.fence);
      const luck = random.next();
      if (luck < 0.01) return die();
      // It stops for a while, maybe for longer than the lock is its own.
      if (luck < 0.02) return clock.after(pick(random, 3 * TTL_MS), () => work(lock, left - 1));
      if (luck < 0.1 && !lock.signal.aborted) {
        try {
          lock.renew();
        } catch (thrown) {
          if (!isOperatingError(thrown, "LOCK_LOST")) throw thrown;
        }
      }
      if (left > 0) return clock.after(1 + pick(random, 20), () => work(lock, left - 1));
      clearBelief();
      void lock.release().then(
        () => clock.after(pick(random, 50), ask),
        () => clock.after(pick(random, 50), ask),
      );
    };
    const ask = () => {
      const name = NAMES[pick(random, NAMES.length)]!;
      const askedAt = base.monotonic();
      const current = locks;
      current.acquire({ name, holder, ttlMs: TTL_MS, waitMs: 500 + pick(random, 2_000) }).then(
        (row) => {
          // Who died while it was asked for never hears of it.
          if (isDead) return;
          const store = { renew: (of: Lock) => locks.renew(of), release: (of: Lock) => locks.release(of) };
          held = new Lock(row, askedAt, store, clock);
          work(held, 5 + pick(random, 10));
        },
        () => clock.after(pick(random, 100), ask),
      );
    };
    clock.after(pick(random, 100), ask);
  };
  for (let n = 0; n < HOLDERS; n += 1) live(n, 1);
  while (sum(({ done }) => done) < operations) {
    base.step();
    await breathe();
  }
  locks.close();
  writer.close();
  const overlaps = sum(({ overlaps: found }) => found);
  const done = sum((register) => register.done);
  return { worlds: 1, operations: done, refused: sum(({ stale }) => stale), overlaps, doubles, kills, restarts };
}

export async function run({ operations = 1_000_000, anew = false, unbooked = false }: LocksOptions = {}) {
  const { before, keep } = soakBook("locks", NOTHING, { anew, unbooked });
  let total = before;
  let added = 0;
  while (added < operations) {
    const seed = total.worlds + 1;
    const found = await world(Math.min(CHAPTER, operations - added), seed);
    if (found.overlaps > 0 || found.doubles > 0)
      throw new Error(
        `world ${seed}: ${found.overlaps} overlaps, ${found.doubles} times two believed to hold one lock`,
      );
    added += found.operations;
    total = Object.fromEntries(Object.entries(found).map(([key, n]) => [key, n + total[key as keyof Book]])) as Book;
    keep(total);
  }
  return { ok: true, added, total };
}
