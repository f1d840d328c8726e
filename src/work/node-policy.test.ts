import { expect, test } from "vitest";
import { type AdmissionLimits, admissionLimitDefaults, judgeNode, type NodeFacts } from "./node-policy.ts";

const NOW = 1_000;
const judge = (facts: Partial<NodeFacts>, limits: Partial<AdmissionLimits> = {}) =>
  judgeNode(
    { hold: undefined, shortages: [], misfits: [], heldHere: 0, heldInAll: 0, heldOfKind: {}, ...facts },
    { ...admissionLimitDefaults, ...limits },
    NOW,
  );

test.each([
  ["a hold without end", { hold: { reason: "offline", until: null } }, {}, "offline"],
  ["a hold that lasts", { hold: { reason: "resting", until: NOW + 1 } }, {}, "resting"],
  ["a shortage", { shortages: [{ reason: "no memory", until: NOW + 1 }] }, {}, "no memory"],
  ["a full cluster", { heldInAll: 9 }, { maxInCluster: 9 }, "in the cluster"],
])("a node with %s gets nothing, and learns why", (_what, facts, limits, reason) => {
  expect(judge(facts, limits)).toEqual({ accepts: false, reason: expect.stringContaining(reason) });
});

test.each([
  [
    "it holds as many jobs as it may",
    { heldHere: 4 },
    { maxPerNode: 4 },
    "4 jobs, 4 are allowed (work.max_held_by_node)",
  ],
  [
    "the workers of its token hold as many as they may",
    { heldHere: 1, heldByToken: 9 },
    { maxPerToken: 9 },
    "the workers of its token hold 9 jobs, 9 are allowed (work.max_held_by_token)",
  ],
])("a node gets nothing where %s", (_what, facts, limits, reason) => {
  expect(judge(facts, limits)).toEqual({ accepts: false, isFull: true, reason: expect.stringContaining(reason) });
});

test("what its token has left is all the room of a worker", () => {
  expect(judge({ heldHere: 1, heldByToken: 7 }, { maxPerToken: 9 })).toMatchObject({ accepts: true, room: 2 });
});

test("pressure leaves a node one job at a time, and says what slows it", () => {
  const shortages = [{ reason: "machine busy (93 %)", until: NOW + 1, leaves: 1 }];
  expect(judge({ shortages })).toMatchObject({ accepts: true, room: 1, slowed: "machine busy (93 %)" });
  expect(judge({ shortages, heldHere: 1 })).toEqual({
    accepts: false,
    reason: "held: machine busy (93 %)",
    slowed: true,
  });
  const full = { reason: "its disk is 97 % in use", until: NOW + 1, leaves: 0 };
  expect(judge({ shortages: [...shortages, full] })).toEqual({ accepts: false, reason: full.reason });
});

test("kinds that its operators never want there are left out, and the reason is theirs", () => {
  const verdict = judge({ excludedKinds: ["training"] });
  expect(verdict).toMatchObject({ accepts: true, excludedKinds: ["training"], exceptKinds: [] });
});

test("what has passed holds nobody back", () => {
  const facts = { hold: { reason: "x", until: NOW }, shortages: [{ reason: "y", until: NOW }] };
  expect(judge(facts)).toMatchObject({ accepts: true });
});

test("a node gets no more than its room, and nothing it cannot run", () => {
  const facts = { heldHere: 3, heldInAll: 10, misfits: ["hex8_2p"], heldOfKind: { training: 1 } };
  expect(judge(facts, { maxPerNode: 8, maxInCluster: 12, maxOfKind: { training: 1, selfplay: 5 } })).toEqual({
    accepts: true,
    room: 2,
    exceptConfigs: ["hex8_2p"],
    exceptKinds: ["training"],
  });
});
