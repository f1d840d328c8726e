import { sumOf } from "../../kernel/index.ts";
import { checkBetween, checkCount, checkFinite, invalid } from "./checks.ts";
import { type Comparison, compareCounts, compareMeans, type Sums, sumsOf } from "./two-samples.ts";

/**
 * A worker that plays wrongly (a stale model, a broken rule, one seed for ever) shows in its results. Each producer is
 * compared with all others. The one that stands out most, after Bonferroni's correction for all tests, is suspicious; it
 * leaves the pool and the rest are compared anew, so that its games do not make the honest ones look strange.
 */
export interface ProducerRecord {
  readonly producer: string;
  /** Games by outcome (first seat won, second seat won, drawn ...), in one order for all producers. */
  readonly outcomes: readonly number[];
  /** Of the plies of each game. */
  readonly lengths?: Sums;
  readonly positions?: { readonly total: number; readonly repeated: number };
  /** Of the real less the predicted score of each game. */
  readonly surprises?: Sums;
}

export type ProducerTest = "outcomes" | "length" | "redundancy" | "calibration";

export interface ProducerFinding extends Comparison {
  readonly test: ProducerTest;
  /** The p-value times the number of tests, at most 1. */
  readonly correctedP: number;
}

export interface ProducerVerdict {
  readonly producer: string;
  readonly games: number;
  readonly suspicious: boolean;
  readonly findings: readonly ProducerFinding[];
}

function checkRecords(records: readonly ProducerRecord[]): void {
  if (new Set(records.map(({ producer }) => producer)).size !== records.length)
    throw invalid("RECORDS", "A producer has two records.");
  for (const { producer, outcomes, lengths, positions, surprises } of records) {
    if (outcomes.length !== records[0]!.outcomes.length)
      throw invalid(
        "RECORDS",
        `${producer} has ${outcomes.length} outcomes, the first has ${records[0]!.outcomes.length}.`,
      );
    for (const count of outcomes) checkCount(count, 0, "RECORDS", `An outcome of ${producer}`);
    for (const sums of [lengths, surprises]) {
      if (sums === undefined) continue;
      checkCount(sums.count, 0, "RECORDS", `A number of games of ${producer}`);
      checkFinite(sums.sum, "RECORDS", `A sum of ${producer}`);
      checkFinite(sums.squares, "RECORDS", `A sum of squares of ${producer}`);
    }
    if (positions === undefined) continue;
    checkCount(positions.total, 0, "RECORDS", `The positions of ${producer}`);
    checkCount(positions.repeated, 0, "RECORDS", `The repeated positions of ${producer}`);
    if (positions.repeated > positions.total)
      throw invalid("RECORDS", `${producer} repeated ${positions.repeated} of ${positions.total} positions.`);
  }
}

const addCounts = (rows: readonly (readonly number[])[], cells: number): number[] =>
  Array.from({ length: cells }, (_, cell) => sumOf(rows, (row) => row[cell]!));

type RawFinding = Comparison & { readonly test: ProducerTest };

function findingsOf(own: ProducerRecord, others: readonly ProducerRecord[]): RawFinding[] {
  const seen = ({ positions }: ProducerRecord): readonly number[] =>
    positions === undefined ? [0, 0] : [positions.total - positions.repeated, positions.repeated];
  const means = (pick: (record: ProducerRecord) => Sums | undefined) => {
    const mine = pick(own);
    return mine === undefined ? undefined : compareMeans(mine, sumsOf(others.map(pick)));
  };
  const rest = addCounts(
    others.map(({ outcomes }) => outcomes),
    own.outcomes.length,
  );
  const comparisons: [ProducerTest, Comparison | undefined][] = [
    ["outcomes", compareCounts(own.outcomes, rest)],
    ["length", means(({ lengths }) => lengths)],
    ["redundancy", compareCounts(seen(own), addCounts(others.map(seen), 2))],
    ["calibration", means(({ surprises }) => surprises)],
  ];
  return comparisons.flatMap(([test, comparison]) => (comparison === undefined ? [] : [{ test, ...comparison }]));
}

/** Judges all producers together; `alpha` is the chance to suspect anybody at all when all are honest. */
export function judgeProducers(records: readonly ProducerRecord[], alpha = 0.01): ProducerVerdict[] {
  checkBetween(alpha, 0, 1, "ERROR_RATE", "alpha");
  checkRecords(records);
  const compareAll = (pool: readonly ProducerRecord[]) =>
    new Map(
      pool.map((own) => [
        own,
        findingsOf(
          own,
          pool.filter((other) => other !== own),
        ),
      ]),
    );
  const least = (findings: readonly RawFinding[]) => Math.min(1, ...findings.map(({ pValue }) => pValue));

  let pool = [...records];
  let found = compareAll(pool);
  const tests = Math.max(
    1,
    sumOf([...found.values()], (findings) => findings.length),
  );
  const verdicts = new Map<ProducerRecord, ProducerVerdict>();
  const settle = (record: ProducerRecord, suspicious: boolean) =>
    verdicts.set(record, {
      producer: record.producer,
      games: sumOf(record.outcomes),
      suspicious,
      findings: found.get(record)!.map((f) => ({ ...f, correctedP: Math.min(1, f.pValue * tests) })),
    });
  while (pool.length > 1) {
    const worst = pool.reduce((a, b) => (least(found.get(b)!) < least(found.get(a)!) ? b : a));
    if (least(found.get(worst)!) * tests >= alpha) break;
    // Of two that disagree nobody can say which is wrong: both are looked at.
    const out = pool.length === 2 ? pool : [worst];
    for (const record of out) settle(record, true);
    pool = pool.filter((record) => !out.includes(record));
    found = compareAll(pool);
  }
  for (const record of pool) settle(record, false);
  return records.map((record) => verdicts.get(record)!);
}
