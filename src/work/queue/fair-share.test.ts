import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  afterServing,
  type Deficits,
  forgetIdle,
  nextConfig,
  type SharePolicy,
  sharePolicyDefaults,
  sharesOf,
} from "./fair-share.ts";

const policy = (given: Partial<SharePolicy> = {}): SharePolicy => ({ ...sharePolicyDefaults, ...given });
const names = (n: number) => Array.from({ length: n }, (_, i) => `c${i}`);

/** Serves `rounds` times among configs that always have work; who was served, in order. */
function serve(
  configs: readonly string[],
  rounds: number,
  rules: SharePolicy,
  costOf = (_: string) => 1,
  urgent = (_: string) => false,
) {
  const shares = sharesOf(configs, rules);
  let deficits: Deficits = new Map();
  const served: string[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const heads = configs.map((config) => ({ config, cost: costOf(config), urgent: urgent(config) }));
    const config = nextConfig(heads, deficits, rules)!;
    deficits = afterServing(deficits, shares, { config, cost: costOf(config) }, rules.maxDebt);
    served.push(config);
  }
  return { served, deficits };
}
const countOf = (served: readonly string[], config: string) => served.filter((one) => one === config).length;
const longestGap = (served: readonly string[], config: string) => {
  let last = -1;
  let gap = 0;
  for (const [i, one] of [...served, config].entries())
    if (one === config) {
      gap = Math.max(gap, i - last);
      last = i;
    }
  return gap;
};

describe("shares", () => {
  test("add up to one, and none is below the minimum that all can have", () => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ min: 0, max: 100, noNaN: true }), { minLength: 1, maxLength: 40 }),
        fc.float({ min: 0, max: Math.fround(0.5), noNaN: true }),
        (weights, minShare) => {
          const configs = names(weights.length);
          const rules = policy({ weights: Object.fromEntries(weights.map((w, i) => [`c${i}`, w])), minShare });
          const shares = [...sharesOf(configs, rules).values()];
          expect(shares).toHaveLength(weights.length);
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
          const min = Math.min(minShare, 1 / weights.length);
          for (const share of shares) expect(share).toBeGreaterThanOrEqual(min - 1e-9);
        },
      ),
    );
  });

  test("follow the weights where the minimum does not bind", () => {
    const shares = sharesOf(["a", "b"], policy({ weights: { a: 3, b: 1 } }));
    expect(shares.get("a")).toBeCloseTo(0.75);
  });
});

describe("who is next", () => {
  test("equals take turns", () => {
    const { served } = serve(["a", "b", "c"], 9, policy());
    for (const config of ["a", "b", "c"]) expect(longestGap(served, config)).toBeLessThanOrEqual(3);
  });

  test("each gets its share of the cost, whatever the weights and costs are, and nobody waits long", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ weight: fc.integer({ min: 1, max: 20 }), cost: fc.integer({ min: 1, max: 6 }) }), {
          minLength: 2,
          maxLength: 12,
        }),
        (given) => {
          const configs = names(given.length);
          const rules = policy({ weights: Object.fromEntries(given.map(({ weight }, i) => [`c${i}`, weight])) });
          const costOf = (config: string) => given[Number(config.slice(1))]!.cost;
          const rounds = 3_000;
          const { served } = serve(configs, rounds, rules, costOf);
          const shares = sharesOf(configs, rules);
          const total = served.reduce((sum, config) => sum + costOf(config), 0);
          for (const config of configs) {
            const got = (countOf(served, config) * costOf(config)) / total;
            expect(Math.abs(got - shares.get(config)!)).toBeLessThan(0.03);
            // In the time between two turns the others have had at most what makes up its cost, and what they were ahead.
            const bound = (costOf(config) + configs.length * 6) / shares.get(config)!;
            expect(longestGap(served, config)).toBeLessThanOrEqual(bound);
          }
        },
      ),
      { seed: 12, numRuns: 60 },
    );
  });

  test("what is urgent overtakes, within its debt: a flood of it starves nobody", () => {
    const rules = policy({ maxDebt: 5 });
    const { served } = serve(
      ["flood", "b", "c"],
      600,
      rules,
      () => 1,
      (config) => config === "flood",
    );
    expect(served.slice(0, 5)).toEqual(Array(5).fill("flood"));
    for (const config of ["b", "c"]) {
      expect(countOf(served, config)).toBeGreaterThan(0.3 * 600);
      expect(longestGap(served.slice(20), config)).toBeLessThanOrEqual(12);
    }
  });

  test("one that was away comes back without claims of the past, but with its debts", () => {
    const deficits = new Map([
      ["rich", 9],
      ["poor", -3],
      ["waiting", 2],
    ]);
    expect([...forgetIdle(deficits, ["rich", "poor", "unknown"])]).toEqual([
      ["poor", -3],
      ["waiting", 2],
    ]);
    expect(forgetIdle(deficits, ["poor"])).toBe(deficits);
  });

  test("what anybody is owed stays bounded", () => {
    const rules = policy({ maxDebt: 2 });
    let deficits: Deficits = new Map();
    // Served against all reason, so that the others' deficits would grow without end.
    for (let n = 0; n < 500; n += 1)
      deficits = afterServing(deficits, sharesOf(["a", "b"], rules), { config: "a", cost: 3 }, rules.maxDebt);
    for (const owed of deficits.values()) expect(Math.abs(owed)).toBeLessThanOrEqual(4 * rules.maxDebt);
  });
});
