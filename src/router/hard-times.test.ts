import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { memoryStore } from "../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../app/store-modules.ts";
import { builtinRows, createCatalog, defineEvents } from "../events/index.ts";
import { OperatingError, seededRandom, silentLog, virtualClock } from "../kernel/index.ts";
import {
  defineTable,
  EventRouter,
  enforceRetention,
  type Operation,
  type RouterSettings,
  type Store,
} from "./index.ts";
import { countPairs } from "./journal/queries.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("test", {
    STEP: { about: "A step.", class: "durable", orderKey: "key", payload: { key: z.string(), n: z.number() } },
    LOOSE: { about: "Without order.", class: "durable", orderKey: null, payload: { n: z.number() } },
    SAID: { about: "An answer.", class: "durable", orderKey: null, payload: { n: z.number() } },
  }),
};

const counts = defineTable<{ n: number }>("counts");

/** A router whose time only the test moves, over a store that can be told to refuse. */
const world = (settings: Partial<RouterSettings> = {}) => {
  const clock = virtualClock();
  const bare = memoryStore(storeModules, clock);
  const trouble = {
    refuses: (_operations: readonly Operation[]): boolean => false,
    blind: (_sql: string): boolean => false,
  };
  const refusal = () => OperatingError.unavailable("STORE_IO", "the disk failed");
  const store: Store = {
    ...bare,
    fault: null,
    commit: (operations) => (trouble.refuses(operations) ? Promise.reject(refusal()) : bare.commit(operations)),
    read: (sql, ...params) => {
      if (trouble.blind(sql)) throw refusal();
      return bare.read(sql, ...params);
    },
  };
  const router = new EventRouter({
    catalog: createCatalog(rows),
    store,
    clock,
    random: seededRandom(1),
    log: silentLog(),
    nodeId: "n",
    settings,
  });
  const turns = async (most: number) => {
    for (let i = 0; i < most; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Lets so much time pass. */
  const pass = async (ms: number) => {
    const mark = { reached: false };
    clock.after(ms, () => {
      mark.reached = true;
    });
    while (!mark.reached) {
      await turns(3);
      clock.step();
    }
    await turns(3);
  };
  onTestFinished(async () => {
    const stopped = router.stop();
    await pass(20_000);
    await stopped;
    await bare.close();
  });
  return { router, store: bare, trouble, pass, turns, clock };
};
const gate = () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};
const ofOp = (op: string) => (operations: readonly Operation[]) => operations.some((one) => one.op === op);
const outside = { consumer: "outside", eventTypes: ["STEP", "LOOSE"], start: "earliest" as const };
const seqs = (batch: { event: { seq: number | null } }[]) => batch.map(({ event }) => event.seq);

describe("a consumer that works through a batch one by one", () => {
  test("has the whole time limit for each event, however long the line is", async () => {
    const { router, pass } = world();
    for (let n = 0; n < 4; n += 1) await router.publish("LOOSE", { n });
    const session = await router.openSession({ ...outside, leaseMs: 1_000 });
    for (const seq of seqs(await session.poll(10, 0))) {
      await pass(600);
      expect(await session.ack([seq!])).toEqual({ acked: [seq], refused: [] });
    }
  });

  test("that falls silent loses one try, of what it was working on, and gives back the rest", async () => {
    const { router, pass } = world();
    for (let n = 0; n < 4; n += 1) await router.publish("LOOSE", { n });
    const session = await router.openSession({ ...outside, leaseMs: 1_000 });
    await session.poll(10, 0);
    await pass(600);
    await session.ack([1]);
    await pass(3_000);
    const again = new Map((await session.poll(10, 0)).map(({ event, attempt }) => [event.seq, attempt]));
    expect([...again].sort()).toEqual([
      [2, 2],
      [3, 1],
      [4, 1],
    ]);
  });

  test("one of which hangs while others are answered loses that one at its limit", async () => {
    const { router, pass } = world();
    for (let n = 0; n < 6; n += 1) await router.publish("LOOSE", { n });
    const session = await router.openSession({ ...outside, leaseMs: 1_000 });
    await session.poll(10, 0);
    for (const seq of [2, 3, 4]) {
      await pass(400);
      expect((await session.ack([seq])).acked).toEqual([seq]);
    }
    expect((await session.ack([1])).refused).toEqual([1]);
    expect((await session.ack([5, 6])).acked).toEqual([5, 6]);
  });
});

describe("a session", () => {
  test("takes an ack that names a delivery twice for one", async () => {
    const { router } = world();
    await router.publish("LOOSE", { n: 1 });
    const session = await router.openSession(outside);
    await session.poll(10, 0);
    expect(await session.ack([1, 1])).toEqual({ acked: [1], refused: [] });
    expect(router.idle).toBe(true);
  });

  test("that was replaced while the disk refused its nack does not undo what the next one did", async () => {
    const { router, store, trouble, pass } = world();
    await router.publish("LOOSE", { n: 1 });
    const first = await router.openSession(outside);
    await first.poll(10, 0);
    trouble.refuses = ofOp("journal.fail");
    void first.nack(1, "no");
    await pass(10);
    const second = await router.openSession(outside);
    expect(seqs(await second.poll(10, 0))).toEqual([1]);
    await second.ack([1]);
    trouble.refuses = () => false;
    await pass(10_000);
    expect(countPairs(store)).toEqual([{ consumer: "outside", state: "done", pairs: 1 }]);
  });

  test("whose ack the disk refused after it was replaced leaves nothing behind", async () => {
    const { router, store, trouble, pass, turns } = world();
    await router.publish("LOOSE", { n: 1 });
    const first = await router.openSession({ ...outside, leaseMs: 1_000 });
    await first.poll(10, 0);
    trouble.refuses = ofOp("journal.ack");
    const acking = first.ack([1]).catch(() => undefined);
    const second = router.openSession(outside);
    await acking;
    trouble.refuses = () => false;
    await turns(5);
    expect(seqs(await (await second).poll(10, 0))).toEqual([1]);
    await (await second).ack([1]);
    await pass(20_000);
    expect(countPairs(store)).toEqual([{ consumer: "outside", state: "done", pairs: 1 }]);
  });

  test("that nobody speaks to any more ends, so that its consumer can expire", async () => {
    const { router, store, pass } = world();
    const session = await router.openSession(outside);
    await session.poll(1, 0);
    const seen = () => store.read<{ at: number }>("SELECT last_seen_at AS at FROM consumers")[0]!.at;
    await pass(30_000);
    await router.flushMarks();
    const early = seen();
    for (let hours = 0; hours < 3; hours += 1) {
      await pass(3_600_001);
      await router.flushMarks();
    }
    const late = seen();
    await pass(3_600_000);
    await router.flushMarks();
    expect(seen()).toBe(late);
    expect(late).toBeGreaterThanOrEqual(early);
    expect(session.closed).toBe(true);
    expect(() => router.session("outside", session.id)).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });
});

describe("a consumer of this process", () => {
  test("whose handler ends long after the stop commits nothing: the next one has done it", async () => {
    const { router, store, pass } = world();
    const slow = gate();
    let told = false;
    const first = await router.consume({
      consumer: "unit",
      handlers: {
        LOOSE: async (_event, { emit, signal }) => {
          signal.addEventListener("abort", () => {
            told = true;
          });
          emit("SAID", { n: 1 });
          await slow.opened;
        },
      },
    });
    const event = await router.publish("LOOSE", { n: 1 });
    const stopping = first.stop();
    await pass(11_000);
    await stopping;
    expect(told).toBe(true);
    await router.consume({ consumer: "unit", handlers: { LOOSE: (_event, { emit }) => void emit("SAID", { n: 2 }) } });
    await pass(10);
    await router.settled(event);
    slow.open();
    await pass(100);
    expect(store.read("SELECT payload FROM events WHERE event_type = 'SAID'")).toEqual([{ payload: '{"n":2}' }]);
  });

  test("takes up nothing new once it is told to stop", async () => {
    const { router, pass } = world();
    const slow = gate();
    const handled: number[] = [];
    const unit = await router.consume({
      consumer: "unit",
      handlers: {
        STEP: async ({ payload }) => {
          handled.push((payload as { n: number }).n);
          await slow.opened;
        },
      },
    });
    for (let n = 0; n < 3; n += 1) await router.publish("STEP", { key: "a", n });
    await pass(1);
    const stopping = unit.stop();
    slow.open();
    await pass(11_000);
    await stopping;
    expect(handled).toEqual([0]);
  });

  test("keeps what waits behind a slow one, though the disk refused to write it down the first time", async () => {
    const { router, store, trouble, pass } = world({ window: 8, concurrency: 4 });
    const slow = gate();
    let fails = true;
    await router.consume({
      consumer: "unit",
      handlers: {
        STEP: async ({ payload }) => {
          const { key, n } = payload as { key: string; n: number };
          if (key === "slow" && n === 0) {
            await slow.opened;
            if (fails) throw new Error("no");
          }
        },
      },
    });
    trouble.refuses = ofOp("journal.park");
    for (let n = 0; n < 2; n += 1) await router.publish("STEP", { key: "slow", n });
    for (let n = 0; n < 12; n += 1) {
      await router.publish("STEP", { key: `k${n}`, n });
      await pass(1);
    }
    trouble.refuses = () => false;
    slow.open();
    await pass(10);
    fails = false;
    await pass(10_000);
    expect(countPairs(store)).toEqual([{ consumer: "unit", state: "done", pairs: 14 }]);
  });

  test("passes a slow one with its mark as soon as the disk works again", async () => {
    const { router, store, trouble, pass } = world({ window: 8, concurrency: 4 });
    const slow = gate();
    await router.consume({
      consumer: "unit",
      handlers: { STEP: async ({ payload }) => ((payload as { n: number }).n === 0 ? slow.opened : undefined) },
    });
    await router.publish("STEP", { key: "slow", n: 0 });
    trouble.refuses = ofOp("journal.park");
    for (let n = 1; n < 40; n += 1) {
      if (n === 20) trouble.refuses = () => false;
      await router.publish("STEP", { key: `k${n}`, n });
      await pass(1);
    }
    expect(store.read<{ n: number }>("SELECT count(*) AS n FROM deliveries WHERE state = 'done'")[0]!.n).toBeLessThan(
      16,
    );
    slow.open();
    await pass(10);
  });

  test("does not make others of the same type wait for one that backs off", async () => {
    const { router, pass } = world({ retryFirstMs: 60_000, concurrency: 1, breakerThreshold: 1_000 });
    const handled = new Set<number>();
    let away = true;
    const handlers = {
      LOOSE: ({ seq }: { seq: number | null }) => {
        if (away || seq === 1) throw new Error("no");
        handled.add(seq!);
      },
    };
    for (let n = 0; n < 100; n += 1) await router.publish("LOOSE", { n });
    await router.consume({ consumer: "unit", start: "earliest", handlers });
    await pass(1_000);
    away = false;
    await pass(75_000);
    expect(handled.size).toBe(99);
  });

  test("that fails on an event with an odd id still ends with a dead letter", async () => {
    const { router, pass } = world();
    await router.consume({
      consumer: "unit",
      handlers: {
        LOOSE: () => {
          throw new Error("no");
        },
      },
    });
    await router.publish("LOOSE", { n: 1 }, { eventId: "x".repeat(300) });
    await pass(200_000);
    expect(router.deadLetters.getPendingCount()).toBe(1);
  });
});

describe("a disk that cannot be read for a moment", () => {
  test("after a commit neither doubles its effect nor loses what follows", async () => {
    const { router, store, trouble, pass } = world({ window: 4, concurrency: 1 });
    const slow = gate();
    await router.consume({
      consumer: "unit",
      handlers: {
        LOOSE: async ({ payload }, { rows: state, emit }) => {
          const { n } = payload as { n: number };
          if (n === 0) await slow.opened;
          state.put(counts, "all", { n: (state.get(counts, "all")?.n ?? 0) + 1 });
          emit("SAID", { n });
        },
      },
    });
    for (let n = 0; n < 12; n += 1) await router.publish("LOOSE", { n });
    trouble.blind = (sql) => sql.includes("FROM events");
    slow.open();
    await pass(10);
    trouble.blind = () => false;
    await pass(10_000);
    expect(store.read("SELECT value FROM state_rows")).toEqual([{ value: '{"n":12}' }]);
    expect(store.read("SELECT 1 FROM events WHERE event_type = 'SAID'")).toHaveLength(12);
    expect(countPairs(store)).toEqual([{ consumer: "unit", state: "done", pairs: 12 }]);
  });

  test("does not stop the retries that are due then", async () => {
    const { router, store, trouble, pass } = world();
    let fails = true;
    await router.consume({
      consumer: "unit",
      handlers: {
        STEP: () => {
          if (fails) throw new Error("no");
        },
      },
    });
    await router.publish("STEP", { key: "a", n: 1 });
    await pass(10);
    fails = false;
    trouble.blind = (sql) => sql.includes("FROM deliveries");
    await pass(3_000);
    trouble.blind = () => false;
    await pass(5_000);
    expect(countPairs(store)).toEqual([{ consumer: "unit", state: "done", pairs: 1 }]);
  });
});

describe("consumers that are gone for good", () => {
  test("leave no row behind once the journal has forgotten what they were owed", async () => {
    const { router, store } = world();
    for (let n = 0; n < 5; n += 1) {
      const session = await router.openSession({ ...outside, consumer: `once-${n}` });
      await router.closeSession(session, false);
      await router.publish("LOOSE", { n });
      await router.forgetConsumer(`once-${n}`);
    }
    await router.openSession({ ...outside, consumer: "stays", start: "now" });
    await router.publish("LOOSE", { n: 9 });
    await router.flushMarks();
    await enforceRetention(store, { olderThan: 4e9, maxBytes: 1e9, chunk: 100 });
    expect(store.read("SELECT consumer FROM consumers")).toEqual([{ consumer: "stays" }]);
  });
});
