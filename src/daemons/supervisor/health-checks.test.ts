import { describe, expect, test } from "vitest";
import { HealthCheckHelper as checks, judgeChecks } from "./health-checks.ts";

describe("HealthCheckHelper", () => {
  test.each([
    [{ errors: 5, cycles: 100, threshold: 0.5 }, true],
    [{ errors: 50, cycles: 100 }, true],
    [{ errors: 51, cycles: 100 }, false],
    [{ errors: 3, cycles: 10, threshold: 0.2 }, false],
    [{ errors: 0, cycles: 0 }, true],
  ])("checkErrorRate(%j) is %s", (given, ok) => {
    expect(checks.checkErrorRate(given).ok).toBe(ok);
  });

  test.each([
    [{ startedAt: 0, now: 29_999 }, true],
    [{ startedAt: 0, now: 30_000 }, false],
    [{ startedAt: 50, now: 0, gracePeriodMs: 10 }, true],
  ])("checkUptimeGrace(%j) is %s", (given, ok) => {
    expect(checks.checkUptimeGrace(given).ok).toBe(ok);
  });

  test.each([
    [{ depth: 1_000 }, true],
    [{ depth: 1_001 }, false],
    [{ depth: 3, maxDepth: 2 }, false],
  ])("checkQueueDepth(%j) is %s", (given, ok) => {
    expect(checks.checkQueueDepth(given).ok).toBe(ok);
  });

  test.each([
    [{ lastSuccessAt: 90, startedAt: 0, now: 100, deadlineMs: 10 }, true],
    [{ lastSuccessAt: 89, startedAt: 0, now: 100, deadlineMs: 10 }, false],
    [{ lastSuccessAt: null, startedAt: 95, now: 100, deadlineMs: 10 }, true],
    [{ lastSuccessAt: null, startedAt: 0, now: 100, deadlineMs: 10 }, false],
  ])("checkLastSuccess(%j) is %s", (given, ok) => {
    expect(checks.checkLastSuccess(given).ok).toBe(ok);
  });
});

test("several checks are judged by the worst that failed, and all that failed are named", () => {
  const bad = (message: string, otherwise: "degraded" | "stopped") => ({ ok: false, message, otherwise });
  expect(judgeChecks([bad("slow", "degraded"), { ok: true, message: "", otherwise: "stopped" }])).toEqual({
    status: "degraded",
    message: "slow",
  });
  expect(judgeChecks([bad("slow", "degraded"), bad("silent", "stopped")])).toEqual({
    status: "stopped",
    message: "slow; silent",
  });
  expect(judgeChecks([])).toEqual({ status: "running", message: "" });
});
