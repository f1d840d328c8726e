import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { routerOver } from "../../test/support/router.ts";
import { builtinRows, createCatalog, defineEvents, EventSource } from "../events/index.ts";
import { createIds, seededRandom, virtualClock } from "../kernel/index.ts";
import { type PublishOptions, prepare, type Validation } from "./prepare.ts";
import { defaultRouterSettings } from "./settings.ts";

const world = () => {
  const { router, store } = routerOver(builtinRows);
  onTestFinished(async () => {
    await router.stop();
    await store.close();
  });
  return router;
};

describe("an event that nobody has defined", () => {
  test.each([[[1, 2]], [[]], [null], ["text"], [7]])("is refused with %j for a payload", async (payload) => {
    await expect(world().publish("SOMETHING_OF_MINE", payload as never)).rejects.toMatchObject({
      code: "INVALID_PAYLOAD",
      message: "SOMETHING_OF_MINE: a payload is a JSON object",
    });
  });

  test("is durable, has no order key and no window of contents, and is counted", async () => {
    const router = world();
    const first = await router.publish("SOMETHING_OF_MINE", { config_key: "hex8_2p" });
    const second = await router.publish("SOMETHING_OF_MINE", { config_key: "hex8_2p" });
    expect(first).toMatchObject({ eventClass: "durable", orderKey: null, payloadVersion: 1, suppressed: null });
    expect([first.seq, second.seq]).toEqual([1, 2]);
    expect(router.getStats().unknown_events).toEqual({ SOMETHING_OF_MINE: 2 });
  });
});

test("the numbers of the delivery contract hold where nobody sets others", () => {
  expect(defaultRouterSettings).toMatchObject({
    handlerTimeoutMs: 600_000,
    maxAttempts: 5,
    retryFirstMs: 1_000,
    retryMostMs: 60_000,
    dedupWindowSeconds: 60,
    strictNames: false,
    retentionSeconds: 7 * 86_400,
    retentionBytes: 1_000_000_000,
    consumerExpirySeconds: 7 * 86_400,
  });
});

const STEP = { config_key: "hex8_2p", n: 1 };
const rows = defineEvents("test", {
  STEP_DONE: {
    about: "A step.",
    class: "durable",
    orderKey: "config_key",
    stage: "step_done",
    dedup: ["config_key", "n"],
    legacy: ["STEP_OVER"],
    payload: { config_key: z.string().nullable(), n: z.int().nullable() },
  },
  DRAFT: {
    about: "Nobody emits it yet.",
    class: "durable",
    provisional: true,
    orderKey: "config_key",
    dedup: ["config_key"],
    payload: { config_key: z.string() },
  },
  SEEN: { about: "Once.", class: "volatile", orderKey: null, dedup: "content", payload: { n: z.number() } },
  LOOSE: { about: "Whatever.", class: "durable", orderKey: null, payload: { n: z.number().optional() } },
  MANY: {
    about: "Many fields.",
    class: "durable",
    orderKey: null,
    payload: Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((key) => [key, z.number()])),
  },
});

function prepared() {
  const clock = virtualClock();
  const told: string[][] = [];
  const context = {
    catalog: createCatalog(rows) as never,
    clock,
    ids: createIds(clock, seededRandom(1)),
    nodeId: "n1",
    strictNames: false,
    onDeprecated: (...what: string[]) => void told.push(what),
  };
  return {
    clock,
    told,
    make: (
      name: string,
      payload: unknown,
      options: PublishOptions = {},
      how: Validation = "tolerant",
      strictNames = false,
    ) => prepare({ ...context, strictNames }, name, payload, options, how),
  };
}

