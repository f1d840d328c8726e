import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, type UnitWorldOptions, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows } from "../../../events/index.ts";
import type { Log } from "../../../kernel/index.ts";
import { consumerStatus, type StoreFault } from "../../../router/index.ts";
import { countPairs } from "../../../router/journal/queries.ts";
import type { EventRouterLimits } from "../../limits.ts";
import { defineCoordinator } from "../../unit/shape.ts";
import { eventRouter, lagHealth } from "./event-router.unit.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (options: UnitWorldOptions = {}) => {
  const opened = unitWorld(builtinRows, options);
  worlds.push(opened);
  return opened;
};
const offline = (w: UnitWorld<BuiltinRows>, node_id: string) =>
  w.router.publish("HOST_OFFLINE", { node_id, reason: "silent" }, { source: "test" });
const journal = (w: UnitWorld<BuiltinRows>) =>
  w.store.read<{ seq: number }>("SELECT seq FROM events ORDER BY seq").map(({ seq }) => seq);
const run = (w: UnitWorld<BuiltinRows>, settings: Partial<EventRouterLimits> = {}) => {
  const runtime = w.runtime([eventRouter({ router: w.router, store: w.store }, settings), listener]);
  return w.driven(runtime.start()).then(() => runtime);
};
const listener = defineCoordinator({
  name: "listener",
  layer: 2,
  placement: "leader",
  emits: [],
  on: { HOST_ONLINE() {} },
});
/** A consumer of another process that subscribed once and went away. */
const visitor = async (w: UnitWorld<BuiltinRows>, consumer: string) => {
  const session = await w.router.openSession({ consumer, eventTypes: ["HOST_OFFLINE"] });
  await w.router.closeSession(session, false);
};

describe("event_router", () => {
  test("writes down the marks of consumers that wanted nothing of what passed", async () => {
    const w = world();
    await run(w);
    for (const node of ["a", "b", "c"]) await offline(w, node);
    expect(consumerStatus(w.store)).toMatchObject([{ consumer: "listener", low_water: 0, lag: 3 }]);
    await w.pass(6_000);
    expect(consumerStatus(w.store)).toMatchObject([{ consumer: "listener", low_water: 3, lag: 0 }]);
  });

  test("lets events go that are too old, but nothing that an absent consumer is still owed", async () => {
    const w = world({ settings: { retentionSeconds: 600 } });
    await run(w, { chunk: 2 });
    for (const node of ["a", "b", "c", "d", "e"]) await offline(w, node);
    await visitor(w, "trainer-7");
    for (const node of ["f", "g"]) await offline(w, node);
    await w.pass(500_000);
    expect(journal(w)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    await w.pass(200_000);
    expect(journal(w)).toEqual([6, 7]);
  });

  test("keeps the journal within its size", async () => {
    const w = world({ settings: { retentionBytes: 1 } });
    await run(w, { chunk: 2 });
    for (const node of ["a", "b", "c", "d", "e"]) await offline(w, node);
    await w.pass(70_000);
    expect(journal(w)).toEqual([5]);
  });

  test("forgets contents whose window is over", async () => {
    const w = world();
    await run(w, { chunk: 2 });
    for (const error of ["a", "b", "c", "d", "e"]) await w.router.publish("ERROR", { component: "x", error });
    const remembered = () => w.store.read<{ n: number }>("SELECT count(*) AS n FROM dedup")[0]!.n;
    expect(remembered()).toBe(5);
    await w.pass(130_000);
    expect(remembered()).toBe(0);
  });

  test("expires a consumer that stays away, loudly and in one commit with the alarm", async () => {
    const said: string[] = [];
    const log: Log = {
      debug() {},
      info() {},
      warn() {},
      error: (message) => void said.push(message),
      child: () => log,
      level: "error",
    };
    const w = world({ settings: { consumerExpirySeconds: 3_600 }, log });
    await run(w);
    await visitor(w, "trainer-7");
    await offline(w, "a");
    await w.pass(3_500_000);
    expect(w.router.history({ eventType: "ERROR", fromJournal: true })).toEqual([]);
    await w.pass(300_000);
    expect(w.router.history({ eventType: "ERROR", fromJournal: true })).toMatchObject([
      {
        source: "event_router@n1/main",
        payload: {
          component: "event_router",
          error_code: "CONSUMER_EXPIRED",
          details: { consumer: "trainer-7", unread: 1 },
        },
      },
    ]);
    expect(said).toEqual([expect.stringContaining("'trainer-7' was away")]);
    const expired = consumerStatus(w.store).filter(({ expired_at }) => expired_at !== null);
    expect(expired.map(({ consumer }) => consumer)).toEqual(["trainer-7"]);
  });

  test("a letter that was sent back to a consumer that then expires waits for a person again", async () => {
    const w = world({ settings: { consumerExpirySeconds: 3_600, maxAttempts: 1 } });
    await run(w);
    const failing = await w.router.consume({
      consumer: "ill",
      handlers: {
        HOST_OFFLINE() {
          throw new Error("not well");
        },
      },
    });
    await offline(w, "a");
    await w.pass(10);
    await w.driven(failing.stop());
    await w.router.deadLetters.retryAll({ actor: "ann" });
    expect(w.router.deadLetters.counts()).toMatchObject({ pending: 0, retrying: 1 });
    await w.pass(4_000_000);
    expect(w.router.deadLetters.counts()).toMatchObject({ pending: 1, retrying: 0 });
    expect(countPairs(w.store).filter(({ consumer }) => consumer === "ill")).toEqual([
      { consumer: "ill", state: "dead", pairs: 1 },
    ]);
  });

  test("gives absent consumers time to come back after a start", async () => {
    const w = world({ settings: { consumerExpirySeconds: 60 } });
    await visitor(w, "trainer-7");
    await w.pass(500_000);
    await run(w, { returnMs: 600_000 });
    await w.pass(550_000);
    expect(consumerStatus(w.store).every(({ expired_at }) => expired_at === null)).toBe(true);
    await w.pass(150_000);
    expect(consumerStatus(w.store).find(({ consumer }) => consumer === "trainer-7")?.expired_at).not.toBeNull();
  });

  test("reports lag and a store that refuses commits in its health", async () => {
    expect(lagHealth({ a: 3, b: 900 }, 500)).toEqual({
      status: "degraded",
      message: "'b' is 900 journal rows behind",
      details: { lag: { b: 900, a: 3 } },
    });
    expect(lagHealth({}, 500).status).toBe("running");
    const w = world();
    const fault: StoreFault = { code: "STORE_FULL", message: "disk full", since: 0 };
    const { behaviour } = eventRouter({ router: w.router, store: { ...w.store, fault } });
    expect(behaviour.health({ now: 0, cache: undefined, rows: null as never, lastTickAt: null })).toMatchObject({
      status: "degraded",
      message: "the store refuses commits: disk full",
    });
    const runtime = await run(w);
    expect(runtime.status()[0]).toMatchObject({
      name: "event_router",
      status: "running",
      details: { lag: { listener: 0 } },
    });
  });
});
