import { describe, expect, test } from "vitest";
import { rounds } from "../../../../test/support/thorough.ts";
import { seededRandom } from "../../../kernel/index.ts";
import { configPlanSchema, type SearchOrder, seedFor, type TunedValues } from "../../stage/index.ts";
import { advance, beginSearch, countPart, judgeSearch, partsOf, type SearchRun } from "./run.ts";
import { valuesOf } from "./space.ts";

const { tuning } = configPlanSchema().parse({
  config_key: "othello6_2p",
  tuning: {
    parameters: {
      exploration: { low: 0.05, high: 5, start: 0.6 },
      reduction: { low: 0, high: 1, start: 0.1, scale: "linear" },
    },
  },
});
const order = (incumbent: TunedValues): SearchOrder => ({
  ...{ run_id: "r", number: 1, iteration: 3, model: "m", incumbent, reason: "", at: 0, requested_at: null },
  ...{ outcome: null, ended: null },
});

/** Blocks whose luck is that of their opening: the same for every candidate of a generation. */
function play(purpose: readonly (string | number)[], seed: number, first: number, blocks: number, elo: number) {
  const chance = 1 / (1 + 10 ** (-elo / 400));
  return Array.from({ length: blocks }, (_, i) => {
    const random = seededRandom(seedFor(seed, ...purpose, first + i));
    return { scores: [random.next() < chance ? 1 : 0, random.next() < chance ? 1 : 0] };
  });
}

/** A whole search over games that are drawn, each step from what was written down. */
function search(seed: number, incumbent: TunedValues, eloOf: (values: TunedValues) => number): SearchRun {
  let run = beginSearch(order(incumbent), tuning, seed, 2, 0);
  while (run.state === "searching" || run.state === "proving") {
    run = JSON.parse(JSON.stringify(run)) as SearchRun;
    const parts = partsOf(run, order(incumbent), tuning);
    for (const { name, values, firstBlock, blocks, purpose } of parts) {
      const played = play(purpose, seed, firstBlock, blocks, eloOf(values) - eloOf(incumbent));
      run = countPart(run, name, { blocks: played, games: 2 * blocks, redundancy: 0.1 }, 2);
    }
    run = advance(run, parts, tuning, 2, 1);
  }
  return run;
}

/** Elo falls with the distance from 0.6, on the scale of factors: four times too much costs about 95. */
const hill = ({ exploration, reduction }: TunedValues) =>
  -50 * Math.log(exploration! / 0.6) ** 2 - 100 * (reduction! - 0.2) ** 2;

describe("a search for better parameters", () => {
  test("finds better ones from bad ones and proves it, in nine of ten seeds", () => {
    const seeds = Array.from({ length: 10 }, (_, i) => i + 1);
    const runs = seeds.map((seed) => search(seed, { exploration: 2.4, reduction: 0.1 }, hill));
    const verdicts = runs.map((run) => judgeSearch(run, tuning.parameters).outcome);
    expect(verdicts.filter((outcome) => outcome === "applied").length).toBeGreaterThanOrEqual(9);
    for (const { found } of runs) expect(hill(found!)).toBeGreaterThan(-40);
  });

  test("applies hardly ever where nothing is better: at most one time in twenty", () => {
    const runs = Array.from({ length: rounds(60, 400) }, (_, seed) =>
      search(seed, { exploration: 0.6, reduction: 0.2 }, () => 0),
    );
    const applied = runs.filter((run) => judgeSearch(run, tuning.parameters).outcome === "applied").length;
    // A share of 2.5 % by plan; this many or more has a chance below one in a thousand then.
    expect(applied).toBeLessThanOrEqual(rounds(7, 22));
  });

  test("gives the same for the same seed", () => {
    const of = (seed: number) => search(seed, { exploration: 2.4, reduction: 0.1 }, hill);
    expect(of(4)).toStrictEqual(of(4));
    expect(of(4).found).not.toEqual(of(5).found);
  });

  test("lets all candidates of a generation play the same openings, and the proof others", () => {
    const begun = beginSearch(order({ exploration: 0.6, reduction: 0.1 }), tuning, 1, 2, 0);
    const parts = partsOf(begun, order(begun.found ?? { exploration: 0.6, reduction: 0.1 }), tuning);
    expect(new Set(parts.map(({ purpose, firstBlock }) => JSON.stringify([purpose, firstBlock]))).size).toBe(1);
    const proving = { ...begun, state: "proving" as const, found: { exploration: 0.6, reduction: 0.1 } };
    const proof = partsOf(proving, order(proving.found), tuning);
    expect(proof.map(({ purpose }) => purpose)).not.toContainEqual(parts[0]!.purpose);
    expect(proof.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(tuning.proof_blocks);
    expect(proof.map(({ firstBlock }) => firstBlock)).toEqual(proof.map((_, i) => 100 * i));
  });

  test("refuses to begin from what is out of bounds, no number, or nothing", () => {
    const begin =
      (incumbent: TunedValues, space = tuning) =>
      () =>
        beginSearch(order(incumbent), space, 1, 2, 0);
    const code = (code: string) => expect.objectContaining({ code });
    expect(begin({ exploration: 9, reduction: 0.1 })).toThrow(code("KNOB_OUT_OF_BOUNDS"));
    expect(begin({ exploration: Number.NaN, reduction: 0.1 })).toThrow(code("KNOB_OUT_OF_BOUNDS"));
    expect(begin({ exploration: 0.6 })).toThrow(code("KNOB_OUT_OF_BOUNDS"));
    expect(begin({}, { ...tuning, parameters: {} })).toThrow(code("NOTHING_TO_TUNE"));
    expect(valuesOf(tuning.parameters, { exploration: "much" }).exploration).toBeNaN();
  });

  test("counts no part without a score", () => {
    const begun = beginSearch(order({ exploration: 0.6, reduction: 0.1 }), tuning, 1, 2, 0);
    const nothing = { blocks: [], games: 0, redundancy: 0 };
    expect(() => countPart(begun, "g0c0", nothing, 2)).toThrow(
      expect.objectContaining({ code: "SEARCH_SCORE_NOT_FINITE" }),
    );
  });
});

describe("a verdict over a search", () => {
  const proof = { score: 0.55, elo: 35, low: 20, high: 50, games: 2_000, redundancy: 0.1 };
  const ended = { state: "ended", failure: null, found: { exploration: 1, reduction: 0.5 }, proof } as const;
  const outcome = (change: object) => judgeSearch({ ...ended, ...change }, tuning.parameters).outcome;

  test("applies only what is proven, within bounds, by games that differ", () => {
    expect(outcome({})).toBe("applied");
    expect(outcome({ proof: { ...proof, low: 0 } })).toBe("kept");
    expect(outcome({ proof: { ...proof, low: -1 } })).toBe("kept");
    expect(outcome({ proof: { ...proof, redundancy: 0.9 } })).toBe("kept");
    expect(outcome({ proof: { ...proof, low: Number.NaN } })).toBe("failed");
    expect(outcome({ proof: null })).toBe("failed");
    expect(outcome({ found: null })).toBe("failed");
    expect(outcome({ found: { exploration: 100, reduction: 0.5 } })).toBe("failed");
    expect(outcome({ found: { exploration: 1 } })).toBe("failed");
    expect(outcome({ state: "failed", failure: { code: "X", message: "x", retryable: false } })).toBe("failed");
  });
});
