import { describe, expect, test } from "vitest";
import { type RestartPolicy, restartPolicy } from "../../src/daemons/supervisor/restart-policy.ts";
import { superviseUnderFaults } from "./supervision-world.ts";

describe("thousands of faults over ninety daemons", () => {
  test("order, budgets and cooldowns hold, no storm breaks out, and all runs when the faults have stopped", async () => {
    const report = await superviseUnderFaults({ seed: 3, faults: 3_000 });
    expect(report.violations).toEqual([]);
    expect(report.missing).toEqual([]);
    expect(report.left).toEqual({ timers: 0, handles: 0 });
    // It was no walk: daemons did fail, were restarted and were given up, and processes died.
    expect(Math.min(report.restarts, report.gaveUp)).toBeGreaterThan(30);
    expect(report.crashes).toBeGreaterThan(0);
  });
});

describe("a history", () => {
  test("is one for each seed", async () => {
    const [first, again, other] = [
      await superviseUnderFaults({ seed: 7, faults: 300, daemons: 30 }),
      await superviseUnderFaults({ seed: 7, faults: 300, daemons: 30 }),
      await superviseUnderFaults({ seed: 8, faults: 300, daemons: 30 }),
    ];
    expect(again.trace).toEqual(first.trace);
    expect(other.trace).not.toEqual(first.trace);
    expect(first.trace.length).toBeGreaterThan(500);
  });

  test("holds for other seeds and leaves no timer", async () => {
    for (let seed = 100; seed < 110; seed += 1) {
      const { violations, missing, left } = await superviseUnderFaults({ seed, faults: 300, daemons: 40 });
      expect({ seed, violations, missing, left }).toEqual({
        seed,
        violations: [],
        missing: [],
        left: { timers: 0, handles: 0 },
      });
    }
  });
});

describe("the simulation finds", () => {
  const planted: Readonly<Record<string, [policy: RestartPolicy, complaint: RegExp]>> = {
    "a budget that every restart resets": [
      { ...restartPolicy, spendRestart: (_rules, _restarts, now) => [now] },
      /spent more than its budget/,
    ],
    "a restart without its wait": [
      {
        ...restartPolicy,
        afterFailure(...given) {
          const verdict = restartPolicy.afterFailure(...given);
          return verdict.kind === "restart" ? { ...verdict, delayMs: 10 } : verdict;
        },
      },
      /within the cooldown/,
    ],
    "a storm that nobody holds back": [
      { ...restartPolicy, noteRestart: (_rules, cascade) => cascade },
      /restarts within a minute/,
    ],
  };
  test.each(Object.entries(planted))("%s", async (_, [policy, complaint]) => {
    const { violations } = await superviseUnderFaults({ seed: 1, faults: 1_500, policy });
    expect(violations.some((each) => complaint.test(each))).toBe(true);
  });
});
