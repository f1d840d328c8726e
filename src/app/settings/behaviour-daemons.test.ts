/** Each variable of the supervisor changes what it names: seen at a supervisor, not at the parsed value. */
import { expect, test } from "vitest";
import { aborted, type ManagerWorld, managerWorld } from "../../../test/fixtures/manager-world.ts";
import type { DaemonContext } from "../../daemons/index.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

interface Behaviour {
  /** What the variable is set to, and what is then seen; `undefined` leaves it unset. */
  readonly cases: readonly (readonly [text: string | undefined, seen: unknown])[];
  readonly see: (world: ManagerWorld) => Promise<unknown>;
}

const steady = async ({ ready, signal }: DaemonContext) => {
  ready();
  await aborted(signal);
};

/** A daemon that fails as soon as it runs: seconds at which it was run, for so long. */
async function runsOf({ manager, clock, pass }: ManagerWorld, overSeconds: number): Promise<number[]> {
  const at: number[] = [];
  manager.registerFactory({
    daemonType: "failing",
    factory({ ready }) {
      at.push(clock.monotonic() / 1_000);
      ready();
      throw new Error("no");
    },
  });
  void manager.startAll();
  await pass(overSeconds * 1_000);
  return at;
}

/** How often its health is asked within so many seconds. */
async function healthChecks({ manager, pass, driven }: ManagerWorld, critical: boolean, overSeconds: number) {
  let asked = 0;
  manager.registerFactory({
    daemonType: "watched",
    factory: steady,
    critical,
    healthCheck() {
      asked += 1;
      return { status: "running", message: "" };
    },
  });
  await driven(manager.startAll());
  await pass(overSeconds * 1_000 + 1);
  return asked;
}

