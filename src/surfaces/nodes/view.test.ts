import { expect, test } from "vitest";
import { costOf } from "./view.ts";
import type { Node } from "./wire.ts";

const NOW = 1_790_000_000_000;
const HOUR = 3_600_000;
const node = (busy_seconds: number, games: number, joinedHoursAgo = 48) =>
  ({
    work: { busy_seconds, games },
    capabilities: { cpu: 2 },
    joined_at: NOW - joinedHoursAgo * HOUR,
  }) as unknown as Node;

test("what a node costs is the time of its jobs, for games and of what it could have given", () => {
  expect(costOf(node(12 * 3_600, 6_000), NOW)).toBe(
    "12.00 processor-hours in the last day, 2.00 for 1,000 games; idle 75 % of 2 processors",
  );
  // One that joined an hour ago could have given two hours.
  expect(costOf(node(3_600, 0, 1), NOW)).toBe("1.00 processor-hours in the last day; idle 50 % of 2 processors");
});
