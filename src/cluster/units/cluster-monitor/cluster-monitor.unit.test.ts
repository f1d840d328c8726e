import { afterEach, describe, expect, test } from "vitest";
import { type NodeWorld, nodeWorld } from "../../../../test/fixtures/node-world.ts";
import { membershipDaemon } from "../membership/membership.unit.ts";
import { nodeHealthDaemon } from "../node-health/node-health.unit.ts";
import { clusterMonitorDaemon } from "./cluster-monitor.unit.ts";
import { stalledMs, statusOf } from "./decide.ts";

const worlds: NodeWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

test.each([
  [1, 1, "healthy"],
  [9, 10, "degraded"],
  [6, 10, "degraded"],
  [5, 10, "unhealthy"],
  [3, 10, "unhealthy"],
  [2, 10, "critical"],
] as const)("with %i of %i nodes ready it is %s", (healthy, total, status) => {
  expect(statusOf({ healthy, total })).toBe(status);
});

test("nothing stands still without work, before its time, or while something is done", () => {
  const facts = { unfinished: 2, usefulAt: 1_000, since: 0, now: 11_000 };
  expect(stalledMs(facts, 10_000)).toBe(10_000);
  expect(stalledMs(facts, 10_001)).toBe(0);
  expect(stalledMs({ ...facts, unfinished: 0 }, 1)).toBe(0);
  expect(stalledMs({ ...facts, usefulAt: null, since: 5_000 }, 10_000)).toBe(0);
});

describe("cluster_monitor", () => {
  const start = async () => {
    const work = { unfinished: 0, usefulAt: null as number | null };
    const clusterWork = {
      unfinished: () => work.unfinished,
      usefulAt: () => work.usefulAt,
      cause: () => "no worker does selfplay jobs",
    };
    const w = await nodeWorld({ more: () => ({ clusterWork }), environment: { RINGRIFT_NODES_STALL: "300" } });
    worlds.push(w);
    const all = [];
    for (const label of ["a", "b", "c"]) all.push(await w.join(label));
    const units = [membershipDaemon(w.services), clusterMonitorDaemon(w.services), nodeHealthDaemon(w.services)];
    await w.driven(w.runtime(units).start());
    await w.live(60);
    const said = () =>
      w
        .told("CLUSTER_STATUS_CHANGED", "P2P_CLUSTER_HEALTHY", "P2P_CLUSTER_UNHEALTHY", "CLUSTER_STALL_DETECTED")
        .map(({ eventType, cluster_status, reason }) => [eventType, cluster_status ?? reason ?? ""].join(" ").trim());
    return { w, all, said, work };
  };

  test("tells each change of the whole once, when it has lasted", async () => {
    const { w, all, said } = await start();
    expect(said()).toEqual([]);
    all[0]!.disk = "its disk is full";
    await w.live(60);
    expect(said()).toEqual(["CLUSTER_STATUS_CHANGED degraded"]);
    all[1]!.isBeating = false;
    await w.live(120);
    expect(said().slice(1)).toEqual(
      ["CLUSTER_STATUS_CHANGED unhealthy", "P2P_CLUSTER_UNHEALTHY not ready: a, b"].map((text) =>
        expect.stringMatching(text.startsWith("P2P") ? /^P2P_CLUSTER_UNHEALTHY not ready: [ab], [ab]$/ : text),
      ),
    );
    all[0]!.disk = undefined;
    all[1]!.isBeating = true;
    await w.live(120);
    expect(said().slice(3)).toContain("P2P_CLUSTER_HEALTHY");
    expect(said().findLast((text) => text.startsWith("CLUSTER_STATUS"))).toBe("CLUSTER_STATUS_CHANGED healthy");
    const calm = said().length;
    await w.live(300);
    expect(said()).toHaveLength(calm);
  });

  test("an ill node is no capacity", async () => {
    const { w, all } = await start();
    all[0]!.disk = "its disk is full";
    await w.live(60);
    expect(w.told("CLUSTER_CAPACITY_CHANGED").at(-1)).toMatchObject({ healthy_nodes: 3, total_nodes: 4 });
  });

  test("tells once that nothing moves, with the cause that 'why' names, and when work goes on again", async () => {
    const { w, said, work } = await start();
    work.unfinished = 5;
    await w.live(400);
    expect(said()).toEqual(["CLUSTER_STALL_DETECTED no worker does selfplay jobs"]);
    work.usefulAt = w.clock.now();
    await w.live(20);
    expect(said()).toHaveLength(2);
    expect(said()[1]).toBe("P2P_CLUSTER_HEALTHY");
  });

  test("that work goes on is no word that the cluster is well while most of its nodes are not", async () => {
    const { w, all, said, work } = await start();
    for (const node of all) node.isBeating = false;
    work.unfinished = 5;
    await w.live(400);
    expect(said().map((text) => text.split(" ")[0])).toContain("CLUSTER_STALL_DETECTED");
    // The coordinator's own worker did one.
    work.usefulAt = w.clock.now();
    await w.live(60);
    expect(said()).not.toContain("P2P_CLUSTER_HEALTHY");
    for (const node of all) node.isBeating = true;
    work.usefulAt = w.clock.now();
    await w.live(60);
    expect(said()).toContain("P2P_CLUSTER_HEALTHY");
  });
});
