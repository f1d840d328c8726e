import { expect, onTestFinished, test } from "vitest";
import { driver } from "../../../test/support/virtual-time.ts";
import { inThreadStore, memoryWriter } from "../../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../app/store-modules.ts";
import { virtualClock } from "../../kernel/index.ts";
import type { EventRouter } from "../../router/index.ts";
import { Lock } from "./lock.ts";
import { checkLock } from "./lock-rows.ts";
import { type LockRequest, LockStore } from "./lock-store.ts";

/** A coordinator with its locks, on a clock that only the test moves; what it emits is kept. */
function world() {
  const clock = virtualClock();
  const writer = memoryWriter(storeModules);
  onTestFinished(() => writer.close());
  const emitted: [string, unknown][] = [];
  const router = {
    publish: async (type: string, payload: unknown) => void emitted.push([type, payload]),
  } as unknown as Pick<EventRouter, "publish">;
  let asleepMs = 0;
  const open = () => {
    const store = inThreadStore(writer, { clock });
    const listened = () => clock.monotonic() - asleepMs;
    return { store, locks: new LockStore({ store, router, clock, listened, nodeId: "here" }) };
  };
  const run = driver(clock);
  const wait = (ms: number) => run(new Promise<void>((resolve) => clock.after(ms, resolve)));
  /** Time goes by in which nobody listens. */
  const sleepFor = async (ms: number) => {
    asleepMs += ms;
    await wait(ms);
  };
  return { clock, emitted, open, run, wait, sleepFor, ...open() };
}

const ask = (name: string, holder: string, more: Partial<LockRequest> = {}): LockRequest => ({
  name,
  holder,
  ttlMs: 10_000,
  waitMs: 0,
  ...more,
});

test("one holder has a lock; the next gets it with a larger fence when it is released", async () => {
  const { locks, run } = world();
  const first = await run(locks.acquire(ask("export", "a")));
  await expect(run(locks.acquire(ask("export", "b")))).rejects.toMatchObject({
    code: "LOCK_HELD",
    retryable: true,
    details: { holder: "a" },
  });
  const waiting = locks.acquire(ask("export", "b", { waitMs: 60_000 }));
  expect(locks.list()).toMatchObject([{ name: "export", holder: "a", left_ms: 10_000, waiting: ["b"] }]);
  await run(locks.release(first));
  const second = await run(waiting);
  expect(second).toMatchObject({ holder: "b" });
  expect(second.fence).toBeGreaterThan(first.fence);
  await expect(run(locks.release(first))).rejects.toMatchObject({ code: "LOCK_LOST" });
  expect(() => locks.renew(first)).toThrow(/not yours/);
});

test("those who wait get it in the order in which they asked", async () => {
  const { locks, run } = world();
  let held = await run(locks.acquire(ask("export", "a")));
  const order: string[] = [];
  const waits = ["b", "c", "d"].map((holder) =>
    locks.acquire(ask("export", holder, { waitMs: 60_000 })).then((row) => {
      order.push(holder);
      return row;
    }),
  );
  for (const wait of waits) {
    await run(locks.release(held));
    held = await run(wait);
  }
  expect(order).toEqual(["b", "c", "d"]);
});

test("who asks again for what it has gets the same fence, and its whole time", async () => {
  const { locks, run, wait } = world();
  const first = await run(locks.acquire(ask("export", "a")));
  await wait(6_000);
  expect(await run(locks.acquire(ask("export", "a")))).toEqual(first);
  expect(locks.list()[0]?.left_ms).toBe(10_000);
});

test("a lock lapses when nobody renews it, and goes to whoever waits", async () => {
  const { locks, store, run, wait } = world();
  const first = await run(locks.acquire(ask("export", "a")));
  await wait(6_000);
  locks.renew(first);
  const waiting = locks.acquire(ask("export", "b", { waitMs: 60_000 }));
  await wait(9_000);
  expect(locks.list()).toMatchObject([{ holder: "a", waiting: ["b"] }]);
  const second = await run(waiting);
  expect(second.holder).toBe("b");
  await expect(run(store.commit([checkLock(first)]))).rejects.toMatchObject({ code: "LOCK_LOST" });
  await run(store.commit([checkLock(second)]));
});

test("neither a restart nor a sleep of the coordinator takes a lock from its holder", async () => {
  const { open, locks, run, wait, sleepFor } = world();
  const held = await run(locks.acquire(ask("export", "a")));
  await sleepFor(3_600_000);
  await expect(run(locks.acquire(ask("export", "b")))).rejects.toMatchObject({ code: "LOCK_HELD" });
  await wait(9_000);
  locks.close();
  const { locks: again } = open();
  await wait(9_000);
  await expect(run(again.acquire(ask("export", "b")))).rejects.toMatchObject({ code: "LOCK_HELD" });
  again.renew(held);
  await wait(10_000);
  expect((await run(again.acquire(ask("export", "b")))).fence).toBeGreaterThan(held.fence);
});

