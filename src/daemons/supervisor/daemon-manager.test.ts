import { describe, expect, test } from "vitest";
import { aborted, managerWorld } from "../../../test/fixtures/manager-world.ts";
import { isOperatingError } from "../../kernel/index.ts";
import type { DaemonContext, DaemonHealth, DaemonOptions } from "./daemon.ts";
import type { DaemonManager } from "./daemon-manager.ts";
import { memorySupervisionStore } from "./supervision-store.ts";

/** A daemon that is ready at once, and ends when it is told to. */
const steady = async ({ ready, signal }: DaemonContext) => {
  ready();
  await aborted(signal);
};

/** A daemon that never ends. */
const deaf = ({ ready }: DaemonContext) => {
  ready();
  return new Promise<void>(() => {});
};

const register = (manager: DaemonManager, daemonType: string, more: Partial<DaemonOptions> = {}) =>
  manager.registerFactory({ daemonType, factory: steady, ...more });

/** A daemon whose present run the test can break. */
const breakable = () => {
  let fail: (error: Error) => void = () => {};
  return {
    break: (message = "broken") => fail(new Error(message)),
    factory: ({ ready, signal }: DaemonContext) =>
      new Promise<void>((resolve, reject) => {
        ready();
        fail = reject;
        signal.addEventListener("abort", () => resolve(), { once: true });
      }),
  };
};

const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return "none";
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : String(thrown);
  }
};

test("what is registered after the shutdown is refused, and does not start", async () => {
  const { manager, driven, pass } = managerWorld({ config: { autoStart: true } });
  register(manager, "a");
  await driven(manager.shutdown());
  let runs = 0;
  const factory = async () => {
    runs += 1;
  };
  expect(await codeOf(() => manager.registerFactory({ daemonType: "late", factory }))).toBe("MANAGER_STOPPED");
  await pass(60_000);
  expect(runs).toBe(0);
});

