import { expect, test } from "vitest";
import type { HealthFacts } from "./score.ts";
import { nextVerdict, verdictDefaults } from "./verdict.ts";

const well: HealthFacts = {
  nodes: { known: 4, online: 4, missing: [], late: [] },
  components: { known: 10, badCritical: [], badOther: [] },
  errors: 0,
  recoveries: { succeeded: 0, failed: 0, under_way: 0 },
};
/** No gate is closed, and yet too much is not as it should be. */
const worse: HealthFacts = { ...well, errors: 9, recoveries: { succeeded: 1, failed: 2, under_way: 0 } };
const ill: HealthFacts = { ...well, errors: 1_000 };

test("is what it is since the first look that found it so, also between well and not quite well", () => {
  let verdict: ReturnType<typeof nextVerdict>["verdict"] | undefined;
  const seen = [well, well, worse, worse, ill, ill, worse, well].map((facts, now) => {
    ({ verdict } = nextVerdict({ before: verdict, facts, components: [], now, policy: verdictDefaults }));
    return [verdict.status, verdict.since];
  });
  expect(seen).toEqual([
    ["healthy", 0],
    ["healthy", 0],
    ["degraded", 2],
    ["degraded", 2],
    ["unhealthy", 4],
    ["unhealthy", 4],
    ["degraded", 6],
    ["healthy", 7],
  ]);
});
