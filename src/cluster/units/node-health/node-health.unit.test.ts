import { afterEach, describe, expect, test } from "vitest";
import { type NodeWorld, nodeWorld } from "../../../../test/fixtures/node-world.ts";
import { nodeHealthLimits } from "../../limits.ts";
import { wellSince } from "../../node-health/health-book.ts";
import { nodeHealthReport } from "../../node-health-report.ts";
import { membershipDaemon } from "../membership/membership.unit.ts";
import { nextHealth, recovered } from "./decide.ts";
import { nodeHealthDaemon } from "./node-health.unit.ts";

const worlds: NodeWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Two nodes that work, and the units that look at them. */
async function start() {
  const w = await nodeWorld();
  worlds.push(w);
  const [one, other] = [await w.join("one"), await w.join("other")];
  await w.driven(w.runtime([membershipDaemon(w.services), nodeHealthDaemon(w.services)]).start());
  await w.live(20);
  const conditions = () => [one, other].map(w.conditionOf);
  return { w, one, other, conditions };
}

test("finds nodes that beat and work healthy, and says nothing", async () => {
  const { w, one, other, conditions } = await start();
  w.end(one, true, 5);
  w.end(other, true, 5);
  await w.live(300);
  expect(conditions()).toEqual(["healthy", "healthy"]);
  expect(w.told("NODE_UNHEALTHY", "HEALTH_CHECK_FAILED", "HEALTH_CHECK_PASSED", "HEALTH_ALERT")).toEqual([]);
  expect([w.may(one), w.may(other)]).toEqual(["all", "all"]);
});

describe("a node whose jobs fail while others do them", () => {
  test("is unhealthy after three looks, gets no work, is tried again with one job, and comes back slowly", async () => {
    const { w, one, other, conditions } = await start();
    w.end(other, true, 2);
    w.end(one, false, 3);
    await w.live(6);
    expect(conditions()).toEqual(["degraded", "healthy"]);
    await w.live(10);
    expect(conditions()).toEqual(["unhealthy", "healthy"]);
    expect(w.may(one)).toBe(0);
    expect(w.told("NODE_UNHEALTHY").map(({ node_state, reason }) => [node_state, reason])).toEqual([
      ["degraded", "its jobs fail, and others do them (3 of 3 attempts failed: no device)"],
      ["unhealthy", "its jobs fail, and others do them (3 of 3 attempts failed: no device)"],
    ]);
    expect(
      w.told("HEALTH_CHECK_FAILED").map(({ check_type, consecutive_failures }) => [check_type, consecutive_failures]),
    ).toEqual([
      ["jobs", 1],
      ["jobs", 3],
    ]);
    expect(w.told("HEALTH_ALERT")).toMatchObject([{ severity: "error", node_id: one.nodeId }]);
    await w.live(60);
    expect(w.may(one)).toBe(1);
    expect(conditions()[0]).toBe("unhealthy");
    w.end(one, true);
    await w.live(20);
    expect(conditions()).toEqual(["healthy", "healthy"]);
    expect(w.told("HEALTH_CHECK_PASSED").length + w.told("HEALTH_ALERT").length).toBeGreaterThanOrEqual(2);
  });

  test("stays out for longer when its one job fails as well", async () => {
    const { w, one, other } = await start();
    w.end(other, true, 2);
    w.end(one, false, 3);
    await w.live(80);
    expect(w.may(one)).toBe(1);
    w.end(one, false);
    await w.live(70);
    expect(w.may(one)).toBe(0);
    await w.live(240);
    expect(w.may(one)).toBe(1);
  });
});

test("a job that fails everywhere is no node's fault", async () => {
  const { w, one, other, conditions } = await start();
  w.end(one, false, 10);
  w.end(other, false, 10);
  await w.live(120);
  expect(conditions()).toEqual(["healthy", "healthy"]);
});

test("a node whose results are strange is evicted: nothing counts on it, and membership tells that it is gone", async () => {
  const { w, one, conditions } = await start();
  one.residual = 9;
  for (let minute = 0; minute < 6; minute += 1) {
    w.end(one, true);
    await w.live(60);
  }
  expect(conditions()).toEqual(["evicted", "healthy"]);
  expect(w.told("HOST_OFFLINE")).toMatchObject([{ node_id: one.nodeId, reason: expect.stringMatching(/evicted/) }]);
  expect(w.services.availability.isThere(one.nodeId, "online")).toBe(false);
  expect(w.services.availability.barrier(one.nodeId, "data")).toMatchObject({ leaves: 0 });
});

