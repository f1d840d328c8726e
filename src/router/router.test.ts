import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { routerOver } from "../../test/support/router.ts";
import { builtinRows, defineEvents } from "../events/index.ts";
import { defineTable, type EventRouter, suppressions } from "./index.ts";
import { countPairs } from "./journal/queries.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("test", {
    GAME_PLAYED: {
      about: "A game was played.",
      class: "durable",
      orderKey: "config_key",
      payload: { config_key: z.string(), n: z.number() },
      legacy: ["GAME_OVER"],
      wire: "played",
    },
    MODEL_MADE: {
      about: "A model was made.",
      class: "durable",
      orderKey: null,
      dedup: ["model"],
      payload: { model: z.string() },
    },
    TICK: { about: "A tick.", class: "process", orderKey: null, payload: { n: z.number() } },
  }),
};

const open: EventRouter[] = [];
const fresh = (...args: Parameters<typeof routerOver<typeof rows>> extends [unknown, ...infer A] ? A : never) => {
  const fixture = routerOver(rows, ...args);
  open.push(fixture.router as unknown as EventRouter);
  return fixture;
};
afterEach(async () => {
  for (const router of open.splice(0)) {
    await router.stop();
    await router.store.close();
  }
});

describe("publishing", () => {
  test("resolves to the committed event with its sequence number", async () => {
    const { router } = fresh();
    const event = await router.publish("GAME_PLAYED", { config_key: "hex8_2p", n: 1 }, { source: "me" });
    expect(event).toMatchObject({
      eventType: "GAME_PLAYED",
      seq: 1,
      orderKey: "hex8_2p",
      suppressed: null,
      source: "me",
    });
  });

  test("the constant, the wire value and a legacy spelling are one event", async () => {
    const { router } = fresh();
    const heard: string[] = [];
    router.subscribe("game_over", (event) => void heard.push(event.eventType));
    for (const spelling of ["GAME_PLAYED", "played", "game-played", "GAME_OVER"])
      await router.publish(spelling, { config_key: "hex8_2p", n: 1 });
    expect(heard).toEqual(Array(4).fill("GAME_PLAYED"));
    expect(router.getStats().deprecated).toEqual({ game_over: 1, GAME_OVER: 1 });
  });

  test("a repeat by its fields is suppressed and names the first", async () => {
    const { router } = fresh();
    const first = await router.publish("MODEL_MADE", { model: "a" });
    const second = await router.publish("MODEL_MADE", { model: "a" });
    const other = await router.publish("MODEL_MADE", { model: "b" });
    expect(second).toMatchObject({ suppressed: "content", eventId: first.eventId, seq: first.seq });
    expect(other.suppressed).toBeNull();
    expect(router.getStats().content_duplicates_prevented).toBe(1);
    expect(suppressions(router.store, 10)).toMatchObject([
      { dedup_key: 'MODEL_MADE:["a"]', event_id: first.eventId, suppressed: 1 },
    ]);
  });

  test("a repeat of an event id is stored once", async () => {
    const { router } = fresh();
    const first = await router.publish("GAME_PLAYED", { config_key: "hex8_2p", n: 1 });
    const again = await router.publish("GAME_PLAYED", { config_key: "hex8_2p", n: 1 }, { eventId: first.eventId });
    expect(again).toMatchObject({ suppressed: "event_id", seq: first.seq });
  });

  test("a wrong payload and, under strict names, an unknown name are refused with what to do", async () => {
    const { router } = fresh({ strictNames: true });
    await expect(router.publish("GAME_PLAYED", { config_key: 5 } as never)).rejects.toMatchObject({
      code: "INVALID_PAYLOAD",
    });
    await expect(router.publish("GAME_PLAYD", {})).rejects.toThrow("Did you mean GAME_PLAYED?");
  });
});