describe("starting", () => {
  test("waits for dependencies when asked to, and is refused otherwise", async () => {
    const { manager, driven, pass, said } = managerWorld();
    register(manager, "a");
    register(manager, "b", { dependsOn: ["a"] });
    expect(await manager.start("b")).toBe(false);
    expect(manager.getStatus().b).toMatchObject({ wanted: false, state: "stopped" });
    const waiting = manager.start("b", { waitForDeps: true });
    await pass(1_000);
    expect(manager.getStatus().b).toMatchObject({ wanted: true, paused: "waits for 'a': b -> a" });
    expect(await driven(manager.start("a"))).toBe(true);
    expect(await driven(waiting)).toBe(true);
    await pass(0);
    expect(said).toEqual(["DAEMON_STARTED a", "DAEMON_STARTED b"]);
  });

  test("gives up waiting after the time limit, and leaves nothing wanted", async () => {
    const { manager, driven, clock } = managerWorld();
    register(manager, "a");
    register(manager, "b", { dependsOn: ["a"] });
    const begun = clock.monotonic();
    expect(await driven(manager.start("b", { waitForDeps: true }))).toBe(false);
    expect(clock.monotonic() - begun).toBe(30_000);
    expect(manager.getStatus().b!.wanted).toBe(false);
  });

  test("all of them goes in the order of dependencies, and each waits until the last is ready", async () => {
    const { manager, driven } = managerWorld();
    const order: string[] = [];
    const noting =
      (name: string, readyMs: number): DaemonOptions["factory"] =>
      async ({ ready, signal, clock }) => {
        order.push(`${name} begins`);
        clock.after(readyMs, () => {
          order.push(`${name} is ready`);
          ready();
        });
        await aborted(signal);
        order.push(`${name} ends`);
      };
    register(manager, "c", { factory: noting("c", 10), dependsOn: ["b"], readyAfterMs: null });
    register(manager, "a", { factory: noting("a", 700), readyAfterMs: null });
    register(manager, "b", { factory: noting("b", 300), dependsOn: ["a"], readyAfterMs: null });
    expect(await driven(manager.startAll())).toEqual({ started: ["c", "a", "b"], notStarted: {} });
    expect(await driven(manager.shutdown())).toEqual({ hung: [] });
    expect(order).toEqual([
      "a begins",
      "a is ready",
      "b begins",
      "b is ready",
      "c begins",
      "c is ready",
      "c ends",
      "b ends",
      "a ends",
    ]);
  });

  test("counts as done when the daemon says so, is asked and answers, or has had its time", async () => {
    const { manager, pass } = managerWorld();
    let up = false;
    register(manager, "asked", { factory: ({ signal }) => aborted(signal), isReady: () => up });
    register(manager, "silent", { factory: ({ signal }) => aborted(signal) });
    void manager.startAll();
    await pass(1_999);
    expect(manager.isRunning("silent")).toBe(false);
    await pass(1);
    expect([manager.isRunning("silent"), manager.isRunning("asked")]).toEqual([true, false]);
    up = true;
    await pass(500);
    expect(manager.isRunning("asked")).toBe(true);
  });

  test("a daemon that does not become ready in time has failed, and is tried again", async () => {
    const { manager, driven, pass, store } = managerWorld();
    register(manager, "slow", { factory: ({ signal }) => aborted(signal), readyAfterMs: null });
    expect(await driven(manager.start("slow"))).toBe(false);
    expect(manager.getStatus().slow).toMatchObject({ state: "restarting", lastError: "not ready after 30 s" });
    await pass(15_000);
    expect(manager.getStatus().slow).toMatchObject({ state: "starting", restarts: 1 });
    expect(store.actions().map(({ action }) => action)).toContain("failed");
  });

  test("a profile needs all that its daemons stand on, and must exist", async () => {
    const profiles = { whole: ["a", "b"], holed: ["b"] };
    const { manager, driven } = managerWorld({ profiles });
    register(manager, "a");
    register(manager, "b", { dependsOn: ["a"] });
    register(manager, "other");
    expect(await codeOf(() => manager.startAll({ profile: "holed" }))).toBe("PROFILE_NOT_CLOSED");
    expect(await codeOf(() => manager.startAll({ profile: "none" }))).toBe("UNKNOWN_PROFILE");
    expect(await driven(manager.startAll({ profile: "whole" }))).toEqual({ started: ["a", "b"], notStarted: {} });
    expect(manager.isRunning("other")).toBe(false);
  });

  test("a broken graph stops the broken ones, and in strict mode all", async () => {
    const lenient = managerWorld();
    register(lenient.manager, "a");
    register(lenient.manager, "b", { dependsOn: ["gone"] });
    const { started, notStarted } = await lenient.driven(lenient.manager.startAll());
    expect(started).toEqual(["a"]);
    expect(notStarted.b).toContain("b -> gone");
    expect(await codeOf(() => lenient.manager.start("b"))).toBe("UNKNOWN_DEPENDENCY");

    const strict = managerWorld({ config: { strictRegistryValidation: true } });
    register(strict.manager, "a", { dependsOn: ["b"] });
    register(strict.manager, "b", { dependsOn: ["a"] });
    expect(await codeOf(() => strict.manager.startAll())).toBe("DEPENDENCY_CYCLE");
  });

  test("happens by itself where it is set so, as soon as dependencies are there", async () => {
    const { manager, pass } = managerWorld({ config: { autoStart: true } });
    register(manager, "b", { dependsOn: ["a"] });
    register(manager, "a");
    await pass(0);
    expect([manager.isRunning("a"), manager.isRunning("b")]).toEqual([true, true]);
  });

  test("by a daemon type means the unit that answers for it; of none it is an error", async () => {
    const { manager, driven } = managerWorld();
    register(manager, "event_router", { daemonTypes: ["EVENT_ROUTER", "CROSS_PROCESS_POLLER"] });
    expect(await driven(manager.start("EVENT_ROUTER"))).toBe(true);
    expect(manager.isRunning("cross_process_poller")).toBe(true);
    expect(await codeOf(() => register(manager, "CROSS_PROCESS_POLLER"))).toBe("INVALID_DAEMON");
    expect(Object.keys(manager.getStatus())).toEqual(["event_router"]);
    expect(await codeOf(() => manager.start("AUTO_SYNC"))).toBe("DAEMON_NOT_BUILT");
    expect(await codeOf(() => manager.start("nothing"))).toBe("UNKNOWN_DAEMON");
    expect(await codeOf(() => register(manager, "event_router"))).toBe("INVALID_DAEMON");
  });
});