describe("what is made of a publish", () => {
  test("that says nothing but name and payload begins a trace of its own, now, on every bus", () => {
    const { make, clock } = prepared();
    const { event } = make("STEP_DONE", STEP);
    expect(event).toMatchObject({
      eventType: "STEP_DONE",
      timestamp: clock.now() / 1_000,
      source: "unknown",
      origin: EventSource.ROUTER,
      correlationId: event.eventId,
      parentEventId: null,
      seq: null,
      payloadVersion: 1,
      eventClass: "durable",
      orderKey: "hex8_2p",
      views: { dataBus: true, stageBus: true, crossProcess: true },
      nodeId: "n1",
    });
    expect(make("STEP_DONE", STEP).event.traceId).not.toBe(event.traceId);
    expect(Object.isFrozen(event)).toBe(true);
  });

  test("inherits trace, correlation and parent from what it follows from, unless it says others", () => {
    const { make } = prepared();
    const parent = make("LOOSE", {}, { correlationId: "all of it" }).event;
    expect(make("LOOSE", {}, { parent }).event).toMatchObject({
      traceId: parent.traceId,
      correlationId: "all of it",
      parentEventId: parent.eventId,
    });
    const own = { traceId: "t".repeat(32), correlationId: "c", parentEventId: "p", eventId: "e" };
    expect(make("LOOSE", {}, { parent, ...own }).event).toMatchObject(own);
    expect(make("LOOSE", {}, { parent: null }).event.parentEventId).toBeNull();
  });

  test("goes where it is sent, and to the stage bus only if it has a twin there", () => {
    const { make } = prepared();
    const viewsOf = (name: string, options: PublishOptions = {}) => make(name, STEP, options).event.views;
    const nowhere = { routeToDataBus: false, routeToStageBus: false, routeToCrossProcess: false };
    expect(viewsOf("STEP_DONE", nowhere)).toEqual({ dataBus: false, stageBus: false, crossProcess: false });
    expect(viewsOf("LOOSE")).toEqual({ dataBus: true, stageBus: false, crossProcess: true });
    expect(viewsOf("NOBODYS", { routeToStageBus: true })).toMatchObject({ stageBus: false });
  });

  test("keeps what it says of itself", () => {
    const { make } = prepared();
    const said = { source: "me", origin: EventSource.STAGE_BUS, timestamp: 5, eventId: "id" };
    expect(make("SEEN", { n: 1 }, said).event).toMatchObject({ ...said, eventClass: "volatile" });
  });

  test("has an order key where its field has a value, as text", () => {
    const { make } = prepared();
    const keyOf = (value: string | null) => make("STEP_DONE", { ...STEP, config_key: value }).event.orderKey;
    expect([keyOf("hex8_2p"), keyOf(""), keyOf(null)]).toEqual(["hex8_2p", "", null]);
    expect(make("LOOSE", { n: 1 }).event.orderKey).toBeNull();
  });

  test("is a repeat by its content, by its fields where all have a value, or never", () => {
    const { make } = prepared();
    const keyOf = (name: string, payload: unknown) => make(name, payload).dedupKey;
    expect(keyOf("SEEN", { n: 1 })).toBe(`SEEN:${make("SEEN", { n: 1 }).event.contentHash}`);
    expect(keyOf("SEEN", { n: 2 })).not.toBe(keyOf("SEEN", { n: 1 }));
    expect(keyOf("STEP_DONE", { config_key: "a", n: 1 })).toBe('STEP_DONE:["a",1]');
    expect(keyOf("STEP_DONE", { config_key: null, n: 1 })).toBeUndefined();
    expect(keyOf("STEP_DONE", { config_key: "a", n: null })).toBeUndefined();
    expect(keyOf("LOOSE", { n: 1 })).toBeUndefined();
    expect(keyOf("NOBODYS", { n: 1 })).toBeUndefined();
  });
});

test("an event whose fields may still change has no order key and is no repeat where they are not there", () => {
  const { make } = prepared();
  expect(make("DRAFT", {})).toMatchObject({ event: { orderKey: null }, dedupKey: undefined });
  expect(make("DRAFT", { config_key: "a" })).toMatchObject({ event: { orderKey: "a" }, dedupKey: 'DRAFT:["a"]' });
});

describe("old and unknown spellings", () => {
  test("of a name are told with the new one", () => {
    const { make, told } = prepared();
    expect(make("STEP_OVER", STEP).event.eventType).toBe("STEP_DONE");
    expect(told).toEqual([["name", "STEP_OVER", "STEP_DONE"]]);
    make("STEP_DONE", STEP);
    expect(told).toHaveLength(1);
  });

  test("of a key are lifted and told for others, and refused for our own units", () => {
    const { make, told } = prepared();
    expect(make("STEP_DONE", { config: "hex8_2p", n: 1 }).event.payload).toEqual({ config_key: "hex8_2p", n: 1 });
    expect(told).toEqual([["key", "STEP_DONE.config", "config_key"]]);
    expect(() => make("STEP_DONE", { config: "hex8_2p", n: 1 }, {}, "strict")).toThrow(
      expect.objectContaining({ code: "INVALID_PAYLOAD" }),
    );
  });

  test("that might be names are taken with what they might mean, others and all under strict names are refused", () => {
    const { make, told } = prepared();
    expect(make("STEP_DON", {}).event.eventType).toBe("STEP_DON");
    expect(told).toEqual([["unknown", "STEP_DON", expect.stringContaining("STEP_DONE")]]);
    for (const name of ["", "two words", "x".repeat(201), "a\nb", "<b>"])
      expect(() => make(name, {})).toThrow(expect.objectContaining({ code: "UNKNOWN_EVENT" }));
    expect(make("x".repeat(200), {}).event.eventType).toHaveLength(200);
    expect(make("my.own:event-1", {}).event.eventType).toBe("my.own:event-1");
    expect(() => make("NOBODYS", {}, {}, "tolerant", true)).toThrow(expect.objectContaining({ code: "UNKNOWN_EVENT" }));
  });
});

test("a wrong payload is refused with the first five of its faults, and where to read about its fields", () => {
  const { make } = prepared();
  const refusal = (name: string, payload: unknown) => {
    try {
      return make(name, payload);
    } catch (thrown) {
      return thrown as Error & { hint: string; code: string };
    }
  };
  const found = refusal("MANY", {}) as Error & { hint: string };
  expect(found.message).toMatch(/^MANY: a: /);
  expect(found.message.split("; ").map((part) => part.replace("MANY: ", "")[0])).toEqual(["a", "b", "c", "d", "e"]);
  expect(found.hint).toBe("'ringrift events show MANY' prints its fields.");
  for (const payload of [null, [], "text"])
    expect((refusal("MANY", payload) as Error).message).toMatch(/^MANY: payload: /);
});
