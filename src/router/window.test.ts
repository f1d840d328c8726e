import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { PATIENT } from "../../test/support/patience.ts";
import { routerOver } from "../../test/support/router.ts";
import { memoryStore } from "../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../app/store-modules.ts";
import { builtinRows, defineEvents } from "../events/index.ts";
import { OperatingError, sumOf, systemClock } from "../kernel/index.ts";
import type { RouterSettings, Store } from "./index.ts";
import { CONSUMER_BYTES, CONSUMERS_BYTES, HISTORY_BYTES } from "./limits.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("test", {
    STEP: { about: "A step.", class: "durable", orderKey: "key", payload: { key: z.string(), n: z.number() } },
    LOOSE: { about: "Without order.", class: "durable", orderKey: null, payload: { n: z.number() } },
  }),
};

/** A router over a store whose commits and reads a test may hold back. */
function world(settings: Partial<RouterSettings> = {}) {
  const bare = memoryStore(storeModules, systemClock());
  const trouble = {
    answer: async (): Promise<void> => {},
    blind: false,
    triedToRead: false,
    looked: () => {},
    payloadBytes: 0,
    rows: 0,
  };
  const store: Store = {
    ...bare,
    fault: null,
    async commit(operations) {
      const answer = trouble.answer();
      const results = await bare.commit(operations);
      await answer;
      return results;
    },
    read(sql, ...params) {
      trouble.triedToRead = true;
      trouble.looked();
      if (trouble.blind) throw OperatingError.unavailable("STORE_IO", "the disk failed");
      const found = bare.read<{ payload?: unknown }>(sql, ...params);
      trouble.rows += found.length;
      trouble.payloadBytes += sumOf(found, ({ payload }) => (typeof payload === "string" ? payload.length : 0));
      return found as never;
    },
  };
  const { router } = routerOver(rows, settings, store);
  onTestFinished(async () => {
    await router.stop();
    await bare.close();
  });
  return { router, store: bare, trouble };
}

/** All in one commit. */
const inOneCommit = ({ router }: ReturnType<typeof world>, type: "STEP" | "LOOSE", numbers: readonly number[]) =>
  router.transact({ source: "test" }, ({ emit }) => {
    for (const n of numbers) emit(type, type === "STEP" ? { key: `k${n % 2}`, n } : { n });
  });
const upTo = (end: number) => Array.from({ length: end }, (_, n) => n);

test("a place that becomes free costs one row, not a look at all that waits", async () => {
  const w = world({ window: 4 });
  const heard: number[] = [];
  const handlers = { LOOSE: ({ payload }: { payload: { n?: unknown } }) => void heard.push(Number(payload.n)) };
  await w.router.consume({ consumer: "c", handlers, concurrency: 1 });
  w.trouble.rows = 0;
  await inOneCommit(w, "LOOSE", upTo(100));
  await expect.poll(() => heard, PATIENT).toEqual(upTo(100));
  // A head and a payload for each, and some looks in vain.
  expect(w.trouble.rows).toBeLessThan(400);
});

test("a long way through what others want takes few looks, and not all of them in one turn", async () => {
  const w = world({ window: 1 });
  const heard: unknown[] = [];
  const first = Promise.withResolvers<void>();
  await w.router.consume({
    consumer: "c",
    handlers: {
      STEP: async ({ payload }) => {
        heard.push(payload.n);
        if (payload.n === 1) await first.promise;
      },
    },
  });
  for (const n of [1, 2]) await w.router.publish("STEP", { key: "k", n });
  const FOREIGN = 20_000;
  for (let from = 0; from < FOREIGN; from += 500) await inOneCommit(w, "LOOSE", upTo(500));
  await w.router.publish("STEP", { key: "k", n: 3 });
  let [looks, turns, sinceTurn, most] = [0, 0, 0, 0];
  w.trouble.looked = () => {
    looks += 1;
    sinceTurn += 1;
    most = Math.max(most, sinceTurn);
  };
  const ticking = setInterval(() => {
    turns += 1;
    sinceTurn = 0;
  });
  onTestFinished(() => clearInterval(ticking));
  first.resolve();
  await expect.poll(() => heard, PATIENT).toEqual([1, 2, 3]);
  expect(looks).toBeLessThan(FOREIGN / 100);
  expect(turns).toBeGreaterThan(1);
  expect(most).toBeLessThan(60);
});

