import fc from "fast-check";
import { expect, test } from "vitest";
import {
  campaignAt,
  commonSeq,
  type ForgetLimits,
  forgettable,
  hasLostEntries,
  isBeatDue,
  type LeaseTiming,
  type Mark,
  trustedUntil,
} from "./decide.ts";
import { leaseTimingOf } from "./timing.ts";

const timing: LeaseTiming = { leaseMs: 12_000, marginMs: 2_000, beatMs: 3_000, headStartMs: 3_000 };

test("a leader stops to believe before any other tries, whatever the delays, with clocks that differ by less than the margin", () => {
  const delay = fc.integer({ min: 0, max: 60_000 });
  fc.assert(
    fc.property(
      delay,
      delay,
      fc.boolean(),
      fc.double({ min: 0.92, max: 1.08, noNaN: true }),
      (toLog, toOther, givesWay, rate) => {
        // True time: sent at 0, stored, then heard by a standby whose clock runs at another rate.
        const heard = toLog + toOther;
        const waits = campaignAt({ heardAt: 0, givesWay, isOffered: false }, timing) / rate;
        expect(heard + waits).toBeGreaterThan(trustedUntil(0, timing));
      },
    ),
  );
});

test("the preferred one tries first, and one that was offered the lead at once", () => {
  const at = (givesWay: boolean, isOffered = false) => campaignAt({ heardAt: 1_000, givesWay, isOffered }, timing);
  expect([at(false), at(true), at(true, true)]).toEqual([13_000, 16_000, 1_000]);
});

test("whoever waits does so for the longer of both leases: one that is set too short takes nothing from who still trusts itself", () => {
  const leaseMs = fc.integer({ min: 3_000, max: 120_000 });
  fc.assert(
    fc.property(leaseMs, leaseMs, fc.integer({ min: 0, max: 60_000 }), (ofLeader, ofStandby, late) => {
      const [leader, standby] = [leaseTimingOf(ofLeader), leaseTimingOf(ofStandby)];
      const tries = campaignAt({ heardAt: late, givesWay: false, isOffered: false, leaderLeaseMs: ofLeader }, standby);
      expect(tries).toBeGreaterThan(trustedUntil(0, leader));
      // Nor is one that beats in its own time taken for silent.
      expect(tries - late).toBeGreaterThan(leader.beatMs);
    }),
  );
});

test("an idle leader beats well before its lease ends", () => {
  expect(isBeatDue(2_999, 0, timing)).toBe(false);
  expect(isBeatDue(3_000, 0, timing)).toBe(true);
});

test("entries count as lost only when the log has said for a whole lease, through two servers, that it ends before them", () => {
  const lost = (now: number, ...seen: [number, number, string?][]) =>
    hasLostEntries(
      10,
      seen.map(([at, last, by = `n${at}`]) => ({ at, last, by })),
      now,
      timing,
    );
  expect(lost(20_000)).toBe(false);
  expect(lost(20_000, [0, 9])).toBe(false);
  expect(lost(5_000, [0, 9], [4_000, 9])).toBe(false);
  expect(lost(12_000, [0, 9], [4_000, 9])).toBe(true);
  expect(lost(16_000, [0, 9], [8_000, 10], [12_000, 9])).toBe(false);
  // One that is cut off says so for as long as it is.
  expect(lost(40_000, [0, 9, "n1"], [12_000, 9, "n1"], [30_000, 9, "n1"])).toBe(false);
  expect(lost(40_000, [0, 9, "n1"], [12_000, 9, "n1"], [30_000, 9, "n2"])).toBe(true);
});

const forget: ForgetLimits = { keepMs: 1_000, awayMs: 24_000, maxBytes: 100, presentMs: 50 };

test("the log is needed as far as the last of those who are waited for has it", () => {
  const others = [
    { seq: 90, silentMs: 0 },
    { seq: 40, silentMs: 20_000 },
    { seq: 10, silentMs: 30_000 },
  ];
  expect(commonSeq(100, others, 0, forget)).toBe(40);
  // A log that is too large waits for nobody who is not there.
  expect(commonSeq(100, others, 101, forget)).toBe(90);
  expect(commonSeq(100, [], 0, forget)).toBe(100);
});

test("what all have is forgotten only after the time that somebody needs to join, and never more than all have now", () => {
  let marks: readonly Mark[] = [];
  const at = (now: number, seq: number) => {
    const next = forgettable(marks, { at: now, seq }, forget);
    marks = next.marks;
    return next.upTo;
  };
  expect([at(0, 10), at(500, 20), at(999, 30)]).toEqual([0, 0, 0]);
  expect([at(1_000, 40), at(1_499, 45), at(1_500, 50)]).toEqual([10, 10, 20]);
  // One that came back with less holds the log where it is.
  expect(at(1_600, 15)).toBe(15);
  expect(at(10_000, 60)).toBe(15);
  expect(marks.length).toBeLessThan(25);
});
