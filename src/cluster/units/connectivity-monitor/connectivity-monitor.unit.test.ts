import { afterEach, describe, expect, test } from "vitest";
import { type NodeWorld, nodeWorld } from "../../../../test/fixtures/node-world.ts";
import { membershipDaemon } from "../membership/membership.unit.ts";
import { nodeHealthDaemon } from "../node-health/node-health.unit.ts";
import { connectivityMonitorDaemon } from "./connectivity-monitor.unit.ts";
import { nextLink, soundLink } from "./decide.ts";

const worlds: NodeWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const TOLD = ["P2P_RESTART_TRIGGERED", "NETWORK_ISOLATION_DETECTED", "P2P_HEALTH_RECOVERED"] as const;

describe("on a joined node", () => {
  const start = async () => {
    const w = await nodeWorld();
    worlds.push(w);
    const link = { failures: 0, reopened: 0 };
    const line = {
      reach: () => ({ peers: link.failures === 0 ? 1 : 0, expected: 1 }),
      failures: () => link.failures,
      reopen: () => {
        link.reopened += 1;
      },
    };
    await w.driven(w.runtime([connectivityMonitorDaemon({ nodeId: "n2", line })]).start());
    return { w, link, told: () => w.told(...TOLD).map(({ eventType }) => eventType) };
  };

  test("a line that does not answer is begun anew, with longer and longer pauses, and told as an isolation", async () => {
    const { w, link, told } = await start();
    link.failures = 2;
    await w.pass(60_000);
    expect(told()).toEqual([]);
    link.failures = 3;
    await w.pass(10_000);
    expect([told(), link.reopened]).toEqual([["P2P_RESTART_TRIGGERED"], 1]);
    await w.pass(40_000);
    expect(told()).toContain("NETWORK_ISOLATION_DETECTED");
    expect(link.reopened).toBe(2);
    await w.pass(300_000);
    expect(link.reopened).toBeLessThanOrEqual(5);
    expect(told().filter((type) => type === "NETWORK_ISOLATION_DETECTED")).toHaveLength(1);
    link.failures = 0;
    await w.pass(10_000);
    expect(w.told("P2P_HEALTH_RECOVERED")).toMatchObject([{ node_id: "n2", peers: 1 }]);
  });

  test("a hiccup is not told", async () => {
    const { w, link, told } = await start();
    link.failures = 2;
    await w.pass(20_000);
    link.failures = 0;
    await w.pass(20_000);
    expect([told(), link.reopened]).toEqual([[], 0]);
  });
});

describe("on the coordinator", () => {
  const start = async (environment: Readonly<Record<string, string>> = {}) => {
    const w = await nodeWorld({ environment });
    worlds.push(w);
    const all = [];
    for (const label of ["a", "b", "c", "d"]) all.push(await w.join(label));
    const { services } = w;
    const units = [membershipDaemon(services), connectivityMonitorDaemon(services), nodeHealthDaemon(services)];
    await w.driven(w.runtime(units).start());
    await w.live(30);
    return { w, all };
  };

  test("one silent node is that node's trouble", async () => {
    const { w, all } = await start();
    all[0]!.isBeating = false;
    await w.live(300);
    expect(w.told(...TOLD)).toEqual([]);
  });

  test("most of them at once are ours, and it is told when they are back", async () => {
    const { w, all } = await start();
    for (const node of all.slice(0, 3)) node.isBeating = false;
    await w.live(120);
    expect(w.told("NETWORK_ISOLATION_DETECTED")).toMatchObject([
      { node_id: w.services.nodeId, peers: 1, expected_peers: 4 },
    ]);
    expect(w.told("P2P_RESTART_TRIGGERED")).toEqual([]);
    for (const node of all) node.isBeating = true;
    await w.live(60);
    expect(w.told("P2P_HEALTH_RECOVERED")).toMatchObject([{ node_id: w.services.nodeId, peers: 4 }]);
  });

  test("those that the others do not reach either are away: that is not our line", async () => {
    const { w, all } = await start({ RINGRIFT_SWIM_ENABLED: "1" });
    const silent = all.slice(0, 2);
    const lost = silent.map(({ nodeId }) => nodeId);
    for (const node of all) node.swim = { host: null, port: 7_946, known: 3, reached: 1, lost };
    await w.live(10);
    for (const node of silent) node.isBeating = false;
    await w.live(120);
    expect(w.told("NETWORK_ISOLATION_DETECTED")).toEqual([]);
    // Nobody waited for the rest of the silence.
    const dead = w.told("P2P_NODE_DEAD") as unknown as { reason: string; silent_seconds: number }[];
    expect(dead).toHaveLength(2);
    for (const { reason, silent_seconds } of dead) {
      expect(reason).toContain("other nodes do not reach it");
      expect(silent_seconds).toBeLessThan(30);
    }
  });

  test("a node whose line breaks again and again is degraded", async () => {
    const { w, all } = await start();
    const [node] = all;
    for (let n = 0; n < 3; n += 1) {
      const payload = { node_id: node!.nodeId, peers: 0, expected_peers: 1 };
      await w.driven(w.router.publish("NETWORK_ISOLATION_DETECTED", payload as never, { source: "test" }));
      await w.live(60);
    }
    expect(w.conditionOf(node!)).toBe("degraded");
    expect(w.services.health.get(node!.nodeId)?.check).toBe("link");
  });
});

test.each([
  { what: "reaches the other nodes is not cut off", peers: 4, expected: 6, isolated: false },
  { what: "reaches one of one other node is not cut off", peers: 1, expected: 2, isolated: false },
  { what: "reaches few of them is", peers: 2, expected: 6, isolated: true },
  { what: "knows of no other is", peers: 0, expected: 1, isolated: true },
])("whoever has lost the coordinator and $what", ({ peers, expected, isolated }) => {
  const { state } = nextLink(soundLink, { peers, expected, failures: 3 }, 1_000);
  expect(nextLink(state, { peers, expected, failures: 9 }, 60_000).news.isolated).toBe(isolated);
});

test("a line that is down is not taken for up because others are reached", () => {
  const { news } = nextLink(soundLink, { peers: 5, expected: 6, failures: 3 }, 1_000);
  expect(news).toEqual({ reopen: true, isolated: false, downMs: null });
});
