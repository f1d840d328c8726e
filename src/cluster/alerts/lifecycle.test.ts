import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ALERT_SEVERITIES, type AlertPolicy, type AlertState, isWorse } from "./alert.ts";
import { acknowledge, age, close, dueAt, isSameTrouble, raise, type Step } from "./lifecycle.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const policy: AlertPolicy = {
  coolDownMs: HOUR,
  escalateAfterMs: null,
  escalateAtCounts: [],
  worst: "critical",
  closeAfterSilenceMs: null,
};
const open = (at = 0) => raise(null, "warning", at, policy).state;
/** Looks every minute, and gives what was told when. */
const watch = (from: AlertState, minutes: number, of: AlertPolicy) => {
  const told: [number, string, string][] = [];
  let state = from;
  for (let minute = 1; minute <= minutes; minute += 1) {
    const step = age(state, minute * MINUTE, of);
    if (step.transition !== null) told.push([minute, step.transition, step.state.severity]);
    state = step.state;
  }
  return told;
};

describe("an alert", () => {
  test("opens with one message and counts repeats in silence", () => {
    let step = raise(null, "warning", 0, policy);
    expect(step).toMatchObject({ transition: "opened", state: { status: "open", count: 1, messages: 1 } });
    for (let i = 1; i < 10_000; i += 1) {
      step = raise(step.state, "warning", i, policy);
      expect(step.transition).toBeNull();
    }
    expect(step.state).toMatchObject({ count: 10_000, last_seen_at: 9_999, messages: 1 });
  });

  test("is told again when it becomes worse by what is seen", () => {
    expect(raise(open(), "critical", 5, policy)).toMatchObject({
      transition: "escalated",
      state: { severity: "critical" },
    });
    expect(raise(open(), "info", 5, policy)).toMatchObject({ transition: null, state: { severity: "warning" } });
  });

  test("becomes worse at the counts that its rule names", () => {
    const of = { ...policy, escalateAtCounts: [3, 5] };
    let state = open();
    const severities = [2, 3, 4, 5, 6].map((at) => {
      state = raise(state, "warning", at, of).state;
      return state.severity;
    });
    expect(severities).toEqual(["warning", "error", "error", "critical", "critical"]);
  });

  test("reminds after its cool-down, later and later, at most once a day in the end", () => {
    expect(watch(open(), 60 * 24 * 4, policy).map(([minute]) => minute / 60)).toEqual([1, 3, 7, 15, 31, 55, 79]);
  });

  test("becomes worse step by step while nobody acknowledges it, but not worse than its rule allows", () => {
    const of = { ...policy, escalateAfterMs: 30 * MINUTE, worst: "error" as const, coolDownMs: 10 * HOUR };
    expect(watch(open(), 300, of)).toEqual([[30, "escalated", "error"]]);
  });

  test("that is acknowledged neither reminds nor escalates by age, until it becomes worse", () => {
    const of = { ...policy, escalateAfterMs: 30 * MINUTE };
    const { state } = acknowledge(open(), MINUTE);
    expect(watch(state, 600, of)).toEqual([]);
    expect(raise(state, "warning", HOUR, of)).toMatchObject({ transition: null, state: { status: "acknowledged" } });
    expect(raise(state, "critical", HOUR, of)).toMatchObject({ transition: "escalated", state: { status: "open" } });
  });

  test("closes by silence where its rule says so, counted from when it was last seen", () => {
    const of = { ...policy, closeAfterSilenceMs: 30 * MINUTE };
    const seen = raise(open(), "warning", 10 * MINUTE, of).state;
    expect(watch(seen, 120, of)).toEqual([[40, "closed", "warning"]]);
  });

  test("that comes and goes is told once for each cool-down", () => {
    let state: AlertState = open();
    const told: string[] = [];
    const note = (step: Step) => {
      if (step.transition !== null) told.push(step.transition);
      state = step.state;
    };
    for (let minute = 1; minute <= 120; minute += 1) {
      note(close(state, minute * MINUTE - MINUTE / 2));
      note(raise(state, "warning", minute * MINUTE, policy));
    }
    expect(told).toEqual(["closed", "reopened", "closed", "reopened"]);
    expect(state.count).toBe(121);
  });

  test("closed long ago is another trouble when it comes back", () => {
    const { state } = close(open(), MINUTE);
    expect(isSameTrouble(state, 10 * MINUTE, policy)).toBe(true);
    expect(isSameTrouble(state, 2 * HOUR, policy)).toBe(false);
    expect(isSameTrouble(open(), 0, policy)).toBe(false);
  });
});

test("whatever happens, severity rises by itself only to the worst, messages are numbered, and what is due comes", () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant("raise" as const), severity: fc.constantFrom(...ALERT_SEVERITIES) }),
    fc.record({ kind: fc.constantFrom("age" as const, "close" as const, "acknowledge" as const) }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(action, fc.integer({ min: 0, max: 2 * HOUR })), { maxLength: 60 }),
      fc.boolean(),
      (actions, silence) => {
        const of: AlertPolicy = {
          ...policy,
          worst: "error",
          escalateAfterMs: 20 * MINUTE,
          escalateAtCounts: [4],
          closeAfterSilenceMs: silence ? HOUR : null,
        };
        let now = 0;
        let { state } = raise(null, "warning", now, of);
        let worstSeen = state.severity;
        for (const [what, passed] of actions) {
          now += passed;
          const before = state;
          const step =
            what.kind === "raise"
              ? raise(state, what.severity, now, of)
              : what.kind === "age"
                ? age(state, now, of)
                : what.kind === "close"
                  ? close(state, now)
                  : acknowledge(state, now);
          state = step.state;
          if (what.kind === "raise" && isWorse(what.severity, worstSeen)) worstSeen = what.severity;
          expect(state.messages - before.messages).toBe(step.transition === null ? 0 : 1);
          expect(isWorse(state.severity, isWorse(worstSeen, "error") ? worstSeen : "error")).toBe(false);
          expect((state.closed_at !== null) === (state.status === "closed")).toBe(true);
          const due = dueAt(state, of);
          // Nothing is due on a closed alert; on an open one, looking when it is due does something.
          if (state.status === "closed") expect(due).toBeNull();
          else if (due !== null) expect(age(state, Math.max(now, due), of).state).not.toEqual(state);
        }
      },
    ),
  );
});
