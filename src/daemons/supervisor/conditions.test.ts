import { expect, test } from "vitest";
import { sameConditions, withCondition } from "./conditions.ts";

const ready = { type: "Ready", status: "true", reason: "Running", message: "" } as const;

test("a condition moves its time with its status alone", () => {
  const first = withCondition([], ready, 1);
  const reworded = withCondition(first, { ...ready, message: "well" }, 2);
  const turned = withCondition(reworded, { ...ready, status: "false", reason: "Stopped" }, 3);
  expect([first, reworded, turned].map(([condition]) => condition!.lastTransitionAt)).toEqual([1, 1, 3]);
  expect(turned).toHaveLength(1);
});

test("what is not new is the same list, and a message alone is not worth a commit", () => {
  const first = withCondition([], ready, 1);
  expect(withCondition(first, ready, 2)).toBe(first);
  expect(sameConditions(first, withCondition(first, { ...ready, message: "well" }, 2))).toBe(true);
  expect(sameConditions(first, withCondition(first, { ...ready, status: "false" }, 2))).toBe(false);
});

test("conditions stand in one order, whichever came first", () => {
  const healthy = { ...ready, type: "Healthy" } as const;
  const both = withCondition(withCondition([], healthy, 1), ready, 1);
  expect(both.map(({ type }) => type)).toEqual(["Ready", "Healthy"]);
});
