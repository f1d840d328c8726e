import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { inThreadStore, memoryStore, memoryWriter } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { builtinRows, createCatalog, defineEvents } from "../../../src/events/index.ts";
import { seededRandom, silentLog, systemClock, virtualClock } from "../../../src/kernel/index.ts";
import { defineTable, EventRouter, enforceRetention } from "../../../src/router/index.ts";
import { countPairs } from "../../../src/router/journal/queries.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("test", {
    KEPT: { about: "Durable.", class: "durable", orderKey: "key", payload: { key: z.string() } },
    SAID_ONCE: { about: "Durable.", class: "durable", orderKey: null, dedup: ["key"], payload: { key: z.string() } },
    TICKED_ONCE: { about: "Here.", class: "process", orderKey: null, dedup: "content", payload: { key: z.string() } },
  }),
};

/** A router whose time only the test moves. */
const routerAt = (clock = virtualClock()) => {
  const writer = memoryWriter(storeModules);
  const store = inThreadStore(writer, { clock });
  const router = new EventRouter({
    catalog: createCatalog(rows),
    store,
    clock,
    random: seededRandom(7),
    log: silentLog(),
    nodeId: "test",
    settings: { dedupWindowSeconds: 60, maxAttempts: 1 },
  });
  return { router: router as unknown as EventRouter, store, writer, clock };
};

const pass = (clock: ReturnType<typeof virtualClock>, ms: number) => {
  let there = false;
  clock.after(ms, () => {
    there = true;
  });
  while (!there) clock.step();
};

describe("the dedup window", () => {
  const history = fc.array(
    fc.record({ key: fc.constantFrom("a", "b"), waitMs: fc.constantFrom(0, 1, 20_000, 59_999, 60_000, 200_000) }),
    { maxLength: 25 },
  );
  test.each(["SAID_ONCE", "TICKED_ONCE"])(
    "of %s suppresses what a map of key and time says, and names the first",
    async (type) => {
      await fc.assert(
        fc.asyncProperty(history, async (steps) => {
          const { router, clock, writer } = routerAt();
          const firsts = new Map<string, { at: number; eventId: string }>();
          let suppressed = 0;
          for (const { key, waitMs } of steps) {
            pass(clock, waitMs);
            const first = firsts.get(key);
            const repeat = first !== undefined && clock.now() - first.at < 60_000;
            const event = await router.publish(type, { key });
            expect(event.suppressed).toBe(repeat ? "content" : null);
            if (repeat) {
              suppressed += 1;
              expect(event.eventId).toBe(first.eventId);
            } else firsts.set(key, { at: clock.now(), eventId: event.eventId });
          }
          expect(router.getStats().content_duplicates_prevented).toBe(suppressed);
          expect(router.getStats().total_events).toBe(steps.length - suppressed);
          writer.close();
        }),
        { numRuns: 60 },
      );
    },
  );

  test("is not held open by one event that claims to come from the future", async () => {
    const { router, clock, writer } = routerAt();
    const now = clock.now() / 1_000;
    await router.publish("SAID_ONCE", { key: "a" }, { timestamp: now + 1e9 });
    expect((await router.publish("SAID_ONCE", { key: "a" })).suppressed).toBeNull();
    expect((await router.publish("SAID_ONCE", { key: "a" })).suppressed).toBe("content");
    writer.close();
  });
});

test("an event is published under one name, whatever its spelling, and an unknown name stays what it is", async () => {
  const { router, writer } = routerAt();
  const spelling = fc
    .constantFrom("KEPT", "kept", ...Object.values(rows).flatMap((row) => [row.wire, ...row.legacy]), "NO_SUCH_EVENT")
    .chain((known) =>
      fc.constantFrom(known, known.toLowerCase(), known.toUpperCase(), ` ${known}`, known.replaceAll("_", "-")),
    );
  fc.assert(
    fc.property(spelling, (name) => {
      const heard = router.catalog.names.resolve(name)?.name;
      const stop = router.subscribe(name, () => {});
      expect(Object.keys(router.listSubscribers())).toEqual([heard ?? name]);
      expect(router.hasSubscribers(heard ?? name)).toBe(true);
      stop();
      expect(router.listSubscribers()).toEqual({});
      if (heard !== undefined) expect(Object.hasOwn(rows, heard)).toBe(true);
    }),
    { numRuns: 300 },
  );
  await router.stop();
  writer.close();
});

