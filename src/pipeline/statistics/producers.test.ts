import { describe, expect, it } from "vitest";
import { isOperatingError, type Random, seededRandom } from "../../kernel/index.ts";
import { judgeProducers, type ProducerRecord } from "./producers.ts";
import { compareCounts, compareMeans } from "./two-samples.ts";

interface Habits {
  readonly games: number;
  readonly firstSeat: number;
  readonly plies: number;
  readonly repeats: number;
  readonly bias: number;
}
const honest: Habits = { games: 400, firstSeat: 0.5, plies: 40, repeats: 0.1, bias: 0 };

function produce(producer: string, habits: Habits, random: Random): ProducerRecord {
  const outcomes = [0, 0, 0];
  const lengths = { count: 0, sum: 0, squares: 0 };
  const surprises = { count: 0, sum: 0, squares: 0 };
  const positions = { total: 0, repeated: 0 };
  for (let game = 0; game < habits.games; game += 1) {
    const roll = random.next();
    const cell = roll < 0.1 ? 2 : roll < 0.1 + 0.9 * habits.firstSeat ? 0 : 1;
    outcomes[cell] = outcomes[cell]! + 1;
    const plies = Math.round(habits.plies + 20 * (random.next() - 0.5));
    const surprise = [1, 0, 0.5][cell]! - 0.5 - habits.bias;
    for (const [sums, value] of [
      [lengths, plies],
      [surprises, surprise],
    ] as const) {
      sums.count += 1;
      sums.sum += value;
      sums.squares += value * value;
    }
    positions.total += 10;
    for (let i = 0; i < 10; i += 1) if (random.next() < habits.repeats) positions.repeated += 1;
  }
  return { producer, outcomes, lengths, positions, surprises };
}

const suspects = (records: readonly ProducerRecord[]) =>
  judgeProducers(records)
    .filter(({ suspicious }) => suspicious)
    .map(({ producer }) => producer);

describe("a producer", () => {
  it.each([
    ["outcomes", { firstSeat: 0.65 }],
    ["length", { plies: 43 }],
    ["redundancy", { repeats: 0.2 }],
    ["calibration", { bias: 0.2 }],
  ] as const)("whose %s differ is found, and nobody else", (test, odd) => {
    const random = seededRandom(12);
    const records = ["n1", "n2", "n3", "n4"].map((name) => produce(name, honest, random));
    records.push(produce("odd", { ...honest, ...odd }, random));
    expect(suspects(records)).toEqual(["odd"]);
    const verdict = judgeProducers(records).at(-1)!;
    const worst = verdict.findings.toSorted((a, b) => a.pValue - b.pValue)[0]!;
    // A seat that wins too often surprises the predictions as well: either may stand out most.
    expect(test === "outcomes" ? ["outcomes", "calibration"] : [test]).toContain(worst.test);
    expect(worst.correctedP).toBeLessThan(0.01);
  });

  it("that plays most of the games and plays them wrongly does not make the others suspicious", () => {
    const random = seededRandom(13);
    const records = ["n1", "n2", "n3"].map((name) => produce(name, honest, random));
    records.unshift(produce("big", { ...honest, games: 900, firstSeat: 0.75 }, random));
    expect(suspects(records)).toEqual(["big"]);
  });

  it("is judged along with the other when only two disagree", () => {
    const random = seededRandom(14);
    const records = [produce("a", honest, random), produce("b", { ...honest, plies: 50 }, random)];
    expect(suspects(records)).toEqual(["a", "b"]);
  });

  it("without company, or with hardly a game, is not judged", () => {
    expect(judgeProducers([])).toEqual([]);
    expect(judgeProducers([{ producer: "a", outcomes: [10, 0] }])).toEqual([
      { producer: "a", games: 10, suspicious: false, findings: [] },
    ]);
    expect(
      suspects([
        { producer: "a", outcomes: [3, 0] },
        { producer: "b", outcomes: [0, 3] },
      ]),
    ).toEqual([]);
  });

  it("is rarely suspected in a fleet of honest ones", () => {
    const random = seededRandom(15);
    const runs = 400;
    let alarms = 0;
    for (let run = 0; run < runs; run += 1) {
      const fleet = Array.from({ length: 8 }, (_, i) => produce(`n${i}`, { ...honest, games: 60 }, random));
      if (judgeProducers(fleet, 0.05).some(({ suspicious }) => suspicious)) alarms += 1;
    }
    expect(alarms / runs).toBeLessThan(0.08);
  });

  it("with broken numbers is refused", () => {
    const bad: ProducerRecord[][] = [
      [{ producer: "a", outcomes: [1, -1] }],
      [
        { producer: "a", outcomes: [1, 1] },
        { producer: "b", outcomes: [1, 1, 1] },
      ],
      [
        { producer: "a", outcomes: [1] },
        { producer: "a", outcomes: [1] },
      ],
      [{ producer: "a", outcomes: [1], positions: { total: 1, repeated: 2 } }],
      [{ producer: "a", outcomes: [1], lengths: { count: 1, sum: Number.NaN, squares: 1 } }],
    ];
    for (const records of bad) {
      try {
        judgeProducers(records);
        expect.unreachable("the records were accepted");
      } catch (thrown) {
        expect(isOperatingError(thrown, "INVALID_RECORDS")).toBe(true);
      }
    }
  });
});

describe("comparing two samples", () => {
  it("gives the textbook chi-square of a two by two table", () => {
    // (30 * 60 - 20 * 40)^2 * 150 / (50 * 100 * 70 * 80) = 5.357142857
    const { pValue, residual } = compareCounts([30, 20], [40, 60])!;
    expect(pValue).toBeCloseTo(0.0206377, 6);
    expect(Math.abs(residual)).toBeCloseTo(Math.sqrt(5.357142857), 8);
  });

  it("joins cells that are too rare to count on", () => {
    expect(compareCounts([50, 50, 1, 0], [50, 50, 0, 1])!.pValue).toBeCloseTo(
      compareCounts([50, 51], [50, 51])!.pValue,
      1,
    );
    expect(compareCounts([5, 0], [0, 5])).toBeUndefined();
  });

  it("tells constant samples apart without dividing by zero", () => {
    const constant = (value: number) => ({ count: 30, sum: 30 * value, squares: 30 * value * value });
    expect(compareMeans(constant(5), constant(5))).toEqual({ residual: 0, pValue: 1 });
    expect(compareMeans(constant(6), constant(5))).toMatchObject({ pValue: 0 });
  });
});
