import { expect, test } from "vitest";
import { preemptionLimits as policy } from "../../limits.ts";
import type { HeldJob } from "../../views.ts";
import { choosePreemptions } from "./decide.ts";

const NOW = 10_000_000;
const held = (work_id: string, more: Partial<HeldJob & { preemptible: boolean }> = {}) => ({
  work_id,
  work_type: "selfplay",
  config_key: null,
  node_id: "a",
  urgency: 0,
  claimed_at: NOW - 600_000,
  gpus: 0,
  stopping: false,
  preemptible: true,
  ...more,
});
const waiting = (work_id: string, more: { urgency?: number; waitedMs?: number; node?: string } = {}) => ({
  work_id,
  urgency: more.urgency ?? 3,
  waitedMs: more.waitedMs ?? 60_000,
  fits: (node: string) => more.node === undefined || more.node === node,
});
const chosen = (...args: Parameters<typeof choosePreemptions>) =>
  choosePreemptions(...args).map((one) => `${one.stop} for ${one.for}`);

test("the least urgent makes room, and of equals the youngest, that loses least", () => {
  const running = [
    held("old"),
    held("young", { claimed_at: NOW - 120_000 }),
    held("normal", { urgency: 1, claimed_at: NOW - 100_000 }),
  ];
  expect(chosen([waiting("w")], running, NOW)).toEqual(["young for w"]);
});

test.each([
  ["one that has just begun", held("x", { claimed_at: NOW - 1_000 })],
  ["one that may not be stopped", held("x", { preemptible: false })],
  ["one that matters nearly as much", held("x", { urgency: 2 })],
  ["one that was asked already", held("x", { stopping: true })],
])("%s is left alone", (_what, job) => {
  expect(chosen([waiting("w")], [job], NOW)).toEqual([]);
});

test("nobody is stopped for one that has not waited, or that could not run there", () => {
  expect(chosen([waiting("w", { waitedMs: policy.patienceMs - 1 })], [held("x")], NOW)).toEqual([]);
  expect(chosen([waiting("w", { node: "b" })], [held("x")], NOW)).toEqual([]);
});

test("nobody is stopped for one that gets room by itself in a moment, and each such room is for one", () => {
  const soon = { ...held("soon"), endsInMs: 5_000 };
  expect(chosen([waiting("w")], [soon, held("x")], NOW)).toEqual([]);
  expect(chosen([waiting("w"), waiting("v")], [soon, held("x")], NOW)).toEqual(["x for v"]);
  expect(chosen([waiting("w")], [{ ...soon, endsInMs: policy.soonMs + 1 }], NOW)).toEqual(["soon for w"]);
  // When one that is late ends nobody knows.
  expect(chosen([waiting("w")], [{ ...soon, endsInMs: 0 }], NOW)).toEqual(["soon for w"]);
  // Room on another node is none.
  expect(chosen([waiting("w", { node: "b" })], [{ ...soon, node_id: "a" }, held("y", { node_id: "b" })], NOW)).toEqual([
    "y for w",
  ]);
});

test("each drives out one at most, the most urgent first, and those under way count", () => {
  const running = [held("x"), held("y"), held("z", { stopping: true })];
  const urgent = [waiting("high", { urgency: 2 }), waiting("critical"), waiting("critical too", { waitedMs: 50_000 })];
  expect(chosen(urgent, running, NOW)).toEqual(["x for critical too", "y for high"]);
});
