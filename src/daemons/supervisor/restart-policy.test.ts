import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { daemonManagerDefaults as rules } from "./config.ts";
import { afterFailure, isCrashLoop, noCascade, noteRestart, spendRestart } from "./restart-policy.ts";

const minute = 60_000;
const hour = 60 * minute;

describe("a failure", () => {
  test("waits twice as long each time, never less than the cooldown and never more than the most", () => {
    const random = seededRandom(7);
    for (let before = 0; before < 12; before += 1) {
      const restarts = Array.from({ length: before }, (_, i) => hour + i);
      const verdict = afterFailure(rules, 100, restarts, hour + 100, random);
      const least = Math.min(rules.recoveryCooldownMs * 2 ** before, rules.maxBackoffMs * (1 - rules.backoffJitter));
      expect(verdict.kind).toBe("restart");
      if (verdict.kind !== "restart") return;
      expect(verdict.delayMs).toBeGreaterThanOrEqual(Math.floor(least));
      expect(verdict.delayMs).toBeLessThanOrEqual(Math.min(rules.maxBackoffMs, least / (1 - rules.backoffJitter) + 1));
    }
  });

  test.each([
    ["no restart is left after five", [1, 2, 3, 4, 5], 5, "give_up"],
    ["one is left after four", [1, 2, 3, 4], 5, "restart"],
    ["those of an hour ago do not count", [1, 2, 3, 4, 5].map((n) => n - hour - 10), 5, "restart"],
    ["those of a clock that was set back do count", [1, 2, 3, 4, 5].map((n) => n + hour), 5, "give_up"],
    ["a budget of none gives up at once", [], 0, "give_up"],
  ])("%s", (_, restarts, most, kind) => {
    expect(afterFailure(rules, most, restarts, 10, seededRandom(1)).kind).toBe(kind);
  });

  test("is never followed by more restarts in a window than the budget, whenever it comes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 * minute }), { maxLength: 100 }),
        fc.integer({ min: 0, max: 8 }),
        (gaps, most) => {
          const random = seededRandom(3);
          const all: number[] = [];
          let restarts: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const verdict = afterFailure(rules, most, restarts, now, random);
            if (verdict.kind === "give_up") continue;
            now += verdict.delayMs;
            restarts = spendRestart(rules, restarts, now);
            all.push(now);
          }
          for (const at of all)
            expect(all.filter((other) => other <= at && at - other < rules.restartWindowMs).length).toBeLessThanOrEqual(
              most,
            );
          expect(restarts.length).toBeLessThanOrEqual(most);
        },
      ),
    );
  });
});

test.each([
  [[0, 1, 2], null, true],
  [[0, 1], null, false],
  [[0, 1, 2], 2, false],
  [[0, 1, 2 + 10 * minute], null, false],
  [[10 * minute, 10 * minute + 1, 10 * minute + 2], 0, true],
])("restarts at %j, told at %j: a crash loop to tell is %s", (restarts, toldAt, expected) => {
  expect(isCrashLoop(rules, restarts, toldAt, restarts.at(-1)!)).toBe(expected);
});

describe("a cascade", () => {
  test("begins at the limit within the window, and counts anew after it", () => {
    let cascade = noCascade;
    for (let i = 1; i < rules.cascadeRestarts; i += 1) cascade = noteRestart(rules, cascade, i);
    expect(cascade.pausedUntil).toBe(Number.NEGATIVE_INFINITY);
    cascade = noteRestart(rules, cascade, 100);
    expect(cascade).toEqual({ restarts: [], pausedUntil: 100 + rules.cascadePauseMs });
  });

  test("is none when the restarts are far between", () => {
    let cascade = noCascade;
    for (let i = 1; i < 200; i += 1) cascade = noteRestart(rules, cascade, i * rules.cascadeWindowMs);
    expect(cascade.pausedUntil).toBe(Number.NEGATIVE_INFINITY);
  });
});
