import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows } from "../../../events/index.ts";
import { type DlqRetryLimits, dlqRetryDefaults } from "../../limits.ts";
import { defineCoordinator } from "../../unit/shape.ts";
import { alertLevel, dlqRetry } from "./dlq-retry.unit.ts";
import { retryWaitMs } from "./letters.ts";

type World = UnitWorld<BuiltinRows>;
const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** One try for each delivery, and a breaker that stays out of the way: what is tried is the daemon. */
const world = (): World => {
  const opened = unitWorld(builtinRows, { settings: { maxAttempts: 1, breakerThreshold: 1_000_000 } });
  worlds.push(opened);
  return opened;
};
const offline = (w: World, node_id: string) =>
  w.router.publish("HOST_OFFLINE", { node_id, reason: "silent" }, { source: "test" });

/** A unit that fails on every host until it is told to be well, and when it was called for which. */
const fragile = (w: World, name: string) => {
  const calls: { node: string; at: number }[] = [];
  const state = { well: false, calls };
  const unit = defineCoordinator({
    name,
    layer: 3,
    placement: "leader",
    emits: [],
    on: {
      HOST_OFFLINE({ payload }) {
        calls.push({ node: payload.node_id, at: w.clock.monotonic() });
        if (!state.well) throw new Error("not well");
      },
    },
  });
  return { state, unit };
};
const start = async (w: World, units: Parameters<World["runtime"]>[0], settings: Partial<DlqRetryLimits> = {}) => {
  const runtime = w.runtime([dlqRetry({ router: w.router, store: w.store }, settings), ...units]);
  await w.driven(runtime.start());
  return runtime;
};
const said = (w: World, eventType: string) =>
  w.router.history({ eventType, fromJournal: true }).map(({ payload }) => payload);
const MINUTE = 60_000;

test("the wait doubles from one minute to one hour", () => {
  expect([0, 1, 2, 5, 6, 9].map((retries) => retryWaitMs(dlqRetryDefaults, retries) / MINUTE)).toEqual([
    1, 2, 4, 32, 60, 60,
  ]);
});

test.each([
  [0, 0],
  [49, 0],
  [50, 50],
  [999, 50],
  [1_000, 1_000],
])("%i pending letters reach the threshold %i", (pending, level) => {
  expect(alertLevel(pending, dlqRetryDefaults.alertAt)).toBe(level);
});

