/** The bring-up of a process: real folder, real store, units of the user's own. */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bootstrapCoordination, getBootstrapStatus, shutdownCoordination } from "../../../src/app/bootstrap.ts";
import { checkSwitches } from "../../../src/app/bootstrap-status.ts";
import { plansFor } from "../../../src/app/pipeline/plans.ts";
import { readSettings } from "../../../src/app/settings.ts";
import { workloadList } from "../../../src/app/worker/workload-list.ts";
import { defineCoordinator, openCoordinators } from "../../../src/daemons/index.ts";
import { coordinatorNames } from "../../../src/daemons/legacy.ts";
import { COORDINATOR_REGISTRY, LeadershipDomain, LeadershipRole } from "../../../src/index.ts";
import { OperatingError, silentLog } from "../../../src/kernel/index.ts";
import { createWriteSet, defineTable, type Store } from "../../../src/router/index.ts";
import { until } from "../../support/patience.ts";

const folder = () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-bootstrap-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
};

type Given = Omit<Parameters<typeof bootstrapCoordination>[0], "settings"> & { dataDir?: string };

const boot = async ({ dataDir = folder(), ...rest }: Given = {}) => {
  const settings = readSettings({}, dataDir, { dataDir, port: 0, nodeId: "here" });
  const coordination = await bootstrapCoordination({ settings, log: silentLog(), ...rest });
  onTestFinished(() => coordination.shutdown().catch(() => undefined));
  return coordination;
};

const heard = defineTable<{ times: number }>("listener_heard");

const listener = defineCoordinator({
  name: "listener",
  layer: 1,
  placement: "leader",
  emits: [],
  state: { tables: { heard } },
  on: {
    HOST_OFFLINE(_event, { rows }) {
      rows.put(heard, "all", { times: (rows.get(heard, "all")?.times ?? 0) + 1 });
    },
  },
});

