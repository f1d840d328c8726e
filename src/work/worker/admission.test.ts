import fc from "fast-check";
import { expect, test } from "vitest";
import { createAdmission, type Ticket } from "./admission.ts";

const CAPACITY = { cpu: 64, gpu: 4, memory_gb: 64, gpu_memory_gb: 24, tags: [], slots: 64, diskReserveBytes: 0 };
const needs = (gpu: number) => ({ cpu: 0, gpu, memory_gb: 0, gpu_memory_gb: 0, tags: [] });

test("two jobs never share an accelerator, whoever comes and goes, and all of them come back", () => {
  const steps = fc.array(fc.oneof(fc.record({ take: fc.integer({ min: 0, max: 5 }) }), fc.record({ end: fc.nat() })));
  fc.assert(
    fc.property(steps, (all) => {
      const admission = createAdmission({ ...CAPACITY, gpuIds: ["a", "b", "c", "d"] }, () => 1);
      const held: Ticket[] = [];
      for (const step of all) {
        if ("take" in step) {
          const ticket = admission.take(needs(step.take));
          if (ticket !== undefined) {
            expect(ticket.gpus).toHaveLength(step.take);
            held.push(ticket);
          }
        } else {
          const [ended] = held.splice(step.end % Math.max(1, held.length), 1);
          ended?.release();
          // Said twice it counts once.
          ended?.release();
        }
        const given = held.flatMap(({ gpus }) => gpus);
        expect(new Set(given).size).toBe(given.length);
        expect(admission.free().offer.gpu).toBe(4 - given.length);
      }
      for (const ticket of held) ticket.release();
      expect([...admission.take(needs(4))!.gpus].sort()).toEqual(["a", "b", "c", "d"]);
    }),
  );
});

test("accelerators that nobody has named are numbers", () => {
  expect(createAdmission(CAPACITY, () => 1).take(needs(2))?.gpus).toEqual(["0", "1"]);
});