describe("a daemon that fails", () => {
  test("is restarted later and later, told as a crash loop, and given up when its budget is spent", async () => {
    const { manager, clock, pass, said } = managerWorld();
    const begun: number[] = [];
    register(manager, "bad", {
      factory: async ({ ready }) => {
        begun.push(clock.monotonic());
        ready();
        throw new Error("no luck");
      },
    });
    void manager.start("bad");
    await pass(3_600_000);
    expect(begun).toHaveLength(6);
    const waits = begun.slice(1).map((at, i) => at - begun[i]!);
    for (const [i, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(10_000 * 2 ** i);
      expect(wait).toBeLessThanOrEqual((10_000 * 2 ** i) / 0.9 + 1);
    }
    const failed = "DAEMON_STATUS_CHANGED bad";
    expect(said.filter((each) => !each.startsWith("DAEMON_STARTED"))).toEqual([
      ...[failed, failed, failed, "DAEMON_CRASH_LOOP_DETECTED bad"],
      ...[failed, failed, failed, "DAEMON_PERMANENTLY_FAILED bad"],
    ]);
    expect(manager.isPermanentlyFailed("bad")).toBe(true);
    expect(manager.getStatus().bad).toMatchObject({ state: "failed", restarts: 5, lastError: "no luck" });
    expect(await codeOf(() => manager.start("bad"))).toBe("DAEMON_GIVEN_UP");
    await pass(86_400_000);
    expect(begun).toHaveLength(6);
  });

  test("starts again after an explicit reset only, with a whole budget", async () => {
    const { manager, pass, store } = managerWorld();
    let runs = 0;
    register(manager, "bad", {
      maxRestarts: 1,
      factory: async () => {
        runs += 1;
        throw new Error("no luck");
      },
    });
    void manager.start("bad");
    await pass(60_000);
    expect(runs).toBe(2);
    expect(manager.clearPermanentlyFailed("bad", { actor: "ann" })).toBe(true);
    expect(manager.clearPermanentlyFailed("bad")).toBe(false);
    await pass(60_000);
    expect(runs).toBe(4);
    expect(store.actions().find(({ action }) => action === "reset")).toMatchObject({ daemon: "bad", actor: "ann" });
  });

  test("keeps its records from one process to the next", async () => {
    const store = memorySupervisionStore();
    const failing: Partial<DaemonOptions> = {
      maxRestarts: 2,
      factory: async () => {
        throw new Error("no luck");
      },
    };
    const first = managerWorld({ store });
    register(first.manager, "bad", failing);
    void first.manager.start("bad");
    await first.pass(15_000);
    expect(first.manager.getStatus().bad).toMatchObject({ restarts: 1 });

    // No shutdown: the process was killed.
    const second = managerWorld({ store });
    register(second.manager, "bad", failing);
    expect(second.manager.getStatus().bad).toMatchObject({ restarts: 1, permanentFailure: null });
    void second.manager.start("bad");
    await second.pass(600_000);
    expect(second.manager.getStatus().bad).toMatchObject({ restarts: 2, state: "failed" });

    const third = managerWorld({ store });
    register(third.manager, "bad", failing);
    expect(third.manager.isPermanentlyFailed("bad")).toBe(true);
    expect(third.manager.getStatus().bad!.conditions).toContainEqual(
      expect.objectContaining({ type: "PermanentlyFailed", status: "true", reason: "RestartsSpent" }),
    );
  });

  test("is left alone where restarts are off, and may be started by hand", async () => {
    const { manager, pass, driven } = managerWorld();
    const daemon = breakable();
    register(manager, "once", { factory: daemon.factory, autoRestart: false });
    await driven(manager.start("once"));
    daemon.break();
    await pass(3_600_000);
    expect(manager.getStatus().once).toMatchObject({ state: "failed", restarts: 0, permanentFailure: null });
    expect(await driven(manager.start("once"))).toBe(true);
  });

  test("whose module is missing is not tried again", async () => {
    const { manager, pass } = managerWorld();
    const missing = "./no-such-module.ts";
    let runs = 0;
    register(manager, "absent", {
      factory: async () => {
        runs += 1;
        // As the loader of Node reports it.
        throw Object.assign(new Error(`Cannot find module '${missing}'`), { code: "ERR_MODULE_NOT_FOUND" });
      },
    });
    void manager.start("absent");
    await pass(600_000);
    expect(runs).toBe(1);
    expect(manager.getStatus().absent!.state).toBe("import_failed");
  });

  test("pauses its dependents, which rise with it and pay nothing; one cause is one group", async () => {
    const { manager, pass, driven, store, said } = managerWorld();
    const ground = breakable();
    register(manager, "a", { factory: ground.factory });
    register(manager, "b", { dependsOn: ["a"] });
    register(manager, "c", { dependsOn: ["b"] });
    await driven(manager.startAll());
    ground.break("the ground gave way");
    await pass(5_000);
    expect(manager.getStatus()).toMatchObject({
      a: { state: "restarting", restarts: 0 },
      b: { state: "stopped", paused: "waits for 'a': b -> a" },
      c: { state: "stopped", paused: "waits for 'a': c -> b -> a" },
    });
    const { conditions } = manager.getStatus().c!;
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: "DependenciesReady", status: "false", reason: "DependencyDown" }),
    );
    await pass(10_000);
    expect(Object.values(manager.getStatus()).map(({ state, restarts }) => [state, restarts])).toEqual([
      ["running", 1],
      ["running", 0],
      ["running", 0],
    ]);
    const group = store.actions().filter(({ cause }) => cause === "a");
    expect(group.map(({ daemon, action }) => `${daemon} ${action}`)).toEqual(["a failed", "b stopped", "c stopped"]);
    expect(said.slice(3)).toEqual([
      "DAEMON_STATUS_CHANGED a",
      "DAEMON_STOPPED b",
      "DAEMON_STOPPED c",
      "DAEMON_STARTED a",
      "DAEMON_STARTED b",
      "DAEMON_STARTED c",
    ]);
  });

  test("just before its dependency falls does not pay for it", async () => {
    const { manager, pass, driven } = managerWorld();
    const ground = breakable();
    const upper = breakable();
    register(manager, "a", { factory: ground.factory });
    register(manager, "b", { factory: upper.factory, dependsOn: ["a"] });
    await driven(manager.startAll());
    upper.break("my ground shakes");
    await pass(100);
    ground.break();
    await pass(60_000);
    expect(manager.getStatus()).toMatchObject({ a: { restarts: 1 }, b: { restarts: 0, state: "running" } });
  });

  test("together with many others makes those that are not critical wait", async () => {
    const { manager, pass, said, store } = managerWorld({ config: { cascadeRestarts: 4 } });
    const bad: Partial<DaemonOptions> = {
      factory: async () => {
        throw new Error("no disk");
      },
    };
    for (const name of ["p", "q", "r", "s"]) register(manager, name, bad);
    register(manager, "vital", { ...bad, critical: true });
    void manager.startAll();
    await pass(35_000);
    expect(said).toContain("ERROR daemon_manager");
    expect(store.actions().filter(({ action }) => action === "cascade_pause")).toHaveLength(1);
    await pass(60_000);
    const restarts = Object.values(manager.getStatus()).map(({ name, restarts: n }) => [name, n]);
    expect(restarts).toContainEqual(["vital", 3]);
    expect(Math.max(...restarts.filter(([name]) => name !== "vital").map(([, n]) => Number(n)))).toBe(1);
  });
});

