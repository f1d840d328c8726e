import { expect, test } from "vitest";
import { planRescue, type RescueNode } from "./decide.ts";

const node = (node_id: string, more: Partial<RescueNode> = {}): RescueNode => ({
  node_id,
  name: node_id,
  isThere: true,
  isConfirmed: true,
  isRented: false,
  isHome: false,
  kinds: [],
  freeBytes: 100e9,
  freeCpus: 1,
  staleMs: null,
  bytesPerSecond: null,
  ...more,
});
const file = (seq: number, holders: readonly string[], ordered: readonly string[] = []) => ({
  seq,
  bytes: 10,
  kind: "games",
  config_key: "hex8_2p",
  counted: 20,
  holders,
  ordered,
});
const home = node("home", { isHome: true });
const box = node("box", { isRented: true });
const told = (files: readonly ReturnType<typeof file>[], nodes: readonly RescueNode[]) => {
  const { orders, hasten, stuck } = planRescue(files, nodes);
  return { orders: orders.map(({ action, node_id, seq }) => `${action} ${seq} ${node_id}`), hasten, stuck };
};

test("home takes what only a rented node has, before everything else", () => {
  expect(told([file(1, ["box"])], [home, box])).toEqual({ orders: ["send 1 box"], hasten: [], stuck: 0 });
  expect(planRescue([file(1, ["box"])], [home, box]).orders).toMatchObject([{ urgency: 3, reason: "at risk" }]);
});

test("what lies at a home that may go is fetched by the best node that stays", () => {
  const rented = node("home", { isHome: true, isRented: true });
  const nodes = [rented, node("slow", { freeCpus: 0 }), node("able", { freeCpus: 8 }), node("full", { freeBytes: 1 })];
  expect(told([file(1, ["home"])], nodes).orders).toEqual(["fetch 1 able"]);
  expect(told([file(1, ["home"])], [rented, box])).toEqual({ orders: [], hasten: [], stuck: 1 });
});

test("a drained node is no place for what another one alone has", () => {
  const rented = node("home", { isHome: true, isRented: true });
  expect(told([file(1, ["home"])], [rented, node("leaves", { isLeaving: true })]).stuck).toBe(1);
});

test("what somebody is on the way with is made more urgent, and not ordered twice", () => {
  expect(told([file(1, ["box"], ["box"])], [home, box])).toEqual({ orders: [], hasten: [1], stuck: 0 });
});

test("a node that is away, or has not said what it holds, sends nothing", () => {
  for (const more of [{ isThere: false }, { isConfirmed: false }])
    expect(told([file(1, ["box"])], [home, node("box", { isRented: true, ...more })]).stuck).toBe(1);
});
