import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { routerOver } from "../../../test/support/router.ts";
import { defineEvents } from "../../events/index.ts";
import { enforceRetention, trimDedup } from "./retention.ts";

const rows = defineEvents("test", {
  KEPT: { about: "An event.", class: "durable", orderKey: null, payload: { n: z.number() } },
  LARGE: { about: "A large one.", class: "durable", orderKey: null, payload: { text: z.string() } },
  ONCE: { about: "Said once.", class: "durable", orderKey: null, dedup: "content", payload: { n: z.number() } },
});

const world = (maxAttempts = 1) => {
  const { router, store } = routerOver(rows, { maxAttempts });
  onTestFinished(async () => {
    await router.stop();
    await store.close();
  });
  const numbers = (sql: string) => store.read<{ n: number }>(sql).map(({ n }) => n);
  return {
    router,
    store,
    at: (timestamp: number) => router.publish("KEPT", { n: timestamp }, { timestamp }),
    trim: (olderThan: number, maxBytes = Number.MAX_SAFE_INTEGER) =>
      enforceRetention(store, { olderThan, maxBytes, chunk: 2 }),
    kept: () => numbers("SELECT timestamp AS n FROM events ORDER BY seq"),
    deliveries: () => numbers("SELECT seq AS n FROM deliveries ORDER BY seq"),
  };
};

describe("the journal", () => {
  test("lets go of what is older than its time, and not of what is exactly as old, nor of the last", async () => {
    const w = world();
    for (const timestamp of [10, 11, 12, 13, 14, 5]) await w.at(timestamp);
    expect(await w.trim(12)).toMatchObject({ deleted: 2 });
    expect(w.kept()).toEqual([12, 13, 14, 5]);
  });

  test("lets go of the oldest only while it is larger than it may be", async () => {
    const w = world();
    for (const timestamp of [10, 11, 12]) await w.at(timestamp);
    const { bytes } = await w.trim(0);
    expect(await w.trim(0, bytes)).toMatchObject({ deleted: 0 });
    expect(await w.trim(0, bytes - 1)).toMatchObject({ deleted: 2 });
    expect(w.kept()).toEqual([12]);
  });

  test("forgets how deliveries went together with their events, and no sooner", async () => {
    const w = world();
    for (const timestamp of [10, 11, 12, 13]) await w.at(timestamp);
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["KEPT"], start: "earliest" });
    await session.poll(10, 0);
    await session.ack([2, 3]);
    expect(w.deliveries()).toEqual([2, 3]);
    await w.router.forgetConsumer("c");
    await w.trim(12);
    expect(w.kept()).toEqual([12, 13]);
    expect(w.deliveries()).toEqual([3]);
    await w.trim(13);
    expect(w.deliveries()).toEqual([]);
  });

  test("forgets a consumer that has gone with the last event that it was owed, and no sooner", async () => {
    const w = world();
    const ended = () => w.store.read("SELECT end_seq FROM subscriptions WHERE consumer = 'c'");
    const known = () => w.store.read("SELECT low_water FROM consumers WHERE consumer = 'c'");
    for (const timestamp of [10, 11]) await w.at(timestamp);
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["KEPT"], start: "earliest" });
    await session.poll(10, 0);
    await session.ack([1, 2]);
    await w.router.forgetConsumer("c");
    for (const timestamp of [12, 13]) await w.at(timestamp);
    await w.trim(11);
    expect(w.kept()).toEqual([11, 12, 13]);
    expect(ended()).toEqual([{ end_seq: 2 }]);
    expect(known()).toEqual([{ low_water: 2 }]);
    await w.trim(12);
    expect(w.kept()).toEqual([12, 13]);
    expect(ended()).toEqual([]);
    expect(known()).toEqual([]);
  });

  test("keeps what somebody is owed, however old and however large it is", async () => {
    const w = world();
    for (const timestamp of [10, 11, 12, 13]) await w.at(timestamp);
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["KEPT"], start: "earliest" });
    await session.poll(2, 0);
    await session.ack([1]);
    expect(await w.trim(100, 0)).toMatchObject({ deleted: 1 });
    expect(w.kept()).toEqual([11, 12, 13]);
  });

  test.each([
    ["waits for another try", 5],
    ["an unresolved letter is about", 1],
  ])("keeps an event that %s, though its consumer has gone on", async (_, maxAttempts) => {
    const w = world(maxAttempts);
    for (const timestamp of [10, 11, 12, 13]) await w.at(timestamp);
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["KEPT"], start: "earliest" });
    await session.poll(10, 0);
    await session.nack(1, "no");
    await session.ack([2, 3, 4]);
    await w.trim(100);
    expect(w.kept()).toEqual([10, 13]);
  });

  test("lets an event go when the letter about it is resolved", async () => {
    const w = world();
    for (const timestamp of [10, 11]) await w.at(timestamp);
    const session = await w.router.openSession({ consumer: "c", eventTypes: ["KEPT"], start: "earliest" });
    await session.poll(10, 0);
    await session.nack(1, "no");
    await session.ack([2]);
    await w.router.deadLetters.discard({ filter: { consumer: "c" }, actor: "ann" });
    await w.trim(100);
    expect(w.kept()).toEqual([11]);
  });

  test("goes on chunk by chunk until nothing more may go, and says how large it is then", async () => {
    const w = world();
    const text = "x".repeat(20_000);
    for (let timestamp = 1; timestamp <= 8; timestamp += 1) await w.router.publish("LARGE", { text }, { timestamp });
    await w.at(9);
    const { deleted, bytes } = await w.trim(100);
    expect(deleted).toBe(8);
    expect(w.kept()).toEqual([9]);
    const [pages, free, size] = ["page_count", "freelist_count", "page_size"].map((pragma) =>
      Number(Object.values(w.store.read(`PRAGMA ${pragma}`)[0]!)[0]),
    ) as [number, number, number];
    expect(free).toBeGreaterThan(30);
    expect(bytes).toBe((pages - free) * size);
  });

  test("forgets a content whose window is over, and not one that is exactly as old", async () => {
    const w = world();
    for (const timestamp of [10, 11, 12]) await w.router.publish("ONCE", { n: timestamp }, { timestamp });
    expect(await w.store.commit([trimDedup({ before: 11, chunk: 10 })])).toEqual([{ deleted: 1 }]);
    expect(await w.store.commit([trimDedup({ before: 100, chunk: 1 })])).toEqual([{ deleted: 1 }]);
    const again = await w.router.publish("ONCE", { n: 12 }, { timestamp: 13 });
    expect(again.suppressed).toBe("content");
  });
});