describe("health", () => {
  const judged = (healthCheck: () => DaemonHealth | Promise<DaemonHealth>, more: Partial<DaemonOptions> = {}) => {
    const world = managerWorld();
    register(world.manager, "d", { healthCheck, startupGraceMs: 100_000, ...more });
    return world;
  };

  test("is asked every 30 s, and every 15 s of a critical daemon", async () => {
    for (const [critical, times] of [
      [false, 2],
      [true, 4],
    ] as const) {
      let asked = 0;
      const check = (): DaemonHealth => {
        asked += 1;
        return { status: "running", message: "" };
      };
      const { manager, pass, driven } = judged(check, { critical });
      await driven(manager.start("d"));
      await pass(60_001);
      expect(asked).toBe(times);
    }
  });

  test("that is bad is shown in the grace of the start, and acted upon after it when it stays bad", async () => {
    const { manager, pass, driven } = judged(() => ({ status: "stopped", message: "stuck" }));
    await driven(manager.start("d"));
    await pass(95_000);
    expect(manager.getStatus().d).toMatchObject({ state: "degraded", health: { healthy: false, message: "stuck" } });
    expect(manager.livenessProbe()).toBe(true);
    await pass(70_000);
    expect(manager.isRunning("d")).toBe(true);
    await pass(20_000);
    expect(manager.getStatus().d).toMatchObject({
      state: "restarting",
      lastError: "found dead by 3 health checks: stuck",
    });
  });

  test.each<[string, () => Promise<DaemonHealth>, string]>([
    ["throws", () => Promise.reject(new Error("boom")), "its health check failed: boom"],
    ["hangs", () => new Promise<DaemonHealth>(() => {}), "its health check gave no answer in 5 s"],
  ])("that %s is a verdict within its deadline, and no second question is put meanwhile", async (_, check, message) => {
    let asked = 0;
    const { manager, pass, driven } = judged(() => {
      asked += 1;
      return check();
    });
    await driven(manager.start("d"));
    await pass(36_000);
    expect(manager.getAllDaemonHealth().d).toMatchObject({ healthy: false, status: "stopped", message });
    await pass(60_000);
    expect(asked).toBe(message.includes("answer") ? 1 : 3);
    await pass(160_000);
    expect(manager.getStatus().d!.restarts).toBe(1);
  });

  test("that is only degraded restarts nothing, nor does a daemon that says it is alive", async () => {
    for (const health of [
      { status: "degraded", message: "slow" },
      { status: "stopped", message: "nothing works", alive: true },
    ] as const) {
      const { manager, pass, driven } = judged(() => health);
      await driven(manager.start("d"));
      await pass(3_600_000);
      expect(manager.getStatus().d).toMatchObject({ state: "degraded", restarts: 0 });
    }
  });

  test("of a critical daemon that is given up fails the liveness probe; readiness fails sooner", async () => {
    const { manager, pass } = managerWorld();
    register(manager, "vital", {
      critical: true,
      maxRestarts: 1,
      factory: async () => {
        throw new Error("no luck");
      },
    });
    void manager.start("vital");
    await pass(1_000);
    expect([manager.livenessProbe(), manager.readinessProbe()]).toEqual([true, false]);
    await pass(60_000);
    expect([manager.livenessProbe(), manager.readinessProbe()]).toEqual([false, false]);
  });
});

