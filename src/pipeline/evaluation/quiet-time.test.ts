import { expect, test } from "vitest";
import { STAGES } from "../stage/index.ts";
import { quietTime } from "./quiet-time.ts";

const at = { state: "running", stage_since: 1_000 } as const;

test("games beside the stages wait for training, and for nothing else that is short", () => {
  const free = STAGES.filter((stage) => quietTime({ ...at, stage }, 2_000) === undefined);
  expect(free).toEqual(["training"]);
});

test("they do not wait for a stage that is long, nor for a loop that stands still", () => {
  expect(quietTime({ ...at, stage: "selfplay" }, 30_999)).toMatchObject({ for: "quiet_time" });
  expect(quietTime({ ...at, stage: "selfplay" }, 31_000)).toBeUndefined();
  for (const state of ["waiting", "paused", "failed", "complete"] as const)
    expect(quietTime({ ...at, stage: "selfplay", state }, 2_000)).toBeUndefined();
  expect(quietTime(undefined, 2_000)).toBeUndefined();
});
