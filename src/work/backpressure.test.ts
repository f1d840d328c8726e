import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  levelFor,
  nextPressure,
  type Pressure,
  pressurePolicyDefaults as policy,
  pressurePayload,
  QUEUE_LEVELS,
  queueLevelOf,
  RESOURCE_LEVELS,
  rateMultiplierOf,
  resourceLevelOf,
  worstLevel,
} from "./backpressure.ts";

const rank = (level: (typeof QUEUE_LEVELS)[number]) => QUEUE_LEVELS.indexOf(level);

test.each([
  [0, 0, "none"],
  [499, 599, "none"],
  [500, 0, "soft"],
  [0, 600, "soft"],
  [900, 0, "hard"],
  [10, 1_800, "hard"],
  [1_000, 0, "stop"],
  [1, 3_600, "stop"],
] as const)("%i jobs, the oldest for %i s, call for %s", (depth, delaySeconds, level) => {
  expect(levelFor({ depth, delaySeconds }, policy)).toBe(level);
});

describe("the two scales", () => {
  test("go up together, and a way there and back changes nothing", () => {
    const mapped = QUEUE_LEVELS.map((level) => RESOURCE_LEVELS.indexOf(resourceLevelOf(level)));
    expect(mapped).toEqual(mapped.toSorted((a, b) => a - b));
    for (const level of QUEUE_LEVELS) expect(queueLevelOf(resourceLevelOf(level))).toBe(level);
    expect(RESOURCE_LEVELS.map(queueLevelOf)).toEqual(["none", "none", "soft", "hard", "stop"]);
    expect(QUEUE_LEVELS.map(rateMultiplierOf)).toEqual([1, 0.5, 0.1, 0]);
    expect(worstLevel(["soft", "stop", "none"])).toBe("stop");
    expect(worstLevel([])).toBe("none");
  });
});

describe("pressure over time", () => {
  const figures = fc.array(
    fc.record({
      depth: fc.integer({ min: 0, max: 1_500 }),
      delaySeconds: fc.integer({ min: 0, max: 5_000 }),
      after: fc.integer({ min: 1, max: 120 }),
    }),
    { maxLength: 200 },
  );

  test("rises at once as far as needed, falls a step at a time, and never sooner than it may", () => {
    fc.assert(
      fc.property(figures, (all) => {
        let now = 0;
        let pressure: Pressure = { level: "none", since: 0 };
        for (const measured of all) {
          now += measured.after;
          const next = nextPressure(now, pressure, measured, policy);
          expect(rank(next.level)).toBeGreaterThanOrEqual(rank(levelFor(measured, policy)));
          if (rank(next.level) < rank(pressure.level)) {
            expect(rank(pressure.level) - rank(next.level)).toBe(1);
            expect(now - pressure.since).toBeGreaterThanOrEqual(policy.holdSeconds);
          }
          if (next.level === pressure.level) expect(next.since).toBe(pressure.since);
          pressure = next;
        }
      }),
    );
  });

  test("figures that tremble around a mark change the level once", () => {
    let pressure: Pressure = { level: "none", since: 0 };
    let changes = 0;
    for (let now = 0; now < 3_600; now += 5) {
      const next = nextPressure(now, pressure, { depth: 500 + (now % 10 === 0 ? 40 : -40), delaySeconds: 0 }, policy);
      if (next.level !== pressure.level) changes += 1;
      pressure = next;
    }
    expect([pressure.level, changes]).toEqual(["soft", 1]);
  });

  test("an empty queue is free again after a while", () => {
    let pressure: Pressure = { level: "stop", since: 0 };
    for (let now = 0; now <= 3 * policy.holdSeconds; now += 5)
      pressure = nextPressure(now, pressure, { depth: 0, delaySeconds: 0 }, policy);
    expect(pressure.level).toBe("none");
  });
});

test("the payload says both scales, before and after", () => {
  expect(
    pressurePayload(
      "work_queue",
      { level: "soft", since: 10 },
      { level: "hard", since: 70 },
      { depth: 950, delaySeconds: 12 },
    ),
  ).toEqual({
    scope: "work_queue",
    level: "hard",
    resource_level: "high",
    previous_level: "soft",
    reason: "950 jobs wait, the oldest for 12 s",
    rate_multiplier: 0.1,
    queue_depth: 950,
    waited_seconds: 12,
    duration_seconds: 60,
  });
});
