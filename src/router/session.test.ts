import { afterEach, describe, expect, test } from "vitest";
import { routerOver } from "../../test/support/router.ts";
import { memoryStore } from "../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../app/store-modules.ts";
import { builtinRows } from "../events/index.ts";
import { systemClock } from "../kernel/index.ts";
import type { EventRouter, Store } from "./index.ts";
import { countPairs } from "./journal/queries.ts";

const open: EventRouter[] = [];
const fresh = (store?: Store) => {
  const { router } = store === undefined ? routerOver(builtinRows) : routerOver(builtinRows, {}, store);
  open.push(router as unknown as EventRouter);
  return router;
};
afterEach(async () => {
  for (const router of open.splice(0)) {
    await router.stop();
    await router.store.close();
  }
});

const request = { consumer: "outside", eventTypes: ["NEW_GAMES_AVAILABLE"], start: "earliest" as const };
const publish = (router: ReturnType<typeof fresh>, config_key: string, total_games: number) =>
  router.publish("NEW_GAMES_AVAILABLE", { config_key, new_games: 1, total_games } as never);
const seqs = (batch: { event: { seq: number | null } }[]) => batch.map(({ event }) => event.seq);

describe("a session", () => {
  test("gets what it is owed in order, and what it acks never comes again", async () => {
    const router = fresh();
    for (let n = 0; n < 4; n += 1) await publish(router, "a_2p", n);
    const session = await router.openSession(request);
    expect(seqs(await session.poll(10, 0))).toEqual([1, 2, 3, 4]);
    expect(await session.ack([1, 2])).toEqual({ acked: [1, 2], refused: [] });
    await router.closeSession(session, false);
    const next = await router.openSession(request);
    expect(seqs(await next.poll(10, 0))).toEqual([3, 4]);
  });

  test("that is lost spends a try of the oldest it held, and of no other", async () => {
    const router = fresh();
    for (const config_key of ["a_2p", "b_2p"]) await publish(router, config_key, 1);
    const session = await router.openSession(request);
    await session.poll(10, 0);
    await router.closeSession(session, true);
    const next = await router.openSession(request);
    const attempts = new Map<number | null, number>();
    while (attempts.size < 2)
      for (const { event, attempt } of await next.poll(10, 1_000)) attempts.set(event.seq, attempt);
    expect([...attempts].sort()).toEqual([
      [1, 2],
      [2, 1],
    ]);
  });

  test("takes back what follows a failed event on its key, and refuses their acks", async () => {
    const router = fresh();
    for (let n = 0; n < 3; n += 1) await publish(router, "a_2p", n);
    await publish(router, "b_2p", 9);
    const session = await router.openSession(request);
    await session.poll(10, 0);
    expect(await session.nack(1, "not yet")).toBe("retrying");
    expect(await session.ack([2, 4])).toEqual({ acked: [4], refused: [2] });
    const again: (number | null)[] = [];
    while (again.length < 3) again.push(...seqs(await session.poll(10, 1_000)));
    expect(again).toEqual([1, 2, 3]);
  });

  test("that was replaced is told so, and not that it may come back", async () => {
    const router = fresh();
    const first = await router.openSession(request);
    const second = await router.openSession(request);
    expect(() => router.session("outside", first.id)).toThrow(expect.objectContaining({ code: "SESSION_REPLACED" }));
    expect(router.session("outside", second.id)).toBe(second);
    expect(() => router.session("nobody", first.id)).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });

  test("opened twice at once leaves one cursor, which delivers once", async () => {
    const router = fresh();
    await publish(router, "a_2p", 1);
    const both = await Promise.all([router.openSession(request), router.openSession(request)]);
    const current = both.find((session) => !session.closed)!;
    expect(both.filter((session) => session.closed)).toHaveLength(1);
    const [first] = await current.poll(10, 1_000);
    await current.ack([first!.event.seq!]);
    expect(await current.poll(10, 0)).toEqual([]);
    expect(countPairs(router.store)).toEqual([{ consumer: "outside", state: "done", pairs: 1 }]);
  });

  test("whose ack was on its way when the connection broke does not get that delivery again", async () => {
    const bare = memoryStore(storeModules, systemClock());
    let before: Promise<unknown> = Promise.resolve();
    const late: Store = {
      read: bare.read,
      scan: bare.scan,
      fault: null,
      onFault: () => {},
      close: bare.close,
      commit(operations) {
        const mine = before.then(() => new Promise((turn) => setImmediate(turn))).then(() => bare.commit(operations));
        before = mine.catch(() => undefined);
        return mine;
      },
    };
    const router = fresh(late);
    for (let n = 0; n < 2; n += 1) await publish(router, "a_2p", n);
    const session = await router.openSession(request);
    await session.poll(10, 1_000);
    const acking = session.ack([1], [router.prepare("MY_WORD", { n: 1 })]);
    await router.closeSession(session, true);
    expect(await acking).toEqual({ acked: [1], refused: [] });
    const next = await router.openSession(request);
    expect(seqs(await next.poll(10, 2_000))).toEqual([2]);
  });
});

test("events that lack a field of their dedup key are never taken for repeats", async () => {
  const router = fresh();
  const first = await router.publish("PRIORITY_SYNC_COMPLETED", { config_key: "a_2p" });
  const second = await router.publish("PRIORITY_SYNC_COMPLETED", { config_key: "b_2p" });
  expect([first.suppressed, second.suppressed]).toEqual([null, null]);
});

test("when an event has settled, what its handler said is in the history", async () => {
  const router = fresh();
  await router.consume({
    consumer: "answering",
    handlers: { NEW_GAMES_AVAILABLE: (_event, { emit }) => void emit("MY_ANSWER", { n: 1 }) },
  });
  for (let n = 0; n < 20; n += 1) {
    await router.settled(await publish(router, "a_2p", n));
    expect(router.history({ eventType: "MY_ANSWER" })).toHaveLength(n + 1);
  }
});
