import { describe, expect, test } from "vitest";
import { nextAlarm, planRepairs, type RepairNode, type Short, standing, troubleOf } from "./decide.ts";

const GB = 1e9;
const limits = { reserveBytes: 2 * GB, maxOrders: 10 };
const node = (node_id: string, more: Partial<RepairNode> = {}): RepairNode => ({
  node_id,
  name: node_id,
  isThere: true,
  isRented: false,
  isConfirmed: true,
  isHome: false,
  freeBytes: 100 * GB,
  ...more,
});
const nodes = (...all: RepairNode[]) => new Map(all.map((one) => [one.node_id, one]));
const home = node("home", { isHome: true, freeBytes: null });
const short = (holders: string[], more: Partial<Short> = {}): Short => ({
  seq: 1,
  sha256: "a",
  bytes: GB,
  required: 2,
  copies: holders.map((node_id) => ({ node_id, state: "held" })),
  ordered: [],
  ...more,
});
const plan = (shorts: Short[], ...all: RepairNode[]) => {
  const { orders, stuck } = planRepairs(shorts, nodes(home, ...all), limits);
  return [orders.map(({ action, node_id, reason }) => `${action} ${node_id}: ${reason}`), stuck];
};

describe("what has too few copies", () => {
  test("is fetched by the node with the most room, and the next goes to another", () => {
    const shorts = [short(["home"]), short(["home"], { seq: 2 }), short(["home"], { seq: 3 })];
    const all = [node("a", { freeBytes: 50 * GB }), node("b", { freeBytes: 50.5 * GB })];
    expect(plan(shorts, ...all)).toEqual([["fetch b: spread", "fetch a: spread", "fetch b: spread"], {}]);
  });

  test("is a repair where a copy lies on a node that went away, or that nobody knows", () => {
    expect(plan([short(["home", "dead"])], node("a"), node("dead", { isThere: false }))[0]).toEqual([
      "fetch a: repair",
    ]);
    expect(plan([short(["home", "gone"])], node("a"))[0]).toEqual(["fetch a: repair"]);
  });

  test("is not ordered twice", () => {
    expect(plan([short(["home"], { ordered: ["a"] })], node("a"), node("b"))).toEqual([[], {}]);
    expect(plan([short(["home"], { ordered: ["a"], required: 3 })], node("a"), node("b"))[0]).toEqual([
      "fetch b: spread",
    ]);
  });

  test("goes to no node that is rented, away, unconfirmed, full, or did not say how full it is", () => {
    const unable = [
      node("rented", { isRented: true }),
      node("away", { isThere: false }),
      node("fresh", { isConfirmed: false }),
      node("full", { freeBytes: 2.5 * GB }),
      node("silent", { freeBytes: null }),
    ];
    expect(plan([short(["home"])], ...unable)).toEqual([[], { "no node has room for it": 1 }]);
  });

  test("is sent home first where home has lost it, by a node to rely on before a rented one", () => {
    expect(plan([short(["rented", "b"])], node("b"), node("rented", { isRented: true }))[0]).toEqual([
      "send b: repair",
    ]);
    expect(plan([short(["rented"])], node("rented", { isRented: true }))[0]).toEqual(["send rented: repair"]);
    expect(plan([short(["dead"])], node("dead", { isThere: false }))).toEqual([
      [],
      { "no node that is online holds it": 1 },
    ]);
  });

  test("is no more than one look may order", () => {
    const shorts = Array.from({ length: 50 }, (_, seq) => short(["home"], { seq }));
    expect(plan(shorts, node("a"))[0]).toHaveLength(limits.maxOrders);
  });
});

test("the worst comes first, and what is well is no trouble", () => {
  const none = { files: 0, games: 0 };
  const some = { files: 3, games: 60 };
  expect(troubleOf({ nowhere: some, at_risk: some, short: some })?.level).toBe("critical");
  expect(troubleOf({ nowhere: none, at_risk: some, short: some })?.level).toBe("error");
  expect(troubleOf({ nowhere: none, at_risk: none, short: some })?.level).toBe("warning");
  expect(troubleOf({ nowhere: none, at_risk: none, short: none })).toBeNull();
});

describe("a person", () => {
  const patience = { patienceMs: { critical: 10, error: 10, warning: 100 }, remindMs: 1_000 };
  /** What is said at each look, which come ten apart. */
  const said = (...levels: ("none" | "warning" | "critical")[]) => {
    let known: Parameters<typeof nextAlarm>[0];
    return levels.map((level, i) => {
      const { alarm, isDue } = nextAlarm(known, level, i * 10, patience);
      known = alarm;
      return isDue;
    });
  };

  test("is told of what lasts, once, and that it is over", () => {
    expect(said("critical", "critical", "critical", "none", "none")).toEqual([false, true, false, true, false]);
  });

  test("is not told of what passes", () => {
    expect(said("warning", "warning", "none", "warning", "none")).toEqual([false, false, false, false, false]);
  });

  test("is told that it is over though it had become less bad before", () => {
    expect(said("critical", "critical", "warning", "none")).toEqual([false, true, false, true]);
  });

  test("is reminded now and then while it lasts", () => {
    const all = said(...Array.from({ length: 210 }, () => "critical" as const));
    expect(all.flatMap((isDue, i) => (isDue ? [i] : []))).toEqual([1, 101, 201]);
  });
});

test.each([
  [1, 0, false, "one of each file: there is one node"],
  [2, 0, false, "as many as 2 nodes can hold"],
  [3, 0, false, "as many as there must be"],
  [3, 7, false, "7 files get more copies"],
  [3, 7, true, "files have too few copies"],
])("on %i nodes with %i files short (trouble: %s) one reads: %s", (places, short, isTrouble, words) => {
  expect(standing({ places, short }, 3, isTrouble)).toBe(words);
});