test("tells how it went, by coordinator and by unit, and says so in events", async () => {
  const coordination = await boot({ units: [listener] });
  const status = getBootstrapStatus(coordination);
  expect(status).toMatchObject({ initialized: true, profile: "coordinator", errors: [] });
  expect(status.started_at).toBeLessThanOrEqual(status.completed_at!);
  expect(status.units.listener).toEqual({ layer: 1, subscribed: true, error: null });
  expect(Object.keys(status.coordinators)).toEqual(COORDINATOR_REGISTRY.map(({ name }) => name));
  expect(status.layers.map(({ layer }) => layer)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const said = (eventType: string) => coordination.router.history({ eventType, fromJournal: true });
  expect(said("COORDINATOR_HEALTHY").map(({ payload }) => payload.coordinator_name)).toContain("listener");
  expect(said("STARTUP_STATE_VALIDATED")).toMatchObject([{ payload: { node_id: "here", passed: true, problems: [] } }]);
});

test("a name is in the registry when a unit does its work, and open otherwise", async () => {
  const coordination = await boot();
  const { open, coordinators } = coordination.bootstrapStatus();
  const planned: readonly string[] = Object.values(coordinatorNames).flat();
  expect([...open, ...Object.keys(coordinators)].sort()).toEqual(planned.toSorted());
  expect((await coordination.audit()).totals.open_coordinators).toBe(open.length);
  expect(openCoordinators(planned.map((name) => ({ name })))).toEqual([]);
  // All are built: each stands, by a unit of its name, by the one it is delegated to, or skipped as in the Python system.
  expect(open).toEqual([]);
  expect(Object.entries(coordinators).filter(([, { subscribed, error }]) => !subscribed || error !== null)).toEqual([]);
});

test("an event for a unit that is wired first is not missed by it", async () => {
  const coordination = await boot({ units: [listener] });
  const event = await coordination.router.publish("HOST_OFFLINE", { node_id: "a", reason: "silent" });
  await coordination.router.settled(event);
  expect(createWriteSet(coordination.router.store).get(heard, "all")).toEqual({ times: 1 });
});

test("what cannot subscribe is an error of that unit alone; completing brings it up later", async () => {
  let refuse = true;
  const wrapStore = (store: Store): Store => ({
    ...store,
    get fault() {
      return store.fault;
    },
    commit: (operations) => {
      if (refuse && JSON.stringify(operations).includes('"listener"'))
        return Promise.reject(OperatingError.internal("NOT_TODAY", "the store does not want it"));
      return store.commit(operations);
    },
  });
  const coordination = await boot({ units: [listener], wrapStore });
  const { errors, units } = coordination.bootstrapStatus();
  expect(errors).toEqual(["listener: the store does not want it"]);
  expect(units.listener).toMatchObject({ subscribed: false });
  expect(units.event_router).toMatchObject({ subscribed: true, error: null });
  expect(coordination.units.readiness()).toMatchObject({ ready: false, unsubscribed: ["listener"] });
  refuse = false;
  expect(await coordination.complete()).toMatchObject({ errors: [] });
  expect(coordination.units.readiness()).toMatchObject({ ready: true });
});

test("a second one on the same folder is refused, also after the first was completed", async () => {
  const dataDir = folder();
  const first = await boot({ dataDir });
  await first.complete();
  await expect(boot({ dataDir })).rejects.toMatchObject({ code: "ALREADY_RUNNING" });
  await shutdownCoordination(first);
  await boot({ dataDir });
});

test("what it writes is for its owner alone, also in a folder that others can read", async () => {
  const dataDir = folder();
  chmodSync(dataDir, 0o755);
  await boot({ dataDir });
  const modes = readdirSync(dataDir).map((name) => [name, (statSync(join(dataDir, name)).mode & 0o077).toString(8)]);
  expect(modes.filter(([, others]) => others !== "0")).toEqual([]);
  expect(modes.map(([name]) => name)).toContain("coordination.db-wal");
});

test("an end in order leaves one database file that needs nothing beside it", async () => {
  const dataDir = folder();
  const coordination = await boot({ dataDir });
  await coordination.shutdown();
  expect(readdirSync(dataDir).filter((name) => name.startsWith("coordination"))).toEqual(["coordination.db"]);
});

test("an unknown profile is refused with what was perhaps meant, and leaves the folder free", async () => {
  const dataDir = folder();
  await expect(boot({ dataDir, profile: "coordinatr" })).rejects.toMatchObject({
    code: "UNKNOWN_PROFILE",
    message: expect.stringContaining("coordinator"),
  });
  await boot({ dataDir });
});

test("the end is told by unit, so that silence afterwards is no loss; a second end is the first", async () => {
  const dataDir = folder();
  const first = await boot({ dataDir, units: [listener] });
  expect(first.shutdown()).toBe(first.shutdown());
  await first.shutdown();
  const second = await boot({ dataDir });
  const goodbyes = second.router.history({ eventType: "COORDINATOR_SHUTDOWN", fromJournal: true });
  expect(goodbyes.map(({ payload }) => payload.coordinator_name)).toContain("listener");
});

test("a feature that does not exist, or that no unit has yet, is refused with those that there are", async () => {
  await expect(boot({ enable: { healht: false } as never })).rejects.toMatchObject({
    code: "UNKNOWN_FEATURE",
    message: expect.stringContaining("Did you mean health?"),
    hint: expect.stringMatching(/^There are: .*selfplay/),
  });
  // All features are built; one that is to come would be refused.
  expect(() => checkSwitches({ leadership: true }, [])).toThrow(
    expect.objectContaining({ code: "FEATURE_NOT_BUILT", hint: expect.not.stringContaining("leadership") }),
  );
  const coordination = await boot({ enable: { leadership: false, health: false } });
  expect((await coordination.complete({ health: true })).coordinators.health_manager).toMatchObject({
    subscribed: true,
  });
});

test("without the feature of leadership nobody follows the lease; switched on, one coordinator leads alone in all domains", async () => {
  const coordination = await boot({ enable: { leadership: false } });
  expect(coordination.bootstrapStatus().coordinators.leadership_coordinator).toMatchObject({
    subscribed: false,
    left_out: "the feature 'leadership' is switched off",
  });
  await coordination.complete({ leadership: true });
  expect(coordination.bootstrapStatus().coordinators.leadership_coordinator).toMatchObject({ subscribed: true });
  const health = coordination.units.status().find(({ name }) => name === "leadership_coordinator");
  const { nodeId } = coordination.settings;
  expect(health).toMatchObject({
    status: "running",
    message: "leads alone",
    details: { role: LeadershipRole.LEADER, epoch: 1, domains: { training: nodeId, data_sync: nodeId } },
  });
  expect(Object.keys(health!.details.domains as object).toSorted()).toEqual(Object.values(LeadershipDomain).toSorted());
  // It costs nothing: no word of a lease that nobody else could have.
  expect(coordination.router.history({ eventType: "LEADER_ELECTED", fromJournal: true })).toEqual([]);
});

test("a config that waits for a unit which is switched off says so, and what to do", async () => {
  const world = { configFile: undefined, workloads: workloadList(undefined, 1) };
  const FEW = "connect4_7x6_2p";
  const MANY = "connect4_8x7_3p";
  const plans = [
    ...plansFor([FEW], {}, world),
    ...plansFor([MANY], { cascade: { config_key: FEW, promotions: 1 } }, world),
  ];
  const { loop, complete } = await boot({ plans, enable: { optimization: false } });
  const causeOf = (key: string) => loop().configs.find(({ config_key }) => config_key === key)?.cause;
  await until(
    () => causeOf(MANY)?.subject === "derived_training",
    () => `it says ${JSON.stringify(causeOf(MANY))}`,
  );
  expect(causeOf(MANY)).toMatchObject({
    level: "bad",
    code: "daemon_stopped",
    because: [{ subject: MANY }, { subject: "training" }, { subject: "derived_training", what: "does not run" }],
    advice: { action: "start", subject: "derived_training" },
    affects: [MANY],
  });
  expect(causeOf(FEW)?.subject).not.toBe("derived_training");
  await complete({ optimization: true });
  expect(causeOf(MANY)?.subject).not.toBe("derived_training");
});
