import { expect, test } from "vitest";
import { OperatingError } from "../../kernel/index.ts";
import { WorkCounts } from "./work-counts.ts";

test("what a failure says is kept within a bound: it is shown with every status, and fifty of them are kept", () => {
  const counts = new WorkCounts();
  for (let i = 0; i < 60; i += 1) counts.fail("event", new Error("x".repeat(1_000_000)), i);
  expect(counts.recentErrors).toHaveLength(50);
  expect(JSON.stringify([counts.recentErrors, counts.lastError]).length).toBeLessThan(150_000);
  expect(counts.lastError).toMatch(/^x{2000}$/);
});

test("what the store refused is held against a unit until the store takes its work again, and no longer", () => {
  const counts = new WorkCounts();
  counts.succeed("tick", 0);
  for (let i = 1; i < 20; i += 1) counts.fail("tick", OperatingError.unavailable("STORE_FULL", "the disk is full"), i);
  expect(counts.health().status).toBe("stopped");
  counts.succeed("tick", 20);
  expect(counts.health()).toEqual({ status: "running", message: "" });
  expect(counts.recentErrors.at(-1)).toMatchObject({ error: "the disk is full" });
});

test("what a unit failed at by itself is not forgotten with the next success", () => {
  const counts = new WorkCounts();
  for (let i = 0; i < 19; i += 1) counts.fail("tick", new Error("its own"), i);
  counts.succeed("tick", 20);
  expect(counts.health()).toEqual({ status: "stopped", message: "19 of the last 20 failed" });
});