test("fences grow over all names, also after a lock was given back", async () => {
  const { locks, run } = world();
  const fences: number[] = [];
  for (const name of ["one", "two", "one", "three", "one"]) {
    const held = await run(locks.acquire(ask(name, "a")));
    fences.push(held.fence);
    await run(locks.release(held));
  }
  expect(fences).toEqual([...new Set(fences)].toSorted((a, b) => a - b));
});

test("a wait that runs out is told with who held the lock; one that will ask again is not", async () => {
  const { locks, run, emitted } = world();
  await run(locks.acquire(ask("export", "a", { ttlMs: 600_000 })));
  await expect(run(locks.acquire(ask("export", "b", { waitMs: 5_000, asksAgain: true })))).rejects.toMatchObject({
    code: "LOCK_HELD",
  });
  expect(emitted).toEqual([]);
  await expect(run(locks.acquire(ask("export", "b", { waitMs: 5_000 })))).rejects.toMatchObject({
    code: "LOCK_TIMEOUT",
    retryable: true,
  });
  expect(emitted).toEqual([
    [
      "LOCK_TIMEOUT",
      expect.objectContaining({
        lock_name: "export",
        requested_by: "b",
        timeout_seconds: 5,
        holder: "a",
        node_id: "here",
      }),
    ],
  ]);
  expect(locks.list()[0]?.waiting).toEqual([]);
});

test("whoever would close a ring is refused, and both holders are named", async () => {
  const { locks, run, emitted } = world();
  await run(locks.acquire(ask("one", "a")));
  const two = await run(locks.acquire(ask("two", "b")));
  const waiting = locks.acquire(ask("two", "a", { waitMs: 60_000 }));
  await expect(run(locks.acquire(ask("one", "b", { waitMs: 60_000 })))).rejects.toMatchObject({
    code: "DEADLOCK_DETECTED",
    retryable: false,
    message: expect.stringMatching(/'b' waits for 'one' of 'a', 'a' waits for 'two' of 'b'/),
  });
  expect(emitted).toEqual([
    ["DEADLOCK_DETECTED", { lock_name: "one", lock_names: ["one", "two"], holders: ["b", "a"] }],
  ]);
  await run(locks.release(two));
  expect((await run(waiting)).holder).toBe("a");
});

test("a waiter that went away, or came too late, leaves the lock to the next", async () => {
  const { locks, run } = world();
  const held = await run(locks.acquire(ask("export", "a")));
  const gone = new AbortController();
  const abandoned = locks.acquire(ask("export", "b", { waitMs: 60_000, signal: gone.signal }));
  const next = locks.acquire(ask("export", "c", { waitMs: 60_000 }));
  const releasing = locks.release(held);
  gone.abort(new Error("gone"));
  await expect(abandoned).rejects.toThrow("gone");
  await run(releasing);
  expect((await run(next)).holder).toBe("c");
});

test("a lock that is taken away is refused to its holder, and the end of the process refuses who waits", async () => {
  const { locks, run } = world();
  const held = await run(locks.acquire(ask("export", "a")));
  await run(locks.break("export"));
  expect(() => locks.renew(held)).toThrow(/not yours/);
  await expect(run(locks.break("export"))).rejects.toMatchObject({ code: "LOCK_UNKNOWN" });
  await run(locks.acquire(ask("export", "b")));
  const waiting = locks.acquire(ask("export", "c", { waitMs: 60_000 }));
  const refused = expect(waiting).rejects.toMatchObject({ code: "STOPPING" });
  locks.close();
  await refused;
});

test("its holder stops to trust a lock before it can be another's", async () => {
  const { clock, locks, run, wait } = world();
  const askedAt = clock.monotonic();
  const lock = new Lock(await run(locks.acquire(ask("export", "a"))), askedAt, locks, clock);
  await wait(9_000);
  lock.renew();
  await wait(9_000);
  expect(lock.signal.aborted).toBe(false);
  await wait(1_000);
  expect(lock.signal.aborted).toBe(true);
  expect(() => lock.renew()).toThrow(/not yours/);
  await using other = new Lock(await run(locks.acquire(ask("export", "b"))), clock.monotonic(), locks, clock);
  await run(lock[Symbol.asyncDispose]());
  expect(other.signal.aborted).toBe(false);
});
