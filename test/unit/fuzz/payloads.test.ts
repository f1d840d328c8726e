import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { builtinRows, createCatalog, defineEvents } from "../../../src/events/index.ts";
import { isOperatingError, seededRandom, silentLog, systemClock } from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";
import { rounds } from "../../support/thorough.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("fuzz", {
    FUZZ_KEPT: { about: "Durable.", class: "durable", orderKey: "key", payload: { key: z.string(), any: z.unknown() } },
    FUZZ_PASSING: { about: "Here.", class: "process", orderKey: null, dedup: "content", payload: { any: z.unknown() } },
  }),
};
const store = memoryStore(storeModules, systemClock());
const router = new EventRouter({
  catalog: createCatalog(rows),
  store,
  clock: systemClock(),
  random: seededRandom(1),
  log: silentLog(),
  nodeId: "fuzz",
}) as unknown as EventRouter;
afterAll(async () => {
  await router.stop();
  await store.close();
});

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { in: value };
  return value;
};
const cycle = () => {
  const value: Record<string, unknown> = { name: "round" };
  value.self = { value };
  return value;
};
const shared = (depth: number) => {
  let value: unknown = ["x"];
  for (let i = 0; i < depth; i += 1) value = [value, value];
  return value;
};

/** Things that people and programs have put into payloads. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
  }),
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -0,
    2 ** 53,
    "\ud800",
    "\u0000",
    "a\u2028b",
    "\ufeff",
    Symbol("s"),
    () => 1,
    new Proxy({}, {}),
    new Error("x"),
    Promise.resolve(1),
    JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  ),
  fc.integer({ min: 1, max: 3_000 }).map(nested),
  fc.constant(undefined).map(cycle),
  fc.integer({ min: 1, max: 40 }).map(shared),
  fc.constantFrom(1_000, 1_048_000, 1_048_576, 5_000_000).map((length) => "x".repeat(length)),
  fc.array(fc.string({ unit: "binary" })),
);

/** Either it works or it says why; nothing else is an answer. */
async function answerOf<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (thrown) {
    expect(isOperatingError(thrown), String((thrown as Error)?.stack ?? thrown)).toBe(true);
    expect((thrown as { code: string }).code).toMatch(/^[A-Z_]+$/);
    return undefined;
  }
}

const runs = { numRuns: rounds(60, 120), seed: 20_260 };

describe("any payload", () => {
  test("is published and read back from the journal as it was accepted, or refused with a code", async () => {
    await fc.assert(
      fc.asyncProperty(odd, fc.string({ unit: "binary" }), async (any, key) => {
        const event = await answerOf(() => router.publish("FUZZ_KEPT", { key, any }));
        if (event === undefined) return;
        const stored = router.history({ fromJournal: true, limit: 1 })[0]!;
        expect(stored.eventId).toBe(event.eventId);
        expect(stored.payload).toEqual(JSON.parse(JSON.stringify(event.payload)));
        expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
      }),
      runs,
    );
  });

  test("is refused or heard when it stays in the process, under known and unknown names", async () => {
    const names = fc.constantFrom(
      "FUZZ_PASSING",
      "FUZZ_KEPT",
      "MODEL_PROMOTED",
      "TRAINING_COMPLETED",
      "nobody.knows.this",
    );
    await fc.assert(
      fc.asyncProperty(names, odd, async (name, payload) => {
        await answerOf(() => router.publish(name, payload as never));
        await answerOf(() => router.publish(name, { any: payload }));
      }),
      runs,
    );
  });

  test("under strict checks is refused with a code too", () => {
    fc.assert(
      fc.property(odd, (any) => {
        try {
          router.prepare("FUZZ_PASSING", { any }, {}, "strict");
        } catch (thrown) {
          expect(isOperatingError(thrown), String((thrown as Error)?.stack ?? thrown)).toBe(true);
        }
      }),
      runs,
    );
  });
});

const anyName = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(
    "",
    " ",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    "*",
    "\u0000",
    "x".repeat(100_000),
    "İ",
    "ﬁ",
  ),
);

describe("any name", () => {
  test("of an event resolves, is unknown or is refused; none reaches into the prototype", async () => {
    await fc.assert(
      fc.asyncProperty(anyName, async (name) => {
        const event = await answerOf(() => router.publish(name, { n: 1 }));
        if (event !== undefined) expect(event.eventType).toBe(router.catalog.names.resolve(name)?.name ?? name);
        expect(router.catalog.row(name)).toBe(Object.hasOwn(rows, name) ? rows[name as never] : undefined);
      }),
      runs,
    );
    expect(Object.keys(router.getStats().unknown_events).length).toBeLessThanOrEqual(1_001);
  });

  test("of a consumer opens a session or is refused", async () => {
    await fc.assert(
      fc.asyncProperty(anyName, fc.array(anyName, { maxLength: 3 }), async (consumer, eventTypes) => {
        const session = await answerOf(() => router.openSession({ consumer, eventTypes }));
        if (session === undefined) return;
        expect(consumer).toMatch(/^[A-Za-z0-9_][\w.@:/-]{0,199}$/);
        await router.forgetConsumer(consumer);
      }),
      { ...runs, numRuns: rounds(50, 100) },
    );
  });

  test("as an id, a source or a trace is stored as it is or refused", async () => {
    await fc.assert(
      fc.asyncProperty(anyName, anyName, anyName, async (eventId, source, traceId) => {
        const event = await answerOf(() =>
          router.publish(
            "FUZZ_KEPT",
            { key: "k", any: 1 },
            { eventId: `${eventId}-${Math.abs(source.length)}`, source, traceId },
          ),
        );
        if (event?.suppressed !== null || event === undefined) return;
        expect(router.history({ fromJournal: true, limit: 1 })[0]!.seq).toBe(event.seq);
      }),
      { ...runs, numRuns: rounds(50, 100) },
    );
  });
});
