import fc from "fast-check";
import { expect, test } from "vitest";
import { isOrdered, laneOf } from "../../../src/router/lanes.ts";
import { createProgress } from "../../../src/router/progress.ts";

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("scan" as const), wanted: fc.boolean() }),
    fc.record({ kind: fc.constant("end" as const), which: fc.nat(40), asDone: fc.boolean() }),
  ),
  { maxLength: 200 },
);

test("the low-water mark is one under the oldest open delivery, or as far as was looked", () => {
  fc.assert(
    fc.property(steps, fc.nat(1_000), (history, start) => {
      const progress = createProgress(start);
      const open = new Set<number>();
      const doneAbove = new Set<number>();
      let scanned = start;
      const markOf = (without: ReadonlySet<number>) => {
        const left = [...open].filter((seq) => !without.has(seq));
        return left.length === 0 ? scanned : Math.min(...left) - 1;
      };
      for (const step of history) {
        if (step.kind === "scan") {
          scanned += 1;
          progress.scanTo(scanned);
          if (step.wanted) {
            open.add(scanned);
            progress.begin(scanned);
          }
        } else {
          const seq = [...open][step.which % Math.max(1, open.size)];
          if (seq === undefined) continue;
          const ending = new Set([seq]);
          const mark = markOf(ending);
          expect(progress.markWithout(ending)).toBe(mark);
          expect(progress.needsSweep(mark)).toBe([...doneAbove].some((done) => done <= mark));
          progress.end(ending, mark, step.asDone);
          open.delete(seq);
          if (step.asDone && seq > mark) doneAbove.add(seq);
          for (const done of doneAbove) if (done <= mark) doneAbove.delete(done);
        }
        expect(progress.markWithout(new Set())).toBe(markOf(new Set()));
        expect(progress.scanned).toBe(scanned);
        expect(progress.outstanding).toBe(open.size);
        expect(progress.doneAbove).toBe(doneAbove.size);
        expect([...open].every(progress.has)).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

test("events share a lane exactly when they must keep their order, or have none and are of one type", () => {
  const event = fc.record({ eventType: fc.string(), orderKey: fc.option(fc.string()) });
  fc.assert(
    fc.property(event, event, (a, b) => {
      const lane = (of: typeof a) => laneOf(of as never);
      expect(isOrdered(lane(a))).toBe(a.orderKey !== null);
      const same = a.orderKey === null && b.orderKey === null ? a.eventType === b.eventType : a.orderKey === b.orderKey;
      expect(lane(a) === lane(b)).toBe(same);
    }),
  );
});
