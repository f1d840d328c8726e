import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../../events/index.ts";
import type { EventRouter } from "../../../router/index.ts";
import type { ClusterView } from "../../leadership/members.ts";
import { leaseTimingOf } from "../../leadership/timing.ts";
import { leadershipLimits as limits } from "../../limits.ts";
import { handTo, successors, type TermRow, UNFIT } from "./decide.ts";
import { leadershipCoordinator } from "./leadership-coordinator.unit.ts";

const row = (more: Partial<TermRow> = {}): TermRow => ({
  ...{ cluster_id: "c", epoch: 1, leader: "a", since: 0, ended: null, endedAt: null, reason: null, ...more },
});

test("successors have been heard lately, lack little and are not gone; who lacks least is first", () => {
  const marks = new Map([
    ["self", { pending: 0, at: 0 }],
    ["slow", { pending: 5, at: 0 }],
    ["b", { pending: 0, at: 0 }],
    ["gone", { pending: 0, at: 0 }],
    ["far", { pending: limits.maxPending + 1, at: 0 }],
  ]);
  const at = (now: number) => successors(marks, { self: "self", offline: new Set(["gone"]), now }, limits);
  expect(at(1_000)).toEqual(["b", "slow"]);
  expect(at(limits.freshMs + 1)).toEqual([]);
});

test("the lead is handed on for faults of this machine, and kept when the one before had faults as well", () => {
  expect(handTo(null, ["b"], [], 0, limits)).toBeUndefined();
  expect(handTo("no disk", ["b"], [row()], 0, limits)).toBe("b");
  expect(handTo("no disk", [], [row()], 0, limits)).toBeUndefined();
  const before = row({ ended: "handed over", endedAt: 0, reason: `${UNFIT}: no disk` });
  expect(handTo("no disk", ["b"], [before], limits.restMs - 1, limits)).toBeUndefined();
  expect(handTo("no disk", ["b"], [before], limits.restMs, limits)).toBe("b");
});

const worlds: ReturnType<typeof unitWorld>[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function start(isAlone = false) {
  const w = unitWorld(builtinRows);
  worlds.push(w as never);
  const router = w.router as unknown as EventRouter;
  const handed: (readonly [string | undefined, string])[] = [];
  const lease = { trustedForMs: 9_000 };
  const view = { name: "n1", role: "leader", term: 2, cluster: "c", leader: { name: "n1" } } as unknown as ClusterView;
  const leadership = {
    view: () => view,
    trustedForMs: () => lease.trustedForMs,
    timing: leaseTimingOf(12_000),
    stepDown: async (to: string | undefined, reason: string) => void handed.push([to, reason]),
  };
  const unit = leadershipCoordinator({ nodeId: "n1", clock: w.clock, leadership: isAlone ? undefined : leadership });
  const runtime = w.runtime([unit]);
  await w.driven(runtime.start());
  const say = async (type: string, payload: object) => {
    const told = await w.driven(router.publish(type as never, payload as never, { source: "test" }));
    await w.driven(router.settled(told as never));
    await w.pass(100);
  };
  const health = () => runtime.status().find(({ name }) => name === "leadership_coordinator")!;
  return { w, say, health, handed, lease };
}

const of = (epoch: number, more: object = {}) => ({ cluster_id: "c", epoch, ...more });

test("alone it leads in all domains, in epoch 1", async () => {
  const { health } = await start(true);
  expect(health()).toMatchObject({
    status: "running",
    message: "leads alone",
    details: { role: "leader", epoch: 1, domains: { training: "n1", cluster: "n1" } },
  });
});

test("it keeps how leaderships went, and believes no word of an older one", async () => {
  const { say, health } = await start();
  await say("EPOCH_ADVANCED", of(1, { previous_epoch: 0 }));
  await say("LEADER_ELECTED", of(1, { leader_node_id: "a" }));
  await say("LEADER_LOST", of(1, { previous_leader_node_id: "a", reason: "silent" }));
  await say("EPOCH_ADVANCED", of(2, { previous_epoch: 1 }));
  await say("LEADER_ELECTED", of(2, { leader_node_id: "n1" }));
  await say("LEADER_ELECTED", of(1, { leader_node_id: "b" }));
  expect(health().details).toMatchObject({
    fence: 2,
    domains: { promotion: "n1", evaluation: "n1" },
    terms: [
      { epoch: 2, leader: "n1", ended: null },
      { epoch: 1, leader: "a", ended: "lost", reason: "silent" },
    ],
  });
  await say("LEADER_STEPDOWN", of(2, { previous_leader_node_id: "n1", reason: "upgrade" }));
  expect(health().details).toMatchObject({ terms: [{ epoch: 2, ended: "handed over", reason: "upgrade" }, {}] });
});

test("a stale leader, a late renewal and the lack of a successor show as long as they last", async () => {
  const { w, say, health, lease } = await start();
  const split = { severity: "warning", claiming_node_ids: ["a", "n1"], refused_sequence: 31, standing_epoch: 2 };
  await say("SPLIT_BRAIN_DETECTED", of(1, split));
  expect(health()).toMatchObject({
    status: "degraded",
    message: expect.stringMatching(/a and n1 both led; entry 31 was refused/),
  });
  await say("SPLIT_BRAIN_RESOLVED", of(1, { leader_node_id: "n1", demoted_node_ids: ["a"] }));
  expect(health().status).toBe("running");
  lease.trustedForMs = 3_000;
  expect(health().message).toMatch(/not renewed for 7 s/);
  lease.trustedForMs = 9_000;
  await w.pass(limits.graceMs);
  expect(health().message).toBe("no other coordinator would take over");
  await say("STATE_PERSISTED", { node_id: "b", epoch: 2, last_sequence: 7, pending_commits: 0 });
  expect(health()).toMatchObject({ status: "running", details: { successors: ["b"] } });
  await say("HOST_OFFLINE", { node_id: "b", reason: "silent" });
  expect(health().message).toBe("no other coordinator would take over");
  await say("HOST_ONLINE", { node_id: "b" });
  expect(health().status).toBe("running");
});

test("one that came up with faults hands the lead to whoever has everything, once", async () => {
  const { say, handed, health } = await start();
  await say("STARTUP_STATE_VALIDATED", { node_id: "other", passed: false, problems: ["not ours"] });
  await say("STARTUP_STATE_VALIDATED", { node_id: "n1", passed: false, problems: ["no disk"] });
  expect(handed).toEqual([]);
  expect(health()).toMatchObject({ status: "degraded", message: expect.stringContaining("no disk") });
  await say("STATE_PERSISTED", { node_id: "b", epoch: 2, last_sequence: 7, pending_commits: 0 });
  await say("STATE_PERSISTED", { node_id: "b", epoch: 2, last_sequence: 8, pending_commits: 0 });
  expect(handed).toEqual([["b", `${UNFIT}: no disk`]]);
});