describe("dlq_retry", () => {
  test("sends a letter back to its own consumer, later and later, five times, and then leaves it to a person", async () => {
    const w = world();
    const ill = fragile(w, "ill");
    const sound = fragile(w, "sound");
    sound.state.well = true;
    await start(w, [ill.unit, sound.unit]);
    await offline(w, "gpu-7");
    await w.pass(120 * MINUTE);
    const waits = ill.state.calls.map(({ at }, i, all) => Math.round((at - (all[i - 1]?.at ?? at)) / MINUTE));
    expect(waits).toEqual([0, 1, 2, 4, 8, 16]);
    expect(sound.state.calls).toHaveLength(1);
    expect(w.router.deadLetters.getPendingEvents()).toMatchObject([
      { consumer: "ill", retry_count: 5, status: "pending" },
    ]);
    expect(said(w, "DLQ_EVENTS_REPLAYED")).toEqual([]);
  });

  test("tells once when letters were delivered in the end, whoever sent them back", async () => {
    const w = world();
    const ill = fragile(w, "ill");
    await start(w, [ill.unit]);
    for (const node of ["a", "b", "c"]) await offline(w, node);
    await w.pass(10);
    ill.state.well = true;
    await w.router.deadLetters.retryEvent(w.router.deadLetters.getPendingEvents()[0]!.id, { actor: "ann" });
    await w.pass(5 * MINUTE);
    expect(w.router.deadLetters.counts()).toMatchObject({ recovered: 3, pending: 0, retrying: 0 });
    const told = said(w, "DLQ_EVENTS_REPLAYED");
    expect(told.every(({ consumer }) => consumer === "ill")).toBe(true);
    expect(told.reduce((sum, { dead_letters }) => sum + Number(dead_letters), 0)).toBe(3);
    expect(told[0]?.event_types).toEqual(["HOST_OFFLINE"]);
  });

  test("alerts at each threshold once, and again after the letters had become few", async () => {
    const w = world();
    const ill = fragile(w, "ill");
    const runtime = await start(w, [ill.unit], { alertAt: [3, 6], maxRetries: 0 });
    const add = async (...nodes: string[]) => {
      for (const node of nodes) await offline(w, node);
      await w.pass(2 * MINUTE);
    };
    await add("a", "b");
    expect(said(w, "DLQ_STALE_EVENTS")).toEqual([]);
    await add("c", "d");
    expect(said(w, "DLQ_STALE_EVENTS")).toMatchObject([{ consumer: "ill", event_types: ["HOST_OFFLINE"] }]);
    expect(runtime.status()[0]).toMatchObject({
      name: "dlq_retry",
      status: "degraded",
      message: "4 dead letters wait",
    });
    await add("e", "f", "g");
    expect(said(w, "DLQ_STALE_EVENTS").map(({ dead_letters }) => Number(dead_letters) >= 6)).toEqual([false, true]);
    await w.router.deadLetters.discard({ filter: { consumer: "ill" }, actor: "ann" });
    await w.pass(2 * MINUTE);
    await add("h", "i", "j");
    expect(said(w, "DLQ_STALE_EVENTS")).toHaveLength(3);
  });

  test("a second threshold that is reached at once is told after the pause, not lost", async () => {
    const w = world();
    const ill = fragile(w, "ill");
    await start(w, [ill.unit], { alertAt: [2, 4], maxRetries: 0 });
    for (const node of ["a", "b", "c", "d", "e"]) await offline(w, node);
    await w.pass(10);
    expect(said(w, "DLQ_STALE_EVENTS")).toHaveLength(1);
    await w.pass(3 * MINUTE);
    expect(said(w, "DLQ_STALE_EVENTS").at(-1)).toMatchObject({ dead_letters: 5 });
    expect(said(w, "DLQ_STALE_EVENTS")).toHaveLength(2);
  });

  test("forgets resolved letters after their time, tells of discarded ones, and never deletes an unresolved one", async () => {
    const w = world();
    const ill = fragile(w, "ill");
    await start(w, [ill.unit], { keepResolvedMs: 30 * MINUTE, maxRetries: 1 });
    for (const node of ["a", "b", "c"]) await offline(w, node);
    await w.pass(10);
    const [first, second] = w.router.deadLetters.getPendingEvents();
    await w.router.deadLetters.discard({ filter: { id: first!.id }, actor: "ann" });
    ill.state.well = true;
    await w.router.deadLetters.retryEvent(second!.id, { actor: "ann" });
    await w.pass(10);
    ill.state.well = false;
    await w.pass(20 * MINUTE);
    expect(w.router.deadLetters.counts()).toEqual({ pending: 1, retrying: 0, recovered: 1, discarded: 1 });
    expect(said(w, "DLQ_EVENTS_PURGED")).toEqual([]);
    await w.pass(20 * MINUTE);
    expect(w.router.deadLetters.counts()).toEqual({ pending: 1, retrying: 0, recovered: 0, discarded: 0 });
    expect(said(w, "DLQ_EVENTS_PURGED")).toMatchObject([
      { consumer: "ill", dead_letters: 1, event_types: ["HOST_OFFLINE"], requested_by: "dlq_retry" },
    ]);
    expect(w.store.read("SELECT * FROM state_rows WHERE table_name = 'dlq_reported'")).toEqual([]);
  });

  test("sends nothing to a consumer that is away", async () => {
    const w = world();
    const ill = fragile(w, "ill");
    const other = w.runtime([ill.unit]);
    await w.driven(other.start());
    await offline(w, "a");
    await w.pass(10);
    await w.driven(other.stop());
    await start(w, []);
    await w.pass(30 * MINUTE);
    expect(w.router.deadLetters.getPendingEvents()).toMatchObject([{ consumer: "ill", retry_count: 0 }]);
  });
});
