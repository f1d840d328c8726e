import { describe, expect, test } from "vitest";
import { type PlanNode, type PlanQuestion, planSync, type WantedFile } from "./plan.ts";
import { backendsFor, type SyncBackend, type SyncRequest } from "./request.ts";
import { judgeTarget } from "./score.ts";

const GB = 1e9;
const node = (node_id: string, more: Partial<PlanNode> = {}): PlanNode => ({
  node_id,
  isThere: true,
  isConfirmed: true,
  isRented: false,
  isHome: false,
  kinds: ["selfplay"],
  freeBytes: 100 * GB,
  freeCpus: 2,
  staleMs: 0,
  bytesPerSecond: null,
  ...more,
});
const home = node("home", { isHome: true });
const file = (seq: number, dataType: WantedFile["dataType"], ...holders: string[]): WantedFile => ({
  seq,
  bytes: GB,
  dataType,
  holders,
});
const ask = (more: Partial<PlanQuestion>): PlanQuestion => ({
  files: [file(1, "games", "home"), file(2, "models", "home")],
  nodes: [home, node("player"), node("trainer", { kinds: ["training"] })],
  targets: undefined,
  excluded: [],
  urgency: 1,
  maxRate: null,
  ...more,
});
const plan = (backend: SyncBackend, more: Partial<PlanQuestion> = {}) => planSync(backend, ask(more));
const told = (backend: SyncBackend, more: Partial<PlanQuestion> = {}) =>
  plan(backend, more)
    .orders.map(({ node_id, seq, action }) => `${action} ${seq} ${node_id}`)
    .sort();

test.each<[Partial<SyncRequest>, SyncBackend]>([
  [{}, "auto_sync"],
  [{ targets: ["a"] }, "router"],
  [{ priority: "high" }, "cluster_data_sync"],
  [{ priority: "critical", targets: ["a"] }, "cluster_data_sync"],
  [{ preferEphemeral: true, priority: "critical" }, "ephemeral_sync"],
  [{ priority: "low" }, "auto_sync"],
])("a request with %j goes to %s, and to the plain transport in the end", (request, backend) => {
  const chain = backendsFor({ dataType: "games", ...request });
  expect([chain[0], chain.at(-1)]).toEqual([backend, "distributed"]);
});

describe("what each backend does that the others do not", () => {
  test("auto_sync: each node gets what its work needs", () => {
    expect(told("auto_sync")).toEqual(["fetch 1 trainer", "fetch 2 player", "fetch 2 trainer"]);
  });

  test("cluster_data_sync: everything goes to everybody who is able", () => {
    const full = node("full", { freeBytes: GB });
    expect(told("cluster_data_sync", { nodes: [home, node("player"), full] })).toEqual([
      "fetch 1 player",
      "fetch 2 player",
    ]);
  });

  test("router: the named ones, the best first, and whoever is not able is left out with what is and must be", () => {
    const nodes = [home, node("fresh"), node("stale", { staleMs: 7_200_000 }), node("full", { freeBytes: 3 * GB })];
    const { orders, judgements } = plan("router", { nodes, targets: ["fresh", "stale", "full"] });
    expect(orders.map(({ node_id }) => node_id)).toEqual(["stale", "stale", "fresh", "fresh"]);
    expect(judgements.find(({ node_id }) => node_id === "full")?.skipped).toEqual({
      why: "it has too little room",
      actual: 3 * GB,
      required: 4 * GB,
    });
  });

  test("distributed: the named ones, whatever is known of them", () => {
    const nodes = [home, node("unsure", { isConfirmed: false, freeBytes: null })];
    expect(told("distributed", { nodes })).toEqual(["fetch 1 unsure", "fetch 2 unsure"]);
    expect(plan("cluster_data_sync", { nodes }).error).toBe("no node is able to take it");
  });

  test("ephemeral_sync: rented nodes bring home what home lacks, and what they alone have first", () => {
    const rented = node("rented", { isRented: true });
    const files = [
      file(1, "games", "home", "rented"),
      file(2, "games", "rented", "player"),
      file(3, "games", "rented"),
    ];
    const { orders } = plan("ephemeral_sync", { files, nodes: [home, node("player"), rented] });
    expect(orders.map(({ seq, action, node_id }) => `${action} ${seq} ${node_id}`)).toEqual([
      "send 3 rented",
      "send 2 rented",
    ]);
    expect(plan("ephemeral_sync").error).toBe("there is no rented node");
  });
});

test("excluded nodes get nothing, and what a node has is not sent again", () => {
  expect(told("cluster_data_sync", { excluded: ["player"] })).toEqual(["fetch 1 trainer", "fetch 2 trainer"]);
  const files = [file(1, "games", "home", "player")];
  const { orders, nodes } = plan("cluster_data_sync", { files, excluded: ["trainer"] });
  expect([orders, nodes]).toEqual([[], ["player"]]);
});

test("urgency and rate go with every order", () => {
  expect(plan("cluster_data_sync", { urgency: 3, maxRate: 5_000 }).orders[0]).toMatchObject({
    urgency: 3,
    max_rate: 5_000,
  });
});

test("a score is the sum of reasons, each with what is and what was asked for", () => {
  const facts = {
    ...node("a", { staleMs: 1_800_000, bytesPerSecond: 20e6, freeBytes: 23e9 }),
    missing: 1,
    missingBytes: GB,
    wanted: 2,
  };
  expect(judgeTarget(facts)).toEqual({
    node_id: "a",
    skipped: null,
    score: 25 + 2 + 13.3 + 15 + 4,
    reasons: [
      { what: "need", actual: 1, required: 2, points: 25 },
      { what: "capacity", actual: 2, required: 1, points: 2 },
      { what: "disk", actual: 23e9, required: 3e9, points: 13.3 },
      { what: "freshness", actual: 1_800, required: 0, points: 15 },
      { what: "bandwidth", actual: 20e6, required: null, points: 4 },
    ],
  });
  expect(judgeTarget({ ...facts, isRented: true }).score).toBe(59.3 - 15);
});