describe("stopping", () => {
  test("one daemon ends its dependents first; they come back with it", async () => {
    const { manager, driven, pass, said } = managerWorld();
    register(manager, "a");
    register(manager, "b", { dependsOn: ["a"] });
    await driven(manager.startAll());
    expect(await driven(manager.stop("a", { actor: "ann" }))).toBe(true);
    expect(said.slice(2)).toEqual(["DAEMON_STOPPED b", "DAEMON_STOPPED a"]);
    expect(manager.getStatus().b).toMatchObject({ wanted: true, paused: "waits for 'a': b -> a", restarts: 0 });
    expect(await driven(manager.start("a"))).toBe(true);
    await pass(0);
    expect(manager.isRunning("b")).toBe(true);
  });

  test("what never started, and stopping twice, is true at once", async () => {
    const { manager, driven, clock } = managerWorld();
    register(manager, "a");
    expect(await driven(manager.stop("a"))).toBe(true);
    await driven(manager.start("a"));
    expect(await driven(Promise.all([manager.stop("a"), manager.stop("a")]))).toEqual([true, true]);
    await driven(manager.shutdown());
    expect(clock.pending()).toBe(0);
  });

  test("one that does not end is forced, then given up; no second run begins beside it", async () => {
    const { manager, driven, pass, clock, said } = managerWorld();
    let release = () => {};
    let runs = 0;
    let forcedAt = 0;
    register(manager, "stubborn", {
      factory: ({ ready, forced }) => {
        runs += 1;
        ready();
        forced.addEventListener("abort", () => {
          forcedAt = clock.monotonic();
        });
        return new Promise<void>((resolve) => (release = resolve));
      },
    });
    await driven(manager.start("stubborn"));
    const begun = clock.monotonic();
    expect(await driven(manager.stop("stubborn"))).toBe(false);
    expect([forcedAt - begun, clock.monotonic() - begun]).toEqual([30_000, 35_000]);
    await pass(0);
    expect(said.at(-1)).toBe("DAEMON_PERMANENTLY_FAILED stubborn");
    manager.clearPermanentlyFailed("stubborn");
    expect(await driven(manager.start("stubborn"))).toBe(false);
    await pass(60_000);
    expect(manager.getStatus().stubborn).toMatchObject({ paused: "an earlier run of it has not ended" });
    expect(runs).toBe(1);
    release();
    await pass(0);
    expect(runs).toBe(2);
  });

  test("what hung in a process that has ended may run in the next one", async () => {
    const store = memorySupervisionStore();
    const stuck: Partial<DaemonOptions> = { factory: deaf };
    const first = managerWorld({ store });
    register(first.manager, "d", stuck);
    await first.driven(first.manager.start("d"));
    expect(await first.driven(first.manager.shutdown({ timeoutMs: 1_000 }))).toEqual({ hung: ["d"] });
    expect(first.manager.isPermanentlyFailed("d")).toBe(true);
    expect(first.clock.pending()).toBe(0);
    const second = managerWorld({ store });
    register(second.manager, "d", stuck);
    expect(await second.driven(second.manager.start("d"))).toBe(true);
  });

  test("a forced end is over within its time, also when an orderly one is under way and a daemon never ends", async () => {
    const { manager, clock, driven } = managerWorld();
    register(manager, "deaf", { factory: deaf });
    await driven(manager.startAll());
    const begun = clock.monotonic();
    void manager.shutdown();
    expect(await driven(manager.shutdown({ timeoutMs: 300, force: true }))).toEqual({ hung: ["deaf"] });
    expect(clock.monotonic() - begun).toBeLessThanOrEqual(300);
  });

  test("one that was forced already is left behind sooner, if somebody has less time", async () => {
    const { manager, clock, driven } = managerWorld();
    register(manager, "deaf", { factory: deaf });
    await driven(manager.startAll());
    const begun = clock.monotonic();
    void manager.shutdown({ force: true });
    await driven(manager.shutdown({ timeoutMs: 300, force: true }));
    expect(clock.monotonic() - begun).toBeLessThanOrEqual(300);
  });

  test("the health of each daemon says its state", async () => {
    const { manager, driven } = managerWorld();
    register(manager, "up");
    register(manager, "down");
    await driven(manager.start("up"));
    expect(manager.getAllDaemonHealth()).toMatchObject({
      up: { healthy: true, state: "running" },
      down: { healthy: false, state: "stopped" },
    });
  });

  test("all of them takes no longer than the time limits, and with force no time for order", async () => {
    for (const [options, maxMs] of [
      [{ timeoutMs: 10_000 }, 15_000],
      [{ timeoutMs: 10_000, force: true }, 5_000],
    ] as const) {
      const { manager, driven, clock } = managerWorld();
      register(manager, "a");
      register(manager, "b", { dependsOn: ["a"], factory: deaf });
      register(manager, "c", { dependsOn: ["b"], factory: deaf });
      await driven(manager.startAll());
      const begun = clock.monotonic();
      expect(await driven(manager.shutdown(options))).toEqual({ hung: ["b", "c"] });
      expect(clock.monotonic() - begun).toBe(maxMs);
      expect(clock.pending()).toBe(0);
      expect(await codeOf(() => manager.start("a"))).toBe("MANAGER_STOPPED");
    }
  });

  test("a daemon whose work is done has stopped, and is not restarted", async () => {
    const { manager, pass, driven, store } = managerWorld();
    register(manager, "errand", {
      factory: async ({ ready }) => {
        ready();
      },
    });
    await driven(manager.start("errand"));
    await pass(60_000);
    expect(manager.getStatus().errand).toMatchObject({ state: "stopped", wanted: false, restarts: 0 });
    expect(store.actions().at(-1)).toMatchObject({ action: "stopped", reason: "its work is done" });
  });

  test("several reasons may hold one: it comes back when the last is lifted, and an older process's holds still hold", async () => {
    const { manager, driven, pass, store, clock } = managerWorld();
    const daemon = { daemonType: "d", factory: ({ signal }: DaemonContext) => aborted(signal), readyAfterMs: 0 };
    manager.registerFactory(daemon);
    await driven(manager.startAll());
    manager.pause("d", "the queue is full", { hold: "backpressure:queue", actor: "daemon_control" });
    manager.pause("d", "looking into it");
    await pass(1_000);
    expect(manager.getStatus().d).toMatchObject({ state: "stopped", paused: "the queue is full; looking into it" });
    expect(manager.getStatus().d!.conditions).toContainEqual(
      expect.objectContaining({ type: "Held", status: "true", message: "the queue is full; looking into it" }),
    );
    expect(manager.resume("d").map(({ hold }) => hold)).toEqual(["backpressure:queue"]);
    await pass(1_000);
    expect(manager.isRunning("d")).toBe(false);
    await driven(manager.shutdown());

    const second = managerWorld({ store, clock });
    second.manager.registerFactory(daemon);
    await second.driven(second.manager.startAll());
    expect(second.manager.getStatus().d).toMatchObject({
      state: "stopped",
      paused: "the queue is full",
      holds: [{ hold: "backpressure:queue", actor: "daemon_control" }],
    });
    expect(second.manager.resume("d", { all: true })).toEqual([]);
    await second.pass(1_000);
    expect(second.manager.isRunning("d")).toBe(true);
    expect(second.manager.getStatus().d!.conditions).toContainEqual(
      expect.objectContaining({ type: "Held", status: "false" }),
    );
    await second.driven(second.manager.shutdown());
  });

  test("what is held, and what stands on it, does not make a process unready", async () => {
    const { manager, driven, pass } = managerWorld();
    register(manager, "ground");
    register(manager, "house", { dependsOn: ["ground"] });
    register(manager, "shed");
    await driven(manager.startAll());
    manager.pause("ground", "backpressure");
    await pass(1_000);
    expect([manager.isRunning("house"), manager.readinessProbe()]).toEqual([false, true]);
    manager.registerFactory({ daemonType: "broken", factory: () => Promise.reject(new Error("no luck")) });
    await driven(manager.startAll());
    expect(manager.readinessProbe()).toBe(false);
    await driven(manager.shutdown());
  });

  test("holding one shows the reason, and it comes back when it is resumed", async () => {
    const { manager, pass, driven } = managerWorld();
    register(manager, "d");
    await driven(manager.start("d"));
    manager.pause("d", "backpressure");
    await pass(0);
    expect(manager.getStatus().d).toMatchObject({ state: "stopped", wanted: true, paused: "backpressure" });
    manager.resume("d");
    await pass(0);
    expect(manager.isRunning("d")).toBe(true);
  });
});