test("who gave letters up, or sent them back, which and how many, is on record", async () => {
  const { router, store } = world();
  const session = await router.openSession({ consumer: "c", eventTypes: ["KEPT"], start: "earliest" });
  for (const n of [1, 2, 3]) await router.publish("KEPT", { n });
  for (const { event } of await session.poll(10, 0)) await session.nack(event.seq!, "no");
  expect(await router.deadLetters.retryEvent(1, { actor: "ann" })).toHaveLength(1);
  expect(await router.deadLetters.discard({ filter: { consumer: "c" }, actor: "bob", maxEvents: 1 })).toHaveLength(1);
  await router.deadLetters.discard({ filter: {}, dryRun: true });
  const record = store.read<{ selection: string }>(
    "SELECT actor, action, selection, affected FROM dead_letter_actions ORDER BY id",
  );
  expect(record.map(({ selection, ...rest }) => ({ ...rest, selection: JSON.parse(selection) }))).toEqual([
    { actor: "ann", action: "retry", affected: 1, selection: { id: 1, most: 100 } },
    { actor: "bob", action: "discard", affected: 1, selection: { consumer: "c", most: 1 } },
  ]);
  expect(router.deadLetters.counts()).toMatchObject({ discarded: 1, pending: 1 });
  expect(await router.deadLetters.list({ status: "discarded" })).toMatchObject([{ resolved_by: "bob" }]);
});