test("a node with a full disk gets nothing new, and all again when there is room", async () => {
  const { w, one, conditions } = await start();
  one.disk = "its disk is 97 % in use";
  await w.live(20);
  expect(conditions()).toEqual(["unhealthy", "healthy"]);
  expect(w.may(one)).toBe(0);
  // What it holds still counts.
  expect(w.services.availability.isThere(one.nodeId, "online")).toBe(true);
  one.disk = undefined;
  await w.live(10);
  expect(conditions()[0]).toBe("unhealthy");
  await w.live(10);
  expect(conditions()[0]).toBe("healthy");
});

test("a full disk is told with the beats: what the node would write down to tell it, the disk does not take", async () => {
  const { w, one, conditions } = await start();
  one.room = { free_bytes: 1e9, reserve_bytes: 2e9 };
  await w.live(20);
  expect(conditions()).toEqual(["unhealthy", "healthy"]);
  expect(w.services.health.view(one.nodeId).reason).toBe(
    "its disk is full (1.0 GB free, and it keeps 2.0 GB, worker.disk_reserve_gb)",
  );
  one.room = { free_bytes: 2e9, reserve_bytes: 2e9 };
  await w.live(20);
  expect(conditions()[0]).toBe("healthy");
});

test("a silent node is degraded while it is suspect, evicted when it is dead, and nobody is told twice that it is gone", async () => {
  const { w, one, conditions } = await start();
  one.isBeating = false;
  await w.live(20);
  expect(conditions()[0]).toBe("degraded");
  await w.live(30);
  expect(conditions()[0]).toBe("evicted");
  expect(w.told("HOST_OFFLINE")).toHaveLength(1);
  one.isBeating = true;
  await w.live(20);
  expect(conditions()[0]).toBe("healthy");
});

test("a worker that starts again and again is unhealthy until it runs", async () => {
  const { w, one, conditions } = await start();
  for (let n = 0; n < 5; n += 1) {
    one.incarnation += 1;
    await w.live(10);
  }
  expect(conditions()[0]).toBe("unhealthy");
  expect(w.services.health.get(one.nodeId)?.check).toBe("starts");
  await w.live(620);
  expect(conditions()[0]).toBe("healthy");
});

test("starts that nobody saw count, unless they were spread over a long silence", async () => {
  const { w, one, other, conditions } = await start();
  // It crashes so soon that only one life of five is heard.
  one.incarnation += 5;
  await w.live(10);
  expect(conditions()[0]).toBe("unhealthy");
  expect(w.services.health.get(other.nodeId)?.condition ?? "healthy").toBe("healthy");
});

test("whoever leaves in order and is started again has not crashed", async () => {
  const { w, one, conditions } = await start();
  for (let n = 0; n < 6; n += 1) {
    one.isBeating = false;
    await w.driven(w.services.nodes.leave(one.nodeId, "the worker ends in order"));
    await w.live(10);
    one.incarnation += 1;
    one.isBeating = true;
    await w.live(10);
  }
  expect(conditions()[0]).toBe("healthy");
  expect(w.services.health.get(one.nodeId)?.starts).toEqual([]);
});

test("starts during a long silence are no crash loop", () => {
  const work = { outcomes: [], stuckAt: [], pace: undefined, disk: undefined };
  const facts = { presence: "online", isLocal: false, isGuest: false, version: "", isDeprecated: false } as const;
  const more = { clockAheadMs: null, work, isFault: () => false, residual: null, incarnation: 6 };
  const startsAfter = (now: number) =>
    nextHealth({ ...wellSince(0, 1), heardAt: 0 }, { ...facts, ...more, now, seenAt: now }).row.starts;
  expect(startsAfter(30_000)).toEqual([6_000, 12_000, 18_000, 24_000, 30_000]);
  expect(startsAfter(4 * 3_600_000)).toEqual([4 * 3_600_000]);
});

test("a worker that crashes and is silent in between is found all the same, until that was what it recovered from", () => {
  const before = { ...wellSince(0, 4), starts: [1, 2, 3], outages: [4] };
  expect(recovered({ ...before, check: "beats" }, 10)).toMatchObject({
    starts: [1, 2, 3],
    outages: [4],
    recoveredAt: 10,
  });
  expect(recovered({ ...before, check: "starts" }, 10)).toMatchObject({ starts: [], outages: [4] });
});

