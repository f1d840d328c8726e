import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { CAPABILITIES, nodeKeys } from "../../../../test/support/node-client.ts";
import { builtinRows } from "../../../events/index.ts";
import { listeningTime, silentLog } from "../../../kernel/index.ts";
import type { Store } from "../../../router/index.ts";
import { createAvailability } from "../../availability.ts";
import { noWork } from "../../node-health/cluster-work.port.ts";
import { HealthBook } from "../../node-health/health-book.ts";
import { noSigns } from "../../node-health/node-signs.port.ts";
import { NodeRegistry } from "../../nodes/node-registry.ts";
import { nobodyReports } from "../../nodes/reach-book.ts";
import { createRefusals } from "../../nodes/refusals.ts";
import { nodeTimingDefaults } from "../../nodes/timing.ts";
import { RecoveryBook } from "../../recovery/recovery-book.ts";
import { clusterMonitorDaemon } from "../cluster-monitor/cluster-monitor.unit.ts";
import { resourceCoordinator } from "../resource-coordinator/resource-coordinator.unit.ts";
import { membershipDaemon } from "./membership.unit.ts";

const timing = { ...nodeTimingDefaults, startupGraceMs: 60_000 };
const TOLD = [
  "HOST_ONLINE",
  "HOST_OFFLINE",
  "NODE_SUSPECT",
  "P2P_NODE_DEAD",
  "P2P_NODES_DEAD",
  "CAPACITY_LOW",
  "CAPACITY_RESTORED",
  "CLUSTER_CAPACITY_CHANGED",
];

const availableIn = (nodes: NodeRegistry, store: Store) =>
  createAvailability({
    nodes,
    health: new HealthBook(store),
    recovery: new RecoveryBook(store),
    signs: noSigns,
    localNodeId: "n1",
  });

async function cluster({ requiredGpus = 0 } = {}) {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { store } = w;
  const { clock } = w;
  const { listened, stop } = listeningTime(clock);
  onTestFinished(stop);
  const about = { store, clock, listened, log: silentLog(), timing, localNodeId: "n1", version: "0.1.0" };
  const open = () => new NodeRegistry(about);
  const start = async (book: NodeRegistry) => {
    const refusals = createRefusals(clock);
    const runtime = w.runtime([
      membershipDaemon({ nodes: book, refusals, reach: nobodyReports }),
      clusterMonitorDaemon({
        nodes: book,
        availability: availableIn(book, store),
        clusterWork: noWork,
        settings: { nodes: { stallMs: 1e9 } },
      }),
      resourceCoordinator({ settings: { nodes: { timing, requiredGpus } } as never }),
    ]);
    await w.driven(runtime.start());
    return runtime;
  };
  const book = open();
  const runtime = await start(book);
  const join = async (label: string, gpu = 0) => {
    const request = { ...nodeKeys(), label, version: "0.1.0", protocol: 1, capabilities: { ...CAPABILITIES, gpu } };
    return (await w.driven(book.join(request, { actor: "test", address: "192.0.2.1" }))).node_id;
  };
  const beat = (node_id: string, incarnation = 1, to = book) =>
    w.driven(
      to.beat({
        node_id,
        incarnation,
        version: "0.1.0",
        load: { running: 0, free: CAPABILITIES },
        spool: { waiting: 0 },
      }),
    );
  /** Lets time pass while these nodes go on beating. */
  const passWith = async (ms: number, alive: readonly string[], to = book) => {
    for (let passed = 0; passed < ms; passed += timing.beatMs) {
      for (const id of alive) await beat(id, 1, to);
      await w.pass(Math.min(timing.beatMs, ms - passed));
    }
  };
  const said = () =>
    w.router
      .history({ fromJournal: true, limit: 1_000 })
      .filter(({ eventType }) => TOLD.includes(eventType))
      .map(({ eventType, payload }) => [eventType, (payload as { node_id?: string }).node_id]);
  return { w, book, open, start, runtime, join, beat, passWith, said };
}