describe("retention", () => {
  type Step = "publish" | "work" | "fail" | "trim" | "trim all" | "age" | "resolve";
  const steps = fc.array(
    fc.constantFrom<Step>("publish", "publish", "work", "fail", "trim", "trim all", "age", "resolve"),
    {
      minLength: 5,
      maxLength: 40,
    },
  );

  test("deletes what is old and owed to nobody, and never what somebody is owed, a letter is about, or the last", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (history, withConsumer) => {
        const { router, store, clock, writer } = routerAt();
        const session = withConsumer
          ? await router.openSession({ consumer: "slow", eventTypes: ["KEPT"], start: "earliest" })
          : undefined;
        const published = new Map<number, number>();
        const open = new Set<number>();
        const letters = new Set<number>();
        for (const step of history) {
          if (step === "publish") {
            const { seq, timestamp } = await router.publish("KEPT", { key: `k${published.size % 3}` });
            expect([...published.keys()].every((before) => before < seq!)).toBe(true);
            published.set(seq!, timestamp);
            if (withConsumer) open.add(seq!);
          } else if (step === "age") pass(clock, 50_000);
          else if (step === "work" || step === "fail") {
            const [got] = (await session?.poll(1, 0)) ?? [];
            if (got === undefined || session === undefined) continue;
            const seq = got.event.seq!;
            open.delete(seq);
            if (step === "work") await session.ack([seq]);
            else {
              await session.nack(seq, "no");
              letters.add(seq);
            }
          } else if (step === "resolve") {
            await router.deadLetters.discard({ filter: {} });
            letters.clear();
          } else {
            const olderThan = clock.now() / 1_000 - 100;
            const maxBytes = step === "trim all" ? 0 : Number.MAX_SAFE_INTEGER;
            await router.flushMarks();
            await enforceRetention(store, { olderThan, maxBytes, chunk: 2 });
            const left = new Set(
              store.read<{ seq: number }>("SELECT seq FROM events WHERE event_type = 'KEPT'").map(({ seq }) => seq),
            );
            for (const seq of [...open, ...letters]) expect(left, `${seq} is still needed`).toContain(seq);
            const head = store.read<{ seq: number }>("SELECT max(seq) AS seq FROM events")[0]!.seq;
            const oldestOpen = Math.min(...open, Number.POSITIVE_INFINITY);
            for (const [seq, timestamp] of published) {
              const mayGo = seq < oldestOpen && !letters.has(seq) && seq !== head;
              if (!mayGo || (step === "trim" && timestamp >= olderThan)) continue;
              expect(left, `${seq} should be gone`).not.toContain(seq);
            }
            for (const seq of published.keys()) if (!left.has(seq)) published.delete(seq);
          }
        }
        expect(
          countPairs(store)
            .filter(({ state }) => state === "owed")
            .reduce((sum, { pairs }) => sum + pairs, 0),
        ).toBe(open.size);
        await router.stop();
        writer.close();
      }),
      { numRuns: 60 },
    );
  });
});

describe("write sets", () => {
  const counters = defineTable<{ n: number }>("counters");

  test("of handlers that run at the same time never lose an update", async () => {
    const work = fc.array(
      fc.record({ reads: fc.constantFrom("x", "y", "all"), writes: fc.constantFrom("x", "y"), turns: fc.nat(3) }),
      { minLength: 2, maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(work, async (jobs) => {
        const store = memoryStore(storeModules, systemClock());
        const free = defineEvents("test", {
          JOB: { about: "Work.", class: "durable", orderKey: null, payload: { i: z.number() } },
        });
        const router = new EventRouter({
          catalog: createCatalog(free),
          store,
          clock: systemClock(),
          random: seededRandom(1),
          log: silentLog(),
          nodeId: "test",
        });
        await router.consume({
          consumer: "adder",
          start: "earliest",
          handlers: {
            JOB: async (event, { rows: state }) => {
              const { reads, writes, turns } = jobs[(event.payload as { i: number }).i]!;
              const sum = () => state.list(counters).reduce((total, [, { n }]) => total + n, 0);
              const before = reads === "all" ? sum() : (state.get(counters, reads)?.n ?? 0);
              for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
              const mine = state.get(counters, writes)?.n ?? 0;
              state.put(counters, writes, { n: mine + 1 });
              // A handler sees one state of the world and its own changes in it.
              const after = reads === "all" ? sum() : (state.get(counters, reads)?.n ?? 0);
              if (reads === "all" || reads === writes) expect(after).toBe(before + 1);
              else expect(after).toBe(before);
            },
          },
        });
        const events = await Promise.all(jobs.map((_, i) => router.publish("JOB", { i })));
        for (const event of events) await router.settled(event);
        const stored = store.read<{ key: string; value: string }>("SELECT key, value FROM state_rows ORDER BY key");
        const expected = ["x", "y"].flatMap((key) => {
          const n = jobs.filter(({ writes }) => writes === key).length;
          return n === 0 ? [] : [{ key, value: `{"n":${n}}` }];
        });
        expect(stored.map(({ key, value }) => ({ key, value }))).toEqual(expected);
        expect(router.deadLetters.getPendingCount()).toBe(0);
        await router.stop();
        await store.close();
      }),
      { numRuns: 40 },
    );
  });
});