describe("a durable consumer", () => {
  test("gets the event again after it threw once, and the key's later events wait for it", async () => {
    const { router, store } = fresh();
    const seen: string[] = [];
    let thrown = false;
    await router.consume({
      consumer: "picky",
      handlers: {
        GAME_PLAYED: (event) => {
          const { config_key, n } = event.payload as { config_key: string; n: number };
          if (n === 1 && !thrown) {
            thrown = true;
            throw new Error("not now");
          }
          seen.push(`${config_key}/${n}`);
        },
      },
    });
    const events = [];
    for (const [config_key, n] of [
      ["a_2p", 1],
      ["a_2p", 2],
      ["b_2p", 3],
    ] as const)
      events.push(await router.publish("GAME_PLAYED", { config_key, n }));
    await Promise.all(events.map((event) => router.settled(event)));
    expect(seen.filter((what) => what.startsWith("a_2p"))).toEqual(["a_2p/1", "a_2p/2"]);
    expect(seen).toHaveLength(3);
    expect(countPairs(store)).toEqual([{ consumer: "picky", state: "done", pairs: 3 }]);
  });

  test("that always throws ends as one dead letter, tells of it, and holds up nobody", async () => {
    const { router, store } = fresh();
    const good: number[] = [];
    const words: unknown[] = [];
    router.subscribe("HANDLER_FAILED", (event) => void words.push(event.payload));
    await router.consume({
      consumer: "broken",
      handlers: {
        GAME_PLAYED: (event) => {
          if ((event.payload as { n: number }).n === 1) throw new Error("always");
        },
      },
    });
    await router.consume({
      consumer: "fine",
      handlers: { GAME_PLAYED: (event) => void good.push((event.payload as { n: number }).n) },
    });
    const first = await router.publish("GAME_PLAYED", { config_key: "a_2p", n: 1 });
    const second = await router.publish("GAME_PLAYED", { config_key: "a_2p", n: 2 });
    await router.settled(first);
    await router.settled(second);
    expect(good).toEqual([1, 2]);
    expect(router.deadLetters.getPendingEvents()).toMatchObject([
      { consumer: "broken", event_id: first.eventId, attempts: 5 },
    ]);
    expect(words).toMatchObject([{ consumer: "broken", event_type: "GAME_PLAYED", attempts: 5 }]);
    expect(countPairs(store)).toEqual([
      { consumer: "broken", state: "dead", pairs: 1 },
      { consumer: "broken", state: "done", pairs: 1 },
      { consumer: "fine", state: "done", pairs: 2 },
    ]);
  });

  test("gets a dead letter back alone, and recovers it", async () => {
    const { router } = fresh();
    const other: number[] = [];
    let broken = true;
    await router.consume({
      consumer: "mended",
      handlers: {
        GAME_PLAYED: () => {
          if (broken) throw new Error("broken");
        },
      },
    });
    await router.consume({ consumer: "other", handlers: { GAME_PLAYED: () => void other.push(1) } });
    const event = await router.publish("GAME_PLAYED", { config_key: "a_2p", n: 1 });
    await router.settled(event);
    broken = false;
    expect(await router.deadLetters.retryAll({ dryRun: true })).toHaveLength(1);
    expect(router.deadLetters.getPendingCount()).toBe(1);
    await router.deadLetters.retryAll({ actor: "test" });
    await router.settled(event);
    expect(router.deadLetters.counts()).toMatchObject({ pending: 0, recovered: 1 });
    expect(other).toEqual([1]);
  });

  test("commits its rows, its emissions and its ack together", async () => {
    const { router, store } = fresh();
    const counts = defineTable<{ n: number }>("counts");
    const made: string[] = [];
    await router.consume({
      consumer: "counter",
      handlers: {
        GAME_PLAYED: async (event, { rows: state, emit }) => {
          const { config_key } = event.payload as { config_key: string };
          const n = (state.get(counts, "all")?.n ?? 0) + 1;
          state.put(counts, "all", { n });
          emit("MODEL_MADE", { model: `${config_key}-${n}` });
          await Promise.resolve();
        },
      },
    });
    router.subscribe("MODEL_MADE", (event) => void made.push((event.payload as { model: string }).model));
    const events = await Promise.all(
      Array.from({ length: 50 }, (_, i) => router.publish("GAME_PLAYED", { config_key: `c${i % 7}_2p`, n: i })),
    );
    for (const event of events) await router.settled(event);
    expect(JSON.parse(store.read<{ value: string }>("SELECT value FROM state_rows")[0]!.value)).toEqual({ n: 50 });
    expect(new Set(made.map((model) => model.split("-")[1])).size).toBe(50);
    const child = router.history({ eventType: "MODEL_MADE" })[0]!;
    expect(events.map(({ eventId }) => eventId)).toContain(child.parentEventId);
  });

  test("that starts later from the earliest gets everything, in order of each key", async () => {
    const { router } = fresh({ window: 16 });
    const events = [];
    for (let n = 0; n < 500; n += 1) events.push(router.publish("GAME_PLAYED", { config_key: `c${n % 5}_2p`, n }));
    await Promise.all(events);
    const seen: Record<string, number[]> = {};
    await router.consume({
      consumer: "late",
      start: "earliest",
      handlers: {
        GAME_PLAYED: (event) => {
          const { config_key, n } = event.payload as { config_key: string; n: number };
          seen[config_key] = [...(seen[config_key] ?? []), n];
        },
      },
    });
    for (const event of events) await router.settled(await event);
    for (const list of Object.values(seen)) expect(list).toEqual([...list].sort((a, b) => a - b));
    expect(Object.values(seen).flat()).toHaveLength(500);
  });

  test("is not behind by what it does not want, though its stored mark follows later; one that is away is", async () => {
    const { router } = fresh();
    await router.consume({ consumer: "here", handlers: { MODEL_MADE: () => {} } });
    const away = await router.consume({ consumer: "away", handlers: { GAME_PLAYED: () => {} } });
    await away.stop();
    for (let n = 0; n < 5; n += 1) await router.publish("GAME_PLAYED", { config_key: "c_2p", n });
    expect(router.consumersBehind()).toEqual([
      { consumer: "away", lag: 5 },
      { consumer: "here", lag: 0 },
    ]);
    expect(router.consumers()).toMatchObject([
      { consumer: "away", lag: 5 },
      { consumer: "here", lag: 0 },
    ]);
  });

  test("never hears what it says itself", async () => {
    const { router, store } = fresh();
    let heard = 0;
    await router.consume({
      consumer: "echo",
      deafTo: "echo",
      handlers: {
        GAME_PLAYED: (event, { emit }) => {
          heard += 1;
          emit("GAME_PLAYED", { config_key: "a_2p", n: (event.payload as { n: number }).n + 1 });
        },
      },
    });
    await router.settled(await router.publish("GAME_PLAYED", { config_key: "a_2p", n: 1 }));
    expect(heard).toBe(1);
    expect(countPairs(store)).toEqual([{ consumer: "echo", state: "done", pairs: 1 }]);
  });

  test("that runs into its time limit is tried again and then buried as a timeout", async () => {
    const { router } = fresh({ handlerTimeoutMs: 5, maxAttempts: 2 });
    const aborted: boolean[] = [];
    await router.consume({
      consumer: "slow",
      handlers: {
        GAME_PLAYED: (_event, { signal }) =>
          new Promise(() => signal.addEventListener("abort", () => void aborted.push(true))),
      },
    });
    const event = await router.publish("GAME_PLAYED", { config_key: "a_2p", n: 1 });
    await router.settled(event);
    expect(aborted).toEqual([true, true]);
    expect(router.history({ eventType: "HANDLER_TIMEOUT" })).toMatchObject([
      { payload: { consumer: "slow", attempts: 2 } },
    ]);
    expect(router.getStats().handler_timeouts).toEqual({ slow: 2 });
  });
});

describe("events that stay in the process", () => {
  test("reach subscribers at once and are not journaled", async () => {
    const { router } = fresh();
    const heard: number[] = [];
    router.subscribe("TICK", (event) => void heard.push(event.payload.n));
    const event = await router.publish("TICK", { n: 7 });
    expect(heard).toEqual([7]);
    expect(event.seq).toBeNull();
  });

  test("a subscriber that throws does not stop the next one", async () => {
    const { router } = fresh();
    const heard: string[] = [];
    router.subscribe(null, () => {
      throw new Error("no");
    });
    router.subscribe("TICK", async () => {
      await Promise.resolve();
      heard.push("second");
    });
    const event = await router.publish("TICK", { n: 1 });
    await router.settled(event);
    expect(heard).toEqual(["second"]);
    expect(router.getStats().handler_failures).toBe(1);
  });
});
