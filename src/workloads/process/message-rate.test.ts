import fc from "fast-check";
import { expect, it } from "vitest";
import { createMessageRate } from "./message-rate.ts";

it("lets a steady stream at the rate pass for ever", () => {
  const rate = createMessageRate(10);
  for (let ms = 0; ms < 60_000; ms += 100) expect(rate.take(ms)).toBe(true);
});

it("lets a full pipe after a pause of ours pass, and no flood", () => {
  const rate = createMessageRate(10);
  const taken = Array.from({ length: 100 }, () => rate.take(5_000)).filter(Boolean).length;
  expect(taken).toBe(40);
  expect(rate.take(5_050)).toBe(false);
  expect(rate.take(5_100)).toBe(true);
  rate.refill();
  expect(Array.from({ length: 100 }, () => rate.take(5_100)).filter(Boolean)).toHaveLength(40);
});

it("never lets more pass than the burst and what the time since allows", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.array(fc.nat(200), { maxLength: 300 }), (perSecond, gaps) => {
      const rate = createMessageRate(perSecond);
      let now = 0;
      let passed = 0;
      for (const gap of gaps) {
        now += gap;
        if (rate.take(now)) passed += 1;
      }
      expect(passed).toBeLessThanOrEqual(Math.ceil(perSecond * (4 + now / 1_000)));
    }),
  );
});