describe("large events", () => {
  const text = "x".repeat(900_000);
  const large = (w: ReturnType<typeof world>, count: number) =>
    Promise.all(upTo(count).map((n) => w.router.publish("LOOSE", { n, text })));

  test("too many for the memory of one are not read from the journal by those that do not want them", async () => {
    const w = world();
    const heard: unknown[] = [];
    for (let n = 0; n < 5; n += 1)
      await w.router.consume({
        consumer: `other-${n}`,
        handlers: { STEP: ({ payload }) => void heard.push(payload.n) },
      });
    await w.router.transact({ source: "test" }, ({ emit }) => {
      for (const n of upTo(12)) emit("LOOSE", { n, text });
      emit("STEP", { key: "k", n: 1 });
    });
    await expect.poll(() => heard, PATIENT).toEqual([1, 1, 1, 1, 1]);
    expect(w.trouble.payloadBytes).toBe(0);
  });

  test("are with a consumer of another process up to so many bytes, however many it asks for, and all in the end", async () => {
    const w = world();
    await large(w, 30);
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["LOOSE"], start: "earliest" });
    const seen: unknown[] = [];
    while (seen.length < 30) {
      const batch = await session.poll(1_000, 0);
      expect((batch.length - 1) * text.length).toBeLessThanOrEqual(CONSUMER_BYTES);
      expect(batch).not.toEqual([]);
      expect(await session.poll(1_000, 0)).toEqual([]);
      await session.ack(batch.map(({ event }) => event.seq!));
      seen.push(...batch.map(({ event }) => event.payload.n));
    }
    expect(seen).toEqual(upTo(30));
  });

  test("are with all consumers together up to so many bytes, and each gets one in any case", async () => {
    const w = world();
    await large(w, 10);
    const names = upTo(20);
    const batches = [];
    for (const n of names) {
      const session = await w.router.openSession({ consumer: `c${n}`, eventTypes: ["LOOSE"], start: "earliest" });
      batches.push(await session.poll(1_000, 0));
    }
    const held = sumOf(batches, (batch) => batch.length) * text.length;
    expect(held).toBeLessThanOrEqual(CONSUMERS_BYTES + names.length * text.length);
    for (const batch of batches) expect(batch).not.toEqual([]);
  });

  test("reach who asks for more while it holds one, as soon as others have let go of theirs", async () => {
    const w = world();
    await large(w, 10);
    const held = [];
    for (const n of upTo(20)) {
      const session = await w.router.openSession({ consumer: `c${n}`, eventTypes: ["LOOSE"], start: "earliest" });
      held.push({ session, batch: await session.poll(1_000, 0) });
    }
    const { session: last, batch } = held.pop()!;
    expect(batch).toHaveLength(1);
    expect(await last.poll(1_000, 0)).toEqual([]);
    for (const each of held) await each.session.ack(each.batch.map(({ event }) => event.seq!));
    expect((await last.poll(1_000, 0)).map(({ event }) => event.payload.n)).toEqual(upTo(10).slice(1));
  });

  test("are kept for the history up to so many bytes, the newest", async () => {
    const w = world();
    await large(w, 60);
    const kept = w.router.history({ eventType: "LOOSE" }).map(({ payload }) => payload.n as number);
    expect(kept.length * text.length).toBeLessThanOrEqual(HISTORY_BYTES);
    expect(kept.at(-1)).toBe(59);
  });
});