test("each change of a node is stored and told once: it comes, is late, dies, and comes back", async () => {
  const { w, book, join, beat, passWith, said } = await cluster();
  const [a, b] = [await join("a"), await join("b")];
  await w.pass(5_000);
  expect(said()).toEqual([]);
  await beat(a);
  await passWith(timing.startupGraceMs, [a, b]);
  const before = said().length;
  await passWith(timing.suspectMs + 15_000, [b]);
  expect(book.find("a").state).toBe("suspect");
  await passWith(timing.deadMs, [b]);
  expect(book.find("a").state).toBe("dead");
  expect(book.find("b").state).toBe("online");
  await beat(a);
  await w.pass(2_000);
  const ofA = said()
    .filter(([, id]) => id === a)
    .map(([type]) => type);
  expect(ofA).toEqual(["HOST_ONLINE", "NODE_SUSPECT", "P2P_NODE_DEAD", "HOST_OFFLINE", "HOST_ONLINE"]);
  expect(before).toBeGreaterThan(1);
  expect(said().filter(([type]) => type === "P2P_NODES_DEAD")).toEqual([]);
  expect(w.store.read("SELECT state FROM cluster_nodes WHERE node_id = ?", a)).toEqual([{ state: "online" }]);
});

test("a node that died long before is not told with one that dies now", async () => {
  const { w, join, passWith } = await cluster();
  const all = [await join("a"), await join("b"), await join("c")];
  await passWith(timing.startupGraceMs, all);
  await passWith(timing.deadMs + timing.suspectMs, all.slice(0, 2));
  await passWith(timing.deadMs + timing.suspectMs, all.slice(0, 1));
  expect(w.router.history({ eventType: "P2P_NODES_DEAD", fromJournal: true })).toEqual([]);
});

test("an accelerator that a node no longer finds is missing from the whole, and the shortage is told", async () => {
  const { w, join, passWith, said } = await cluster({ requiredGpus: 2 });
  const a = await join("a", 2);
  await passWith(timing.startupGraceMs, [a]);
  expect(said()).not.toContainEqual(["CAPACITY_LOW", undefined]);
  const sample = { node_id: a, cpu_usage: 0.1, memory_usage: 0.1, disk_usage: 0.1, slots: 4, free_slots: 4 };
  const tell = (more: object) =>
    w.driven(w.router.publish("NODE_CAPACITY_UPDATED", { ...sample, ...more } as never, { source: "test" }));
  await tell({});
  await passWith(60_000, [a]);
  expect(said()).not.toContainEqual(["CAPACITY_LOW", undefined]);
  await tell({ gpus: 1 });
  await passWith(60_000, [a]);
  expect(said().at(-1)).toEqual(["CAPACITY_LOW", undefined]);
  expect(w.router.history({ eventType: "CLUSTER_CAPACITY_CHANGED", fromJournal: true }).at(-1)?.payload).toMatchObject({
    total_gpus: 1,
  });
  await tell({ gpus: 2 });
  await passWith(60_000, [a]);
  expect(said().at(-1)).toEqual(["CAPACITY_RESTORED", undefined]);
});

test("nodes that die together are told as one", async () => {
  const { w, join, passWith, said } = await cluster();
  const all = [await join("a"), await join("b"), await join("c")];
  await passWith(timing.startupGraceMs, all);
  await passWith(timing.deadMs + timing.suspectMs, [all[0]!]);
  const together = w.router.history({ eventType: "P2P_NODES_DEAD", fromJournal: true });
  expect(together.map(({ payload }) => (payload as { node_ids: string[] }).node_ids.toSorted())).toEqual([
    all.slice(1).toSorted(),
  ]);
  expect(said().filter(([type]) => type === "P2P_NODE_DEAD")).toHaveLength(2);
});

test("after a restart nobody is dead before the time of grace is over, and then only who stayed silent", async () => {
  const { w, open, start, runtime, join, passWith, said } = await cluster();
  const [a, b] = [await join("a"), await join("b")];
  await passWith(timing.startupGraceMs, [a, b]);
  await w.driven(runtime.stop());
  await w.pass(10 * timing.deadMs);
  const again = open();
  await start(again);
  await passWith(timing.startupGraceMs - timing.beatMs, [b], again);
  expect(said().filter(([type]) => type !== "HOST_ONLINE")).toEqual([["CLUSTER_CAPACITY_CHANGED", undefined]]);
  expect(again.find("a").state).toBe("online");
  await passWith(timing.deadMs, [b], again);
  expect([again.find("a").state, again.find("b").state]).toEqual(["dead", "online"]);
});

