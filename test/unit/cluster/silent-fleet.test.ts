/** What operators get to read when many nodes fall silent at once, and whether all of it ends when they are back. */
import { afterEach, expect, test } from "vitest";
import { alertManagerCoordinator } from "../../../src/cluster/units/alert-manager/alert-manager.unit.ts";
import { clusterMonitorDaemon } from "../../../src/cluster/units/cluster-monitor/cluster-monitor.unit.ts";
import { membershipDaemon } from "../../../src/cluster/units/membership/membership.unit.ts";
import { nodeHealthDaemon } from "../../../src/cluster/units/node-health/node-health.unit.ts";
import { nodeRecoveryDaemon } from "../../../src/cluster/units/node-recovery/node-recovery.unit.ts";
import { type NodeWorld, nodeWorld } from "../../fixtures/node-world.ts";

const worlds: NodeWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function fleet(size: number) {
  const w = await nodeWorld();
  worlds.push(w);
  const { services } = w;
  const all = [];
  for (let n = 0; n < size; n += 1) all.push(await w.join(`node ${n}`));
  const units = [
    membershipDaemon(services),
    nodeHealthDaemon(services),
    nodeRecoveryDaemon(services),
    clusterMonitorDaemon(services),
    alertManagerCoordinator(services),
  ];
  await w.driven(w.runtime(units).start());
  await w.live(20);
  const alerts = () => services.alerts.list({ limit: 1_000 });
  const open = () =>
    alerts()
      .filter(({ status }) => status !== "closed")
      .map(({ title }) => title);
  return { w, all, alerts, open };
}

test("a fleet that falls silent opens a few alerts, not one for each node, and all of them end", async () => {
  const { w, all, alerts, open } = await fleet(30);
  for (const node of all) node.isBeating = false;
  await w.live(120);
  expect(open()).toEqual(["Several nodes are gone at once"]);
  expect(alerts()).toMatchObject([{ severity: "critical" }]);
  for (const node of all) node.isBeating = true;
  await w.live(120);
  expect(open()).toEqual([]);
});

test("many that are late for a moment are one alert, which ends though the cluster was never ill", async () => {
  const { w, all, alerts, open } = await fleet(30);
  for (const node of all.slice(0, 12)) node.isBeating = false;
  await w.live(20);
  expect(open()).toEqual(["Many nodes are silent at once"]);
  for (const node of all) node.isBeating = true;
  await w.live(30);
  expect(open()).toEqual([]);
  expect(alerts()).toHaveLength(1);
});

test("two that are gone together are told as one until one of them is back; the other one has its own alert", async () => {
  const { w, all, open } = await fleet(6);
  const [one, other] = all;
  for (const node of [one!, other!]) node.isBeating = false;
  await w.live(60);
  expect(open()).toContain("Several nodes are gone at once");
  one!.isBeating = true;
  await w.live(60);
  expect(open()).not.toContain("Several nodes are gone at once");
  expect(open()).toContain(`Node ${other!.nodeId} is silent`);
  other!.isBeating = true;
  await w.live(60);
  expect(open()).toEqual([]);
});