describe("one commit with more events than a consumer has free places", () => {
  test.each([1, 2, 3, 10, 11])("reaches it whole, and in order on each key, through a window of %i", async (window) => {
    const w = world({ window, concurrency: 2 });
    const seen: number[] = [];
    await w.router.consume({ consumer: "c", handlers: { STEP: ({ payload }) => void seen.push(payload.n as number) } });
    await inOneCommit(w, "STEP", upTo(10));
    await expect.poll(() => seen.length, PATIENT).toBe(10);
    for (const key of [0, 1]) expect(seen.filter((n) => n % 2 === key)).toEqual(upTo(10).filter((n) => n % 2 === key));
    await expect.poll(() => w.router.idle, PATIENT).toBe(true);
  });

  test("is not stopped by slow ones that fill the window: they are written down, and the others come", async () => {
    const w = world({ window: 4, concurrency: 16 });
    const slow = new Set([0, 1, 4, 5]);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const seen: number[] = [];
    const handle = async ({ payload: { n } }: { payload: Readonly<Record<string, unknown>> }) => {
      if (slow.has(n as number)) await end;
      seen.push(n as number);
    };
    await w.router.consume({ consumer: "c", handlers: { LOOSE: handle } });
    await inOneCommit(w, "LOOSE", upTo(10));
    await expect.poll(() => seen.toSorted(), PATIENT).toEqual([2, 3, 6, 7, 8, 9]);
    resolve();
    await expect.poll(() => seen.toSorted(), PATIENT).toEqual(upTo(10));
  });

  test("is not taken into memory past the window of a consumer that is there already", async () => {
    const w = world({ window: 4 });
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["LOOSE"], start: "earliest" });
    await inOneCommit(w, "LOOSE", upTo(10));
    const poll = async () => (await session.poll(10, 0)).map(({ event }) => event.seq!);
    expect(await poll()).toEqual([1, 2, 3, 4]);
    expect(await poll()).toEqual([]);
  });

  test("reaches a consumer of another process that asks for more while it holds slow ones", async () => {
    const w = world({ window: 4 });
    await inOneCommit(w, "LOOSE", upTo(10));
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["LOOSE"], start: "earliest" });
    const poll = async (max: number) => (await session.poll(max, 3_600_000)).map(({ event }) => event.seq!);
    expect(await poll(10)).toEqual([1, 2, 3, 4]);
    await session.ack([3, 4]);
    expect(await poll(2)).toEqual([5, 6]);
    expect(await poll(10)).toEqual([7, 8, 9, 10]);
  });
});

describe("events that were committed in another order than their commits were noticed in", () => {
  const heard = ({ router }: ReturnType<typeof world>) => {
    const seen: number[] = [];
    router.subscribe("LOOSE", ({ payload }) => void seen.push(payload.n));
    return seen;
  };

  test("reach everybody in the order of the journal, once", async () => {
    const w = world();
    const seen = heard(w);
    const { promise: first, resolve } = Promise.withResolvers<void>();
    w.trouble.answer = () => first;
    const late = w.router.publish("LOOSE", { n: 1 });
    w.trouble.answer = async () => {};
    const early = w.router.publish("LOOSE", { n: 2 });
    await early;
    await expect.poll(() => seen, PATIENT).toEqual([1, 2]);
    resolve();
    await late;
    await w.router.publish("LOOSE", { n: 3 });
    expect(seen).toEqual([1, 2, 3]);
  });

  test("wait for each other a moment before the journal is asked", async () => {
    const w = world();
    const seen = heard(w);
    const { promise: first, resolve } = Promise.withResolvers<void>();
    w.trouble.answer = () => first;
    const late = w.router.publish("LOOSE", { n: 1 });
    w.trouble.answer = async () => {};
    const early = w.router.publish("LOOSE", { n: 2 });
    await early;
    expect(seen).toEqual([]);
    w.trouble.blind = true;
    resolve();
    await late;
    expect(seen).toEqual([1, 2]);
  });

  test("are found by whoever reads on, though somebody else appended them", async () => {
    const w = world();
    const seen = heard(w);
    const { router: other } = routerOver(rows, {}, w.store);
    for (const n of [1, 2, 3]) await other.publish("LOOSE", { n }, { eventId: `of-the-other-${n}` });
    expect(seen).toEqual([]);
    await w.router.publish("LOOSE", { n: 4 });
    await expect.poll(() => seen, PATIENT).toEqual([1, 2, 3, 4]);
    await other.stop();
  });

  test("come later while the journal cannot be read", async () => {
    const w = world();
    const seen = heard(w);
    const { router: other } = routerOver(rows, {}, w.store);
    await other.publish("LOOSE", { n: 1 }, { eventId: "of-the-other" });
    await other.stop();
    Object.assign(w.trouble, { blind: true, triedToRead: false });
    await w.router.publish("LOOSE", { n: 2 });
    await w.router.publish("LOOSE", { n: 3 });
    await expect.poll(() => w.trouble.triedToRead, PATIENT).toBe(true);
    expect(seen).toEqual([]);
    w.trouble.blind = false;
    await expect.poll(() => seen, PATIENT).toEqual([1, 2, 3]);
  });
});
