/** What is said of a node in `nodes`, in the health of the system and in alerts is one thing, from its first beat to its return. */
import { expect, onTestFinished, test } from "vitest";
import { nodeWorld } from "../../../../test/fixtures/node-world.ts";
import { healthGates, systemHealth } from "../../views.ts";
import { alertManagerCoordinator } from "../alert-manager/alert-manager.unit.ts";
import { membershipDaemon } from "../membership/membership.unit.ts";
import { nodeHealthDaemon } from "../node-health/node-health.unit.ts";
import { healthManagerCoordinator } from "./health-manager.unit.ts";

/** A coordinator with one joined node, and everybody who may call that node missing. */
async function start() {
  const unit = { component: "elo_service", everyMs: null, lastWorkAt: null, health: "running", message: "" } as const;
  const w = await nodeWorld({ more: () => ({ work: () => [{ ...unit, heldBack: false }] }) });
  onTestFinished(() => w.close());
  const box = await w.join("box2");
  const units = [membershipDaemon, nodeHealthDaemon, healthManagerCoordinator, alertManagerCoordinator];
  await w.driven(w.runtime(units.map((unit) => unit(w.services))).start());
  const { alerts, nodes } = w.services;
  const said = () => {
    const { status, reasons } = systemHealth(w.store, w.clock.now());
    return {
      node: nodes.find("box2").state,
      system: status,
      reasons,
      alerts: alerts.list({ status: "open" }).map(({ title }) => title),
    };
  };
  return { w, box, said };
}

const WELL = { node: "online", system: "healthy", reasons: [], alerts: [] };

test("a node that is healthy by 'nodes' is never alarmed as missing, however long it only beats", async () => {
  const { w, said } = await start();
  await w.live(10);
  // Longer than every silence that calls somebody missing: the longest is five minutes.
  for (let minutes = 0; minutes < 12; minutes += 1) {
    await w.live(60);
    expect({ minutes, ...said() }).toEqual({ minutes, ...WELL });
  }
  expect(w.told("HEALTH_ALERT", "HOST_OFFLINE", "NODE_UNHEALTHY", "P2P_NODE_DEAD")).toEqual([]);
});

test("a node that is silent is missing in 'nodes', health and alerts alike, and all three lift when it is back", async () => {
  const { w, box, said } = await start();
  await w.live(60);
  box.isBeating = false;
  await w.live(120);
  expect(said()).toMatchObject({
    node: "dead",
    system: "unhealthy",
    reasons: ["nodes_online is 0.5, needed is 0.5. More than half of the nodes must be online."],
  });
  expect(said().alerts).toContain("system is not well");
  expect(healthGates(w.store).find(({ gate }) => gate === "nodes_online")).toMatchObject({ passed: false });
  box.isBeating = true;
  // What is better is told when it has lasted a minute; nothing of it stays.
  await w.live(180);
  expect(said()).toEqual(WELL);
});
