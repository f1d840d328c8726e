import { expect, test } from "vitest";
import { slotsWords } from "../../slots-words.ts";
import { createWorkMeasure, type NodeUse, nextUse, slotsOf } from "./node-use.ts";

const SAMPLE_MS = 15_000;
const TARGET = 0.9;
/** Two at once are done in a minute each; four stand in each other's way. */
const rateOf = (held: number) => (held <= 2 ? held : 2 * (1 - 0.15 * (held - 2)));

function run(samples: number, others: number, before?: NodeUse): NodeUse {
  let [use, owed] = [before, 0];
  for (let n = 1; n <= samples; n += 1) {
    const held = use === undefined ? 4 : slotsOf(use, 4, TARGET, 0).slots;
    owed += (rateOf(held) * SAMPLE_MS) / 60_000;
    const doneJobs = Math.floor(owed);
    owed -= doneJobs;
    const now = (before?.at ?? 0) + n * SAMPLE_MS;
    const sample = { now, usage: 1, others, cpus: 4, held, max: 4, doneJobs, doneWork: doneJobs * 60_000 };
    use = nextUse(use, undefined, sample, TARGET)!;
  }
  return use!;
}

test("a node gets the number of slots with which it did most work, and that is written down", () => {
  const use = run(3_000, 0);
  expect(slotsOf(use, 4, TARGET, 0)).toMatchObject({ slots: 2, of: 4, best: 2 });
  // What a process before found out is where the next one begins, without trying it out anew at once.
  const written = { ...slotsOf(use, 4, TARGET, 0), at: 0 };
  const sample = { now: 1, usage: 1, others: 0, cpus: 4, held: 2, max: 4, doneJobs: 0, doneWork: 0 };
  expect(nextUse(undefined, written, sample, TARGET)!.climb).toMatchObject({ slots: 2, best: 2 });
});

test("fewer slots for a trial are told as that, and not as the doing of other programs", () => {
  let samples = 1;
  while (!slotsOf(run(samples, 0), 4, TARGET, 0).tries) samples += 1;
  const told = slotsOf(run(samples, 0), 4, TARGET, 0);
  expect(told).toMatchObject({ slots: 3, best: 4 });
  expect(slotsWords(told)).toBe("slots 3 of 4: a trial of a few jobs, to see whether it does more work with 3");
  const squeezed = slotsOf(run(60, 0.97), 4, TARGET, 0);
  expect(slotsWords(squeezed)).toContain("slots 1 of 4: machine busy (");
});

test("other programs take slots away below that, and never the last one", () => {
  const use = run(3_000, 0);
  const squeezed = run(60, 0.97, use);
  expect(slotsOf(squeezed, 4, TARGET, 0)).toMatchObject({ slots: 1, best: 2 });
  expect(slotsOf(run(200, 0, squeezed), 4, TARGET, 0).slots).toBeGreaterThanOrEqual(2);
});

test("work is measured by what the first of its sort took, so that faster ones count as more done and not as less work", () => {
  const measure = createWorkMeasure(1);
  expect(measure.of("selfplay/a", 10, 5_000)).toBe(5_000);
  expect(measure.of("selfplay/a", 20, 3_000)).toBe(10_000);
  expect(measure.of("selfplay/a", Number.NaN, 3_000)).toBe(500);
  // Beyond its bound a sort counts what it took.
  expect(measure.of("selfplay/b", 10, 7_000)).toBe(7_000);
});