/** Seconds until the end of a supervisor over a daemon that ends when forced, or never. */
async function endOf({ manager, clock, driven }: ManagerWorld, endsWhenForced: boolean): Promise<number> {
  manager.registerFactory({
    daemonType: "stubborn",
    async factory({ ready, forced }) {
      ready();
      await (endsWhenForced ? aborted(forced) : new Promise(() => {}));
    },
  });
  await driven(manager.startAll());
  const from = clock.monotonic();
  await driven(manager.shutdown());
  return (clock.monotonic() - from) / 1_000;
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "daemons.auto_start": {
    cases: [
      [undefined, "stopped"],
      ["true", "running"],
    ],
    async see({ manager, pass }) {
      manager.registerFactory({ daemonType: "steady", factory: steady });
      await pass(1_000);
      return manager.getAllDaemonHealth().steady!.state;
    },
  },
  "daemons.events": {
    cases: [
      [undefined, ["DAEMON_STARTED steady"]],
      ["false", []],
    ],
    async see({ manager, said, driven }) {
      manager.registerFactory({ daemonType: "steady", factory: steady });
      await driven(manager.startAll());
      await driven(manager.flush(1_000));
      return said;
    },
  },
  "daemons.dependency_timeout": {
    cases: [
      [undefined, 30],
      ["4", 4],
    ],
    async see({ manager, clock, driven }) {
      manager.registerFactory({ daemonType: "below", factory: steady });
      manager.registerFactory({ daemonType: "above", factory: steady, dependsOn: ["below"] });
      const from = clock.monotonic();
      expect(await driven(manager.start("above", { waitForDeps: true }))).toBe(false);
      return (clock.monotonic() - from) / 1_000;
    },
  },
  "daemons.dependency_poll": {
    cases: [
      [undefined, 20],
      ["2", 5],
    ],
    async see({ manager, pass }) {
      let asked = 0;
      manager.registerFactory({
        daemonType: "slow",
        factory: ({ signal }) => aborted(signal),
        isReady() {
          asked += 1;
          return false;
        },
      });
      void manager.startAll();
      await pass(10_001);
      return asked;
    },
  },
  "daemons.auto_restart": {
    cases: [
      [undefined, true],
      ["false", false],
    ],
    see: async (world) => (await runsOf(world, 100)).length > 1,
  },
  "daemons.strict_registry": {
    cases: [
      [undefined, ["steady"]],
      ["true", "UNKNOWN_DEPENDENCY"],
    ],
    async see({ manager, driven }) {
      manager.registerFactory({ daemonType: "steady", factory: steady });
      manager.registerFactory({ daemonType: "lost", factory: steady, dependsOn: ["nobody"] });
      return driven(manager.startAll()).then(
        ({ started }) => started,
        ({ code }: { code: string }) => code,
      );
    },
  },
  "daemons.health_interval": {
    cases: [
      [undefined, 2],
      ["6", 10],
    ],
    see: (world) => healthChecks(world, false, 60),
  },
  "daemons.critical_health_interval": {
    cases: [
      [undefined, 4],
      ["6", 10],
    ],
    see: (world) => healthChecks(world, true, 60),
  },
  "daemons.start_timeout": {
    cases: [
      [undefined, null],
      ["2", "not ready after 2 s"],
    ],
    async see({ manager, pass }) {
      manager.registerFactory({
        daemonType: "slow",
        factory: ({ signal }) => aborted(signal),
        readyAfterMs: null,
      });
      void manager.startAll();
      await pass(5_000);
      return manager.getStatus().slow!.lastError;
    },
  },
  "daemons.startup_grace": {
    cases: [
      ["0", true],
      ["600", false],
    ],
    async see({ manager, pass, driven }) {
      let runs = 0;
      manager.registerFactory({
        daemonType: "ill",
        factory(context) {
          runs += 1;
          return steady(context);
        },
        healthCheck: () => ({ status: "stopped", message: "ill", alive: false }),
      });
      await driven(manager.startAll());
      await pass(200_000);
      return runs > 1;
    },
  },
  "daemons.max_restarts": {
    cases: [
      [undefined, 6],
      ["0", 1],
      ["2", 3],
    ],
    see: async (world) => (await runsOf(world, 3_000)).length,
  },
  "daemons.restart_window": {
    cases: [
      [undefined, true],
      ["30", false],
    ],
    // Restarts that are long past no longer count: it is never given up.
    async see(world) {
      await runsOf(world, 3_000);
      return world.manager.isPermanentlyFailed("failing");
    },
  },
  "daemons.restart_first": {
    cases: [
      [undefined, 10],
      ["3", 3],
    ],
    async see(world) {
      const [first, second] = await runsOf(world, 30);
      return Math.floor(second! - first!);
    },
  },
  "daemons.restart_most": {
    cases: [
      [undefined, false],
      ["20", true],
    ],
    async see(world) {
      const at = await runsOf(world, 3_000);
      return at.slice(1).every((time, i) => time - at[i]! <= 22.1);
    },
  },
  "daemons.shutdown_timeout": {
    cases: [
      [undefined, 30],
      ["4", 4],
    ],
    see: (world) => endOf(world, true),
  },
  "daemons.force_timeout": {
    cases: [
      [undefined, 35],
      ["1", 31],
    ],
    see: (world) => endOf(world, false),
  },
};

const cases = settingRows.flatMap(({ key, variable }) =>
  (behaviours[key]?.cases ?? []).map(([text, seen]) => ({ key, variable, text, seen })),
);

test.each(cases)("with $variable=$text one sees $seen", async ({ key, variable, text, seen }) => {
  const settings = readSettings(text === undefined ? {} : { [variable]: text }, "/");
  expect(await behaviours[key]!.see(managerWorld({ config: settings.daemons }))).toEqual(seen);
});

test.each(Object.entries(behaviours))("%s is a setting that is shown to change something", (key, { cases: all }) => {
  expect(settingRows.map((row) => row.key)).toContain(key);
  expect(new Set(all.map(([, seen]) => JSON.stringify(seen))).size).toBeGreaterThan(1);
});