test("slow, late and old nodes are degraded: they work on, and it is told", async () => {
  const { w, one, other, conditions } = await start();
  one.pace = 8;
  other.clockAheadMs = -90_000;
  await w.live(10);
  expect(conditions()).toEqual(["degraded", "degraded"]);
  expect([w.may(one), w.may(other)]).toEqual(["all", "all"]);
  const report = nodeHealthReport(w.services.nodes.view(w.services.nodes.find("other")), w.services, w.clock.now());
  expect(report.checks.find(({ check }) => check === "clock")).toMatchObject({
    verdict: "warn",
    actual: "90 s behind",
  });
});

test("jobs that stand still make a node unhealthy, unless nobody else is there", async () => {
  const { w, one, other, conditions } = await start();
  one.stuckAt.push(w.clock.now(), w.clock.now() + 1);
  await w.live(20);
  expect(conditions()[0]).toBe("unhealthy");
  expect(w.may(one)).toBe(0);
  w.nodes.delete(other.nodeId);
  expect(w.may(one)).toBe(1);
});

test("what was found outlives the process", async () => {
  const { w, one, conditions } = await start();
  one.disk = "full";
  await w.live(20);
  expect(conditions()[0]).toBe("unhealthy");
  const { HealthBook } = await import("../../node-health/health-book.ts");
  expect(new HealthBook(w.store).view(one.nodeId)).toMatchObject({ condition: "unhealthy" });
});

test("a node that is gone for good is forgotten", async () => {
  const { w, one } = await start();
  one.disk = "full";
  await w.live(20);
  one.isBeating = false;
  await w.driven(w.services.nodes.forget(one.nodeId));
  await w.live(10);
  expect(w.services.health.get(one.nodeId)).toBeUndefined();
});

describe("the alert of a node that is ill", () => {
  /** One node that is ill, and what alerts say of it. */
  const ill = async () => {
    const { w, one, other } = await start();
    w.end(other, true, 2);
    w.end(one, false, 3);
    await w.live(20);
    const alerts = () =>
      w.told("HEALTH_ALERT").map(({ severity, message }) => [severity, String(message).replace(/ \(since .*$/, "")]);
    expect(alerts()).toMatchObject([["error", expect.stringMatching(/^it is unhealthy: its jobs fail/)]]);
    return { w, one, alerts: () => alerts().slice(1) };
  };

  test("ends when it leaves, though what is known of it stays, and begins anew when it comes back", async () => {
    const { w, one, alerts } = await ill();
    one.isBeating = false;
    await w.driven(w.services.nodes.leave(one.nodeId, "told to end"));
    await w.live(60);
    expect(alerts()).toEqual([["info", "it has left; it is looked at again when it comes back"]]);
    expect(w.conditionOf(one)).toBe("unhealthy");
    one.isBeating = true;
    await w.live(20);
    expect(alerts().slice(1)).toMatchObject([["error", expect.stringMatching(/^it is unhealthy/)]]);
  });

  test("is left to that of the cluster where most of a fleet falls silent, and comes for whoever stays away", async () => {
    const { w, one, other } = await start();
    const all = [one, other];
    for (let n = 0; n < nodeHealthLimits.massNodes; n += 1) all.push(await w.join(`node ${n}`));
    await w.live(10);
    for (const node of all) node.isBeating = false;
    await w.live(60);
    expect(all.map(w.conditionOf)).toEqual(all.map(() => "evicted"));
    expect(w.told("P2P_NODES_DEAD")).toHaveLength(1);
    expect(w.told("HEALTH_ALERT")).toEqual([]);
    for (const node of all) node.isBeating = node !== one;
    await w.live(60);
    expect(w.told("HEALTH_ALERT")).toMatchObject([{ severity: "error", node_id: one.nodeId }]);
  });

  test("ends when it is taken for recovered, and when nobody waits for it any more", async () => {
    const { w, one, alerts } = await ill();
    const mended = { node_id: one.nodeId as never, downtime_seconds: 9, recovery_action: "restart" };
    await w.router.publish("NODE_RECOVERED", mended, { source: "test" });
    await w.live(20);
    expect(alerts()).toEqual([["info", "it does its work again"]]);
    w.end(one, false, 3);
    await w.live(20);
    one.isBeating = false;
    await w.driven(w.services.nodes.forget(one.nodeId));
    w.nodes.delete(one.nodeId);
    await w.live(60);
    expect(alerts().slice(1)).toMatchObject([
      ["error", expect.any(String)],
      ["info", "it is no longer one of the nodes"],
    ]);
  });
});
