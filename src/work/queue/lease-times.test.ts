import { expect, test } from "vitest";
import { LeaseTimes } from "./lease-times.ts";

test("what a lease has left is told in whole milliseconds, however fine the clock is that counts it", () => {
  let now = 0.125;
  const times = new LeaseTimes(() => now, 1_000);
  const job = { seq: 1, fence: 1, lane: 1, beat_by: null, expires_at: 5_000, stop_by: null, earlier: null };
  times.begin(job, 5_000);
  times.stop(job, 300);
  now = 100.75;
  expect(times.left(job)).toEqual({ expiresMs: 4_899, stopMs: 199 });
});
