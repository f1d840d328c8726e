import fc from "fast-check";
import { expect, test } from "vitest";
import { campaignAt, hasLostEntries, isBeatDue, type LeaseTiming, trustedUntil } from "./decide.ts";

const timing: LeaseTiming = { leaseMs: 12_000, marginMs: 2_000, beatMs: 3_000, headStartMs: 3_000 };

test("a leader stops to believe before any other tries, whatever the delays, with clocks that differ by less than the margin", () => {
  const delay = fc.integer({ min: 0, max: 60_000 });
  fc.assert(
    fc.property(
      delay,
      delay,
      fc.boolean(),
      fc.double({ min: 0.92, max: 1.08, noNaN: true }),
      (toLog, toOther, isPreferred, rate) => {
        // True time: sent at 0, stored, then heard by a standby whose clock runs at another rate.
        const heard = toLog + toOther;
        const waits = campaignAt({ heardAt: 0, isPreferred, isOffered: false }, timing) / rate;
        expect(heard + waits).toBeGreaterThan(trustedUntil(0, timing));
      },
    ),
  );
});

test("the preferred one tries first, and one that was offered the lead at once", () => {
  const at = (isPreferred: boolean, isOffered = false) =>
    campaignAt({ heardAt: 1_000, isPreferred, isOffered }, timing);
  expect([at(true), at(false), at(false, true)]).toEqual([13_000, 16_000, 1_000]);
});

test("an idle leader beats well before its lease ends", () => {
  expect(isBeatDue(2_999, 0, timing)).toBe(false);
  expect(isBeatDue(3_000, 0, timing)).toBe(true);
});

test("entries count as lost only when the log has said for a whole lease that it ends before them", () => {
  const lost = (now: number, ...seen: [number, number][]) =>
    hasLostEntries(
      10,
      seen.map(([at, last]) => ({ at, last })),
      now,
      timing,
    );
  expect(lost(20_000)).toBe(false);
  expect(lost(20_000, [0, 9])).toBe(false);
  expect(lost(5_000, [0, 9], [4_000, 9])).toBe(false);
  expect(lost(12_000, [0, 9], [4_000, 9])).toBe(true);
  expect(lost(16_000, [0, 9], [8_000, 10], [12_000, 9])).toBe(false);
});
