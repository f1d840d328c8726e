import { describe, expect, test } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { type DiskPoint, fullInMs, forecastDefaults as policy, withPoint } from "./disk-forecast.ts";

const HOUR = 3_600_000;
const GB = 1e9;
const line = (minutes: number, bytesAt: (minute: number) => number) => {
  let points: readonly DiskPoint[] = [];
  for (let minute = 0; minute < minutes; minute += 0.25)
    points = withPoint(points, { at: minute * 60_000, usedBytes: bytesAt(minute) }, policy);
  return points;
};

describe("a disk that fills", () => {
  test("steadily is full when the rest is used up at that rate", () => {
    const points = line(120, (minute) => 100 * GB + (minute / 60) * 5 * GB);
    expect(fullInMs(points, 50 * GB, policy)! / HOUR).toBeCloseTo(10, 3);
  });

  test("steadily with noise is told about right", () => {
    const random = seededRandom(7);
    const points = line(240, (minute) => 100 * GB + (minute / 60) * 5 * GB + random.next() * 0.3 * GB);
    expect(fullInMs(points, 50 * GB, policy)! / HOUR).toBeGreaterThan(9);
    expect(fullInMs(points, 50 * GB, policy)! / HOUR).toBeLessThan(11);
  });

  test.each([
    ["within too short a time", line(20, (minute) => minute * GB)],
    ["in one leap", line(120, (minute) => (minute < 110 ? 100 * GB : 140 * GB))],
    ["and is cleaned again and again", line(120, (minute) => 100 * GB + (minute % 10) * GB)],
    ["not at all", line(120, () => 100 * GB)],
    ["backwards", line(120, (minute) => 200 * GB - minute * 0.1 * GB)],
  ])("%s is not foretold", (_what, points) => {
    expect(fullInMs(points, 50 * GB, policy)).toBeNull();
  });

  test("is remembered within bounds", () => {
    expect(line(60 * 24, (minute) => minute * GB).length).toBe(policy.maxPoints);
  });
});
