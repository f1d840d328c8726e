import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows } from "../../../events/index.ts";
import { seededRandom, silentLog } from "../../../kernel/index.ts";
import type { BlockReport } from "../../main-loop/watchdog.thread.ts";
import { DaemonManager } from "../../supervisor/daemon-manager.ts";
import { defineDaemon } from "../../unit/shape.ts";
import { daemonWatchdog } from "./daemon-watchdog.unit.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
const world = () => {
  const opened = unitWorld(builtinRows);
  worlds.push(opened);
  return opened;
};
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

const beat = (w: UnitWorld<BuiltinRows>, coordinator_name: string, more: Record<string, unknown> = {}) =>
  w.router.publish(
    "COORDINATOR_HEARTBEAT",
    { coordinator_name, node_id: "n1", health: "running", handled_events: 0, failed_events: 0, ...more } as never,
    { source: "test" },
  );

const told = (w: UnitWorld<BuiltinRows>) =>
  w.router
    .history({ fromJournal: true })
    .filter(({ source }) => source.startsWith("daemon_watchdog"))
    .map(
      ({ eventType, payload }) =>
        `${eventType} ${payload.coordinator_name ?? payload.daemon_name ?? payload.component}`,
    );

describe("the watchdog", () => {
  test("tells of a unit that went silent once, and of its return once it lasts", async () => {
    const w = world();
    await w.driven(w.runtime([daemonWatchdog({ router: { nodeId: "n1" } })]).start());
    await beat(w, "lost");
    await w.pass(80_000);
    expect(told(w)).toEqual([]);
    await w.pass(20_000);
    expect(told(w)).toEqual(["COORDINATOR_HEALTH_DEGRADED lost", "DAEMON_STATUS_CHANGED lost"]);
    await w.pass(400_000);
    expect(told(w).slice(2)).toEqual(["COORDINATOR_UNHEALTHY lost", "DAEMON_STATUS_CHANGED lost"]);
    expect(w.router.history({ fromJournal: true }).at(-1)!.payload).toMatchObject({
      daemon_state: "failed",
      previous_daemon_state: "degraded",
      reason: expect.stringMatching(/^silent: no heartbeat for 30\d s$/),
    });
    for (let i = 0; i < 5; i += 1) {
      await beat(w, "lost");
      await w.pass(30_000);
    }
    expect(told(w).slice(4)).toEqual(["COORDINATOR_HEALTHY lost", "DAEMON_STATUS_CHANGED lost"]);
  });

  test("remembers over a restart what it told, and tells the recovery", async () => {
    const w = world();
    const first = w.runtime([daemonWatchdog({ router: { nodeId: "n1" } })]);
    await w.driven(first.start());
    await beat(w, "busy", { busy_seconds: 400 });
    await w.pass(10_000);
    expect(told(w)).toEqual(["COORDINATOR_UNHEALTHY busy", "DAEMON_STATUS_CHANGED busy"]);
    await w.driven(first.stop());
    await w.driven(w.runtime([daemonWatchdog({ router: { nodeId: "n1" } })]).start());
    for (let i = 0; i < 4; i += 1) {
      await beat(w, "busy");
      await w.pass(30_000);
    }
    expect(told(w).slice(2)).toEqual(["COORDINATOR_HEALTHY busy", "DAEMON_STATUS_CHANGED busy"]);
  });

  test("hears real units: one whose loop fails is told, one that is paused is not", async () => {
    const w = world();
    const failing = defineDaemon({
      name: "failing",
      layer: 2,
      placement: "leader",
      emits: [],
      loop: {
        everyMs: 1_000,
        tick() {
          throw new Error("no luck");
        },
      },
    });
    const runtime = w.runtime([daemonWatchdog({ router: { nodeId: "n1" } }), failing]);
    await w.driven(runtime.start());
    await w.pass(120_000);
    expect(told(w)).toEqual(["COORDINATOR_UNHEALTHY failing", "DAEMON_STATUS_CHANGED failing"]);
    expect(runtime.status().find(({ name }) => name === "failing")!.recent_errors).toHaveLength(5);
  });

  test("tells nothing of units that wait for one that was stopped: they are not ill, and say for whom they wait", async () => {
    const w = world();
    const unit = (name: string, dependsOn: readonly string[]) =>
      defineDaemon({
        name,
        layer: 2,
        placement: "leader",
        dependsOn,
        emits: [],
        loop: { everyMs: 1_000, tick: () => undefined },
      });
    const manager = new DaemonManager({
      clock: w.clock,
      random: seededRandom(2),
      log: silentLog(),
      nodeId: "n1",
      pid: 1,
    });
    const watchdog = daemonWatchdog({ router: { nodeId: "n1" } });
    const units = [watchdog, unit("root", []), unit("near", ["root"]), unit("far", ["near"])];
    const runtime = w.runtime(units, { manager });
    await w.driven(runtime.start());
    await w.driven(manager.stop("root"));
    await w.pass(400_000);
    expect(told(w)).toEqual([]);
    expect([...runtime.waiting()]).toEqual([
      ["near", "root"],
      ["far", "root"],
    ]);
    const messages = Object.fromEntries(runtime.status().map(({ name, message }) => [name, message]));
    expect(messages).toMatchObject({
      root: "paused: stopped",
      near: "paused: waits for 'root'",
      far: "paused: waits for 'root'",
    });
    await w.driven(manager.start("root"));
    await w.pass(60_000);
    expect(told(w)).toEqual([]);
    expect([...runtime.waiting()]).toEqual([]);
  });

  test("leaves the units of other nodes and those that are paused alone", async () => {
    const w = world();
    await w.driven(w.runtime([daemonWatchdog({ router: { nodeId: "n1" } })]).start());
    await beat(w, "elsewhere", { node_id: "n2" });
    await beat(w, "held", { health: "stopped", paused: "backpressure" });
    await w.pass(1_000_000);
    expect(told(w)).toEqual([]);
  });

  test("tells of a blocked main loop with its stack, and takes note only once that is on disk", async () => {
    const w = world();
    const reports: BlockReport[] = [{ since: 5_000, blockedMs: 3_000, stack: ["at innocentBlocker (x.ts:1:1)"] }];
    const noted: BlockReport[] = [];
    const mainLoop = {
      reports: () => reports.filter((report) => !noted.includes(report)),
      noted: (taken: readonly BlockReport[]) => void noted.push(...taken),
      blocks: 1,
      fault: null,
      loopDelay: () => ({ meanMs: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 }),
    };
    await w.driven(w.runtime([daemonWatchdog({ router: { nodeId: "n1" }, mainLoop })]).start());
    await w.pass(30_000);
    const errors = w.router.history({ fromJournal: true, eventType: "ERROR" });
    expect(errors).toHaveLength(1);
    expect(errors[0]!.payload).toMatchObject({
      component: "main_loop",
      error_code: "MAIN_LOOP_BLOCKED",
      error: "the main loop did not answer for 3.0 s: at innocentBlocker (x.ts:1:1)",
      details: { since: 5, blocked_seconds: 3, stack: ["at innocentBlocker (x.ts:1:1)"] },
    });
    expect(noted).toHaveLength(1);
  });
});
