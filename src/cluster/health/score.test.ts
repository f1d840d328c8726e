import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatesOf, statusOf } from "./gates.ts";
import { type HealthFacts, scoreOf } from "./score.ts";

const well: HealthFacts = {
  nodes: { known: 4, online: 4, missing: [], late: [] },
  components: { known: 10, badCritical: [], badOther: [] },
  errors: 0,
  recoveries: { succeeded: 0, failed: 0, under_way: 0 },
};
const facts = (over: Partial<HealthFacts>): HealthFacts => ({ ...well, ...over });
const judged = (score: number, given: HealthFacts) => statusOf(score, gatesOf(score, given));
const names = (n: number) => Array.from({ length: n }, (_, i) => `c${i}`);

describe("the score", () => {
  test.each([
    ["all is well", well, 100],
    [
      "nothing has ever reported",
      facts({
        nodes: { known: 0, online: 0, missing: [], late: [] },
        components: { known: 0, badCritical: [], badOther: [] },
      }),
      35,
    ],
    ["half of the nodes are gone", facts({ nodes: { known: 4, online: 2, missing: ["a", "b"], late: [] } }), 80],
    ["all nodes are gone", facts({ nodes: { known: 4, online: 0, missing: ["a"], late: [] } }), 60],
    ["one critical component is out", facts({ components: { known: 10, badCritical: ["a"], badOther: [] } }), 95],
    ["five critical components are out", facts({ components: { known: 10, badCritical: names(5), badOther: [] } }), 75],
    ["two others are out", facts({ components: { known: 10, badCritical: [], badOther: names(2) } }), 98],
    ["five errors came", facts({ errors: 5 }), 90],
    ["errors come in bursts", facts({ errors: 50 }), 80],
    ["a third of the repairs worked", facts({ recoveries: { succeeded: 1, failed: 2, under_way: 0 } }), 90],
  ])("when %s", (_when, given, score) => {
    expect(scoreOf(given).score).toBe(score);
  });

  test("has weights that sum to one, and says of each part what it saw", () => {
    const { parts } = scoreOf(facts({ nodes: { known: 9, online: 1, missing: names(8), late: [] } }));
    expect(parts.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1);
    expect(parts[0]!.message).toBe("1 of 9 nodes are online; missing: c0, c1, c2, c3, c4 and 3 more");
    const late = scoreOf(facts({ nodes: { known: 2, online: 2, missing: [], late: ["box3"] } }));
    expect(late.parts[0]).toMatchObject({
      score: 100,
      message: "1 of 2 nodes are online; late, not missing yet: box3",
    });
  });

  const anyFacts = fc
    .record({
      known: fc.nat(50),
      online: fc.nat(50),
      components: fc.nat(50),
      critical: fc.nat(10),
      other: fc.nat(10),
      errors: fc.nat(30),
      succeeded: fc.nat(20),
      failed: fc.nat(20),
    })
    .map(
      (f): HealthFacts => ({
        nodes: { known: f.known, online: Math.min(f.online, f.known), missing: [], late: [] },
        components: { known: f.components, badCritical: names(f.critical), badOther: names(f.other) },
        errors: f.errors,
        recoveries: { succeeded: f.succeeded, failed: f.failed, under_way: 0 },
      }),
    );

  test("is within 0 and 100, and no bad news ever makes it better", () => {
    fc.assert(
      fc.property(anyFacts, (given) => {
        const { score } = scoreOf(given);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(100);
        const { nodes, components, errors, recoveries } = given;
        const worse: HealthFacts[] = [
          { ...given, errors: errors + 1 },
          { ...given, recoveries: { ...recoveries, failed: recoveries.failed + 1 } },
          { ...given, nodes: { ...nodes, known: nodes.known + 1 } },
          { ...given, components: { ...components, badCritical: [...components.badCritical, "x"] } },
          { ...given, components: { ...components, badOther: [...components.badOther, "x"] } },
        ];
        for (const each of worse) expect(scoreOf(each).score).toBeLessThanOrEqual(score);
      }),
    );
  });

  test("that judges without a single report is of no healthy system", () => {
    const none = facts({ nodes: { known: 0, online: 0, missing: [], late: [] } });
    expect(judged(scoreOf(none).score, none)).toBe("unhealthy");
  });
});

describe("a system", () => {
  test.each([
    ["half of the nodes are gone", facts({ nodes: { known: 4, online: 2, missing: [], late: [] } }), "nodes_online"],
    [
      "a critical component is out",
      facts({ components: { known: 9, badCritical: ["a"], badOther: [] } }),
      "critical_components",
    ],
    ["errors come in bursts", facts({ errors: 10 }), "error_burst"],
  ])("is unhealthy when %s, whatever the score", (_when, given, gate) => {
    const failing = gatesOf(100, given).filter(({ passed }) => !passed);
    expect(failing.map((each) => each.gate)).toEqual([gate]);
    expect(judged(100, given)).toBe("unhealthy");
  });

  test("is what its score says where nothing else is wrong", () => {
    expect([100, 80, 79, 40, 39].map((score) => judged(score, well))).toEqual([
      "healthy",
      "healthy",
      "degraded",
      "degraded",
      "unhealthy",
    ]);
  });
});
