import { expect, test } from "vitest";
import { createUnitLedger } from "./unit-ledger.ts";

test("what a failure says is kept within a bound: it is shown with every status, and fifty of them are kept", () => {
  const ledger = createUnitLedger();
  for (let i = 0; i < 60; i += 1) ledger.fail("event", "x".repeat(1_000_000), i);
  expect(ledger.recentErrors).toHaveLength(50);
  expect(JSON.stringify([ledger.recentErrors, ledger.lastError]).length).toBeLessThan(150_000);
  expect(ledger.lastError).toMatch(/^x{2000}$/);
});
