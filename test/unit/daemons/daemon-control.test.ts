import { afterEach, describe, expect, test } from "vitest";
import { DaemonManager, defineDaemon, supervisionStore } from "../../../src/daemons/index.ts";
import { daemonControl } from "../../../src/daemons/units/daemon-control/daemon-control.unit.ts";
import { type BuiltinRows, builtinRows } from "../../../src/events/index.ts";
import { seededRandom, silentLog } from "../../../src/kernel/index.ts";
import type { EventRouter } from "../../../src/router/index.ts";
import { type UnitWorld, unitWorld } from "../../fixtures/unit-world.ts";

type World = UnitWorld<BuiltinRows>;
const worlds: World[] = [];
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});
const open = () => {
  const world = unitWorld(builtinRows);
  worlds.push(world);
  return world;
};

/** A daemon that does nothing, under the name of one that the table knows. */
const idle = (name: string, placement: "leader" | "each-node" = "each-node") =>
  defineDaemon({ name, layer: 2, placement, emits: [], loop: { everyMs: 1_000, tick() {} } });

/** A process: a supervisor with its books in the world's store, and the units in it. */
const boot = async (w: World, units = [idle("selfplay_scheduler"), idle("auto_sync"), idle("trainer", "leader")]) => {
  const manager = new DaemonManager({
    clock: w.clock,
    random: seededRandom(3),
    log: silentLog(),
    nodeId: "n1",
    pid: 1,
    store: supervisionStore(w.router as unknown as EventRouter),
  });
  const leaderUnits = () => new Set(units.filter(({ placement }) => placement === "leader").map(({ name }) => name));
  const runtime = w.runtime([daemonControl({ supervisor: manager, router: { nodeId: "n1" } }, leaderUnits), ...units], {
    manager,
  });
  await w.driven(runtime.start());
  return {
    manager,
    runtime,
    control: () => runtime.status().find(({ name }) => name === "daemon_control")!,
    async end() {
      await w.driven(manager.shutdown());
      await w.driven(runtime.stop());
    },
  };
};

const say = async (w: World, type: string, payload: Record<string, unknown>) => {
  await w.router.settled(await w.router.publish(type, payload, { source: "test" }));
  await w.pass(1_000);
};
const pressure = (scope: string, level: string) => ({
  scope,
  level,
  resource_level: level === "none" ? "none" : "critical",
  previous_level: "none",
  reason: "too much",
  rate_multiplier: level === "none" ? 1 : 0,
  queue_depth: 1_000,
  waited_seconds: 60,
});
const running = ({ manager }: { manager: DaemonManager }) =>
  Object.values(manager.getStatus())
    .filter(({ state }) => state === "running")
    .map(({ name }) => name)
    .sort();

