import { expect, test } from "vitest";
import { isBodyRefused, kindOfStatus, OperatingError } from "./errors.ts";

test("the kind decides the status, the exit code and whether to try again", () => {
  const made = [
    OperatingError.notFound("JOB_NOT_FOUND", "gone"),
    OperatingError.invalid("INVALID_OPTION", "wrong"),
    OperatingError.conflict("JOB_FINISHED", "late"),
    OperatingError.busy("CLAIMS_BUSY", "full"),
    OperatingError.denied("FORBIDDEN", "no"),
    OperatingError.unavailable("STOPPING", "away"),
    OperatingError.internal("INTERNAL", "broken"),
  ];
  expect(made.map(({ kind, status, exitCode, retryable }) => [kind, status, exitCode, retryable])).toEqual([
    ["not_found", 404, 3, false],
    ["invalid", 422, 2, false],
    ["conflict", 409, 5, false],
    ["busy", 503, 4, true],
    ["denied", 403, 5, false],
    ["unavailable", 503, 4, true],
    ["internal", 500, 5, false],
  ]);
});

test("an error may differ from its kind, and then says so", () => {
  const stale = OperatingError.denied("NODE_SESSION_STALE", "old", { status: 401, retryable: true });
  expect([stale.status, stale.exitCode, stale.retryable]).toEqual([401, 4, true]);
  const absent = OperatingError.unavailable("LOOP_NOT_HERE", "no loop", { retryable: false });
  expect([absent.status, absent.exitCode, absent.retryable]).toEqual([503, 4, false]);
});

test("what was sent is at fault for 400, 413 and 422 alone, and not where trying again helps", () => {
  expect(isBodyRefused(OperatingError.invalid("INVALID_EVENT", "no event"))).toBe(true);
  expect(isBodyRefused(OperatingError.denied("PAYLOAD_TOO_LARGE", "too large", { status: 413 }))).toBe(true);
  expect(isBodyRefused(OperatingError.denied("UNAUTHORIZED", "who?", { status: 401 }))).toBe(false);
  expect(isBodyRefused(OperatingError.invalid("MATCH_RESULTS_BROKEN", "again", { retryable: true }))).toBe(false);
});

test("an answer without a kind has that of its status", () => {
  expect([404, 409, 422, 400, 401, 413, 429, 500, 502, 503].map(kindOfStatus)).toEqual(
    "not_found conflict invalid invalid denied denied busy internal unavailable unavailable".split(" "),
  );
});
