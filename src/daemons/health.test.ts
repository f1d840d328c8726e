import { expect, test } from "vitest";
import { standardHealth, worstHealth } from "./health.ts";

test.each([
  [0, 0, "running"],
  [10, 0, "running"],
  [80, 20, "running"],
  [79, 21, "degraded"],
  [50, 50, "degraded"],
  [49, 51, "stopped"],
  [0, 1, "stopped"],
] as const)("%i done and %i failed is %s", (succeeded, failed, status) => {
  expect(standardHealth({ succeeded, failed }).status).toBe(status);
});

test("the worse judgement counts, and all details are kept", () => {
  expect(
    worstHealth([
      { status: "running", message: "fine", details: { lag: 1 } },
      { status: "stopped", message: "no disk", details: { disk: 0 } },
      { status: "degraded", message: "slow" },
    ]),
  ).toEqual({ status: "stopped", message: "no disk", details: { lag: 1, disk: 0 } });
});

test("of equally bad judgements the first that says something speaks", () => {
  expect(
    worstHealth([
      { status: "running", message: "" },
      { status: "running", message: "2 behind" },
    ]).message,
  ).toBe("2 behind");
});