describe("daemon_control", () => {
  test("pauses producers under backpressure, never sync, and resumes them when the last scope is released", async () => {
    const w = open();
    const p = await boot(w);
    expect(running(p)).toEqual(["auto_sync", "daemon_control", "selfplay_scheduler", "trainer"]);
    await say(w, "BACKPRESSURE_ACTIVATED", pressure("games", "hard"));
    await say(w, "BACKPRESSURE_ACTIVATED", pressure("disk", "stop"));
    expect(running(p)).toEqual(["auto_sync", "daemon_control", "trainer"]);
    expect(p.manager.getStatus().selfplay_scheduler!.paused).toBe(
      "backpressure 'hard' on games: too much; backpressure 'stop' on disk: too much",
    );
    await say(w, "BACKPRESSURE_RELEASED", pressure("games", "none"));
    expect(running(p)).toEqual(["auto_sync", "daemon_control", "trainer"]);
    await say(w, "BACKPRESSURE_RELEASED", pressure("disk", "none"));
    expect(running(p)).toEqual(["auto_sync", "daemon_control", "selfplay_scheduler", "trainer"]);
  });

  test("an operator's hold and its own stand beside each other", async () => {
    const w = open();
    const p = await boot(w);
    p.manager.pause("selfplay_scheduler", "looking into it");
    await say(w, "BACKPRESSURE_ACTIVATED", pressure("games", "hard"));
    await say(w, "BACKPRESSURE_RELEASED", pressure("games", "none"));
    expect(p.manager.getStatus().selfplay_scheduler!.paused).toBe("looking into it");
    p.manager.resume("selfplay_scheduler");
    await w.pass(1_000);
    expect(p.manager.isRunning("selfplay_scheduler")).toBe(true);
  });

  test("holds survive a restart, also for units that are new then, and events that came meanwhile lift them", async () => {
    const w = open();
    const first = await boot(w);
    await say(w, "BACKPRESSURE_ACTIVATED", pressure("games", "hard"));
    await first.end();
    const second = await boot(w, [idle("selfplay_scheduler"), idle("idle_resource_daemon")]);
    expect(running(second)).toEqual(["daemon_control"]);
    await second.end();
    await w.router.publish("BACKPRESSURE_RELEASED", pressure("games", "none") as never, { source: "test" });
    const third = await boot(w);
    await w.pass(1_000);
    expect(running(third)).toContain("selfplay_scheduler");
    expect(
      third.manager
        .actions()
        .filter(({ actor }) => actor === "daemon_control")
        .map(({ action, daemon }) => `${action} ${daemon}`),
    ).toEqual(["held selfplay_scheduler", "held idle_resource_daemon", "released selfplay_scheduler"]);
  });

  test("leader units pause while another node leads, and a word about an older leader changes nothing", async () => {
    const w = open();
    const p = await boot(w);
    const elected = (epoch: number, leader_node_id: string) =>
      say(w, "LEADER_ELECTED", { cluster_id: "c", epoch, leader_node_id });
    await elected(4, "n2");
    expect(p.manager.getStatus().trainer).toMatchObject({ state: "stopped", paused: "n2 leads c, not this node" });
    expect(running(p)).toContain("selfplay_scheduler");
    await elected(5, "n1");
    expect(p.manager.isRunning("trainer")).toBe(true);
    await say(w, "LEADER_LOST", { cluster_id: "c", epoch: 3, previous_leader_node_id: "n1", reason: "old news" });
    expect(p.manager.isRunning("trainer")).toBe(true);
    await say(w, "LEADER_STEPDOWN", { cluster_id: "c", epoch: 5, previous_leader_node_id: "n1", reason: "upgrade" });
    expect(p.manager.isRunning("trainer")).toBe(false);
  });

  test("shows what is no reason to pause anybody, until it is over or nobody repeats it", async () => {
    const w = open();
    const p = await boot(w);
    const about = { daemon_name: "auto_sync", node_id: "n1", previous_daemon_state: "running", reason: "silent" };
    await say(w, "TRAINING_BLOCKED_BY_QUALITY", { config_key: "hex8_2p", quality_score: 0.4, threshold: 0.6 });
    await say(w, "DAEMON_STATUS_CHANGED", { ...about, daemon_state: "failed" });
    const shown = () => (p.control().details.conditions as { key: string }[]).map(({ key }) => key).sort();
    expect(shown()).toEqual(["daemon:auto_sync", "quality:hex8_2p"]);
    expect(running(p)).toHaveLength(4);
    await say(w, "DAEMON_STATUS_CHANGED", { ...about, daemon_state: "running" });
    expect(shown()).toEqual(["quality:hex8_2p"]);
    await w.pass(7 * 3_600_000);
    expect(shown()).toEqual([]);
  });

  test("one that is held hears nothing until it is resumed, and then all that it is owed", async () => {
    const w = open();
    const heard: string[] = [];
    const listener = defineDaemon({
      name: "selfplay_scheduler",
      layer: 2,
      placement: "leader",
      emits: [],
      // The second one is among those without which nothing is ready.
      on: { HOST_OFFLINE: ({ payload }) => void heard.push(payload.node_id), TRAINING_COMPLETED() {} },
      loop: { everyMs: 1_000, tick() {} },
    });
    const p = await boot(w, [listener as never]);
    const offline = (node_id: string) => w.router.publish("HOST_OFFLINE", { node_id, reason: "silent" } as never);
    await offline("a");
    await w.pass(1_000);
    await say(w, "BACKPRESSURE_ACTIVATED", pressure("games", "hard"));
    expect(p.runtime.status().find(({ name }) => name === "selfplay_scheduler")).toMatchObject({
      subscribed: false,
      message: "paused: backpressure 'hard' on games: too much",
    });
    expect(p.runtime.readiness()).toMatchObject({ ready: true, unsubscribed: [] });
    await offline("b");
    await w.pass(60_000);
    expect(heard).toEqual(["a"]);
    await say(w, "BACKPRESSURE_RELEASED", pressure("games", "none"));
    expect(heard).toEqual(["a", "b"]);
  });
});
