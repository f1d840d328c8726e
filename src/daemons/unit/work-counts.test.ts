import { expect, test } from "vitest";
import { WorkCounts } from "./work-counts.ts";

test("what a failure says is kept within a bound: it is shown with every status, and fifty of them are kept", () => {
  const counts = new WorkCounts();
  for (let i = 0; i < 60; i += 1) counts.fail("event", "x".repeat(1_000_000), i);
  expect(counts.recentErrors).toHaveLength(50);
  expect(JSON.stringify([counts.recentErrors, counts.lastError]).length).toBeLessThan(150_000);
  expect(counts.lastError).toMatch(/^x{2000}$/);
});