test("time in which the coordinator did not listen is nobody's silence, time in which it did is", async () => {
  const { w, book, join, passWith } = await cluster();
  const a = await join("a");
  await passWith(timing.startupGraceMs + timing.beatMs, [a]);
  w.clock.standStill(10 * timing.deadMs);
  await w.pass(timing.suspectMs - timing.beatMs - 2_000);
  expect(book.find("a").state).toBe("online");
  await w.pass(timing.deadMs);
  expect(book.find("a").state).toBe("dead");
});

test.each([3_600_000, -3_600_000])(
  "a wall clock that is set by %i ms makes nobody late and forgets nobody",
  async (ms) => {
    const { w, book, join, passWith, said } = await cluster();
    const a = await join("a");
    await passWith(timing.startupGraceMs + timing.beatMs, [a]);
    const before = said();
    w.clock.setWall(ms);
    await passWith(2 * timing.deadMs, [a]);
    expect(book.find("a").state).toBe("online");
    expect(said()).toEqual(before);
    await w.pass(timing.deadMs + timing.suspectMs);
    expect(book.find("a").state).toBe("dead");
  },
);

test("a node that left is no alarm, and one that is forgotten while it is there is gone at once, and told once", async () => {
  const { w, book, join, beat, said } = await cluster();
  const [a, b] = [await join("a"), await join("b")];
  await beat(a);
  await beat(b);
  await w.pass(2_000);
  await w.driven(book.leave(a, "SIGTERM"));
  await w.driven(book.forget("b"));
  await w.pass(2_000);
  expect(book.find("a").state).toBe("left");
  await w.pass(5_000);
  expect(said().filter(([, id]) => id === b)).toEqual([
    ["HOST_ONLINE", b],
    ["HOST_OFFLINE", b],
  ]);
  expect(w.store.read("SELECT state FROM cluster_nodes WHERE node_id = ?", b)).toEqual([{ state: "left" }]);
});

test("an older life of a node is not believed, also after a restart", async () => {
  const { join, beat, open } = await cluster();
  const a = await join("a");
  await beat(a, 7);
  const again = open();
  await expect(beat(a, 6, again)).rejects.toMatchObject({ code: "STALE_INCARNATION" });
  expect((await beat(a, 8, again)).incarnation).toBe(8);
});

test("capacity is told when it has lasted: low, changed and restored, and flapping makes no noise", async () => {
  const { w, join, passWith, said } = await cluster({ requiredGpus: 4 });
  const [a, b] = [await join("a", 4), await join("b", 2)];
  await passWith(timing.startupGraceMs + 60_000, [a, b]);
  const capacity = () => said().flatMap(([type]) => (String(type).includes("CAPACITY") ? [type] : []));
  expect(capacity().at(-1)).toMatch(/CLUSTER_CAPACITY_CHANGED|CAPACITY_RESTORED/);
  expect(capacity().filter((type) => type === "CAPACITY_RESTORED").length).toBe(
    capacity().filter((type) => type === "CAPACITY_LOW").length,
  );
  const before = capacity().length;
  await passWith(timing.deadMs + 60_000, [b]);
  expect(
    capacity()
      .slice(before)
      .filter((type) => type === "CAPACITY_LOW"),
  ).toHaveLength(1);
  const low = w.router.history({ eventType: "CAPACITY_LOW", fromJournal: true }).at(0)!.payload;
  expect(low).toMatchObject({ gpus: 2, required_gpus: 4 });
  await passWith(60_000, [a, b]);
  expect(capacity().at(-1)).toBe("CAPACITY_RESTORED");
  const calm = capacity().length;
  await passWith(120_000, [a, b]);
  expect(capacity()).toHaveLength(calm);
});
