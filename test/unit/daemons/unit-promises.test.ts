/** What every unit is promised by its runtime: `HandlerBase` of the Python system, seen from outside. */
import { afterEach, describe, expect, test } from "vitest";
import { DaemonManager, daemonsUnits, defineCoordinator, defineDaemon, type Unit } from "../../../src/daemons/index.ts";
import { type BuiltinRows, builtinRows } from "../../../src/events/index.ts";
import { seededRandom, silentLog } from "../../../src/kernel/index.ts";
import { type UnitWorld, unitWorld } from "../../fixtures/unit-world.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

const boot = async (units: readonly Unit[] | ((w: UnitWorld<BuiltinRows>) => readonly Unit[])) => {
  const w = unitWorld(builtinRows, { settings: { maxAttempts: 1, breakerThreshold: 1_000 } });
  worlds.push(w);
  const { clock } = w;
  const manager = new DaemonManager({ clock, random: seededRandom(6), log: silentLog(), nodeId: "n1", pid: 1 });
  const beats: Record<string, unknown>[] = [];
  w.router.subscribe("COORDINATOR_HEARTBEAT", ({ payload }) => void beats.push(payload));
  const runtime = w.runtime(typeof units === "function" ? units(w) : units, { manager });
  await w.driven(runtime.start());
  const offline = (node_id: string) => w.router.publish("HOST_OFFLINE", { node_id, reason: "silent" } as never);
  const lastBeat = (name: string) => beats.filter(({ coordinator_name }) => coordinator_name === name).at(-1)!;
  return { w, manager, runtime, beats, offline, lastBeat };
};

/** Fails on every event whose node begins with 'bad'. */
const picky = (heard: string[] = []) =>
  defineCoordinator({
    name: "picky",
    layer: 1,
    placement: "leader",
    emits: [],
    on: {
      HOST_OFFLINE({ payload }) {
        if (payload.node_id.startsWith("bad")) throw new Error(`no luck with ${payload.node_id}`);
        heard.push(payload.node_id);
      },
    },
  });

/** The units of this room, where nobody serves an API. */
const ours = (w: UnitWorld<BuiltinRows>) =>
  daemonsUnits({
    ...w,
    random: seededRandom(6),
    surface: { check: async () => [], reopen: async () => {}, sample() {} },
  });

describe("every unit", () => {
  test("says that it lives, coordinators and daemons alike", async () => {
    const { w, beats } = await boot((world) => ours(world));
    await w.pass(40_000);
    const names = new Set(beats.map(({ coordinator_name }) => coordinator_name));
    expect([...names].sort()).toEqual(
      ours(w)
        .map(({ name }) => name)
        .sort(),
    );
    expect(beats.every(({ health, paused }) => health === "running" && paused === undefined)).toBe(true);
  });

  test.each([
    [20, "running"],
    [21, "degraded"],
    [50, "degraded"],
    [51, "stopped"],
  ] as const)(
    "of whose last 100 pieces of work %i failed is %s, and errors do not count as handled",
    async (bad, status) => {
      const { w, runtime, offline } = await boot([picky()]);
      for (let i = 0; i < 100; i += 1) await offline(`${i < bad ? "bad" : "good"}-${i}`);
      await w.pass(1_000);
      expect(runtime.status()[0]).toMatchObject({ status, handled_events: 100 - bad, failed_events: bad });
      expect(runtime.status()[0]!.recent_errors).toHaveLength(5);
      expect(runtime.status()[0]!.recent_errors.at(-1)).toMatchObject({
        kind: "event",
        error: expect.stringMatching(/^no luck with bad-/),
      });
    },
  );

  test("tells its watchdog how long its oldest work has been running, and how late its loop is", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const slow = defineDaemon({
      name: "slow",
      layer: 1,
      placement: "leader",
      emits: [],
      timeoutMs: 3_600_000,
      loop: { everyMs: 1_000, tick: () => never },
    });
    const { w, lastBeat } = await boot([slow, picky()]);
    await w.pass(95_000);
    expect(lastBeat("slow")).toMatchObject({
      busy_seconds: expect.closeTo(90, 0),
      overdue_seconds: expect.closeTo(89, 0),
    });
    expect(lastBeat("picky")).not.toHaveProperty("busy_seconds");
  });

  test("is not late because somebody set the clock", async () => {
    const tidy = defineDaemon({
      ...{ name: "tidy", layer: 1, placement: "leader", emits: [] },
      loop: { everyMs: 60_000, tick: () => undefined },
    } as const);
    const { w, lastBeat } = await boot([tidy]);
    await w.pass(70_000);
    w.clock.setWall(3_600_000);
    await w.pass(40_000);
    expect(lastBeat("tidy")).not.toHaveProperty("overdue_seconds");
  });

  test("has been up as long as it has, and not since another hour because somebody set the clock", async () => {
    const tidy = defineDaemon({
      ...{ name: "tidy", layer: 1, placement: "leader", emits: [] },
      loop: { everyMs: 60_000, tick: () => undefined },
    } as const);
    const { w, manager } = await boot([tidy]);
    const upSeconds = () => manager.report().find(({ name }) => name === "tidy")!.uptime_seconds;
    const before = upSeconds();
    w.clock.setWall(3_600_000);
    await w.pass(10_000);
    w.clock.setWall(-2 * 3_600_000);
    expect(upSeconds()).toBeCloseTo(before + 10, 1);
  });

  test("that is stopped hears nothing, says that it is off duty, and has all it is owed when it is back", async () => {
    const heard: string[] = [];
    const { w, manager, runtime, offline, lastBeat } = await boot([picky(heard)]);
    await offline("a");
    await w.pass(1_000);
    await w.driven(manager.stop("picky"));
    await w.driven(manager.stop("picky"));
    await offline("b");
    await w.pass(40_000);
    expect(heard).toEqual(["a"]);
    expect(lastBeat("picky")).toMatchObject({ health: "stopped", paused: "stopped" });
    expect(runtime.status()[0]).toMatchObject({ subscribed: false, message: "paused: stopped" });
    expect(await w.driven(manager.start("picky"))).toBe(true);
    await w.pass(1_000);
    expect(heard).toEqual(["a", "b"]);
  });

  test("that stops lets a handler at work come to its end, and takes nothing new", async () => {
    const gate = Promise.withResolvers<void>();
    const heard: string[] = [];
    const slow = defineCoordinator({
      name: "slow",
      layer: 1,
      placement: "leader",
      emits: [],
      on: {
        async HOST_OFFLINE({ payload }) {
          await gate.promise;
          heard.push(payload.node_id);
        },
      },
    });
    const { w, manager, offline } = await boot([slow]);
    const event = await offline("a");
    await w.pass(100);
    const stopped = manager.stop("slow");
    await w.pass(100);
    gate.resolve();
    expect(await w.driven(stopped)).toBe(true);
    await w.router.settled(event);
    expect(heard).toEqual(["a"]);
  });
});
