import { describe, expect, test } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { costOfBytes, costOfItems, createLimits, limitClasses } from "./limits.ts";

function world(factor?: number) {
  const clock = virtualClock();
  const limits = factor === undefined ? createLimits(clock) : createLimits(clock, factor);
  const pass = (ms: number) => {
    clock.after(ms, () => {});
    clock.step();
  };
  return { ...limits, pass };
}

test("what a class allows is written down", () => {
  expect(limitClasses).toEqual({
    probe: { perSecond: 50, burst: 100 },
    read: { perSecond: 100, burst: 200 },
    heavy: { perSecond: 10, burst: 20 },
    write: { perSecond: 50, burst: 100 },
    traffic: { perSecond: 2_000, burst: 4_000 },
    beat: { perSecond: 2_000, burst: 4_000 },
    claim: { perSecond: 200, burst: 400 },
    upload: { perSecond: 50, burst: 200 },
    stream: { perSecond: 5, burst: 20 },
    login: { perSecond: 0.2, burst: 10 },
    refused: { perSecond: 50, burst: 200 },
  });
});

test("bytes count as pieces of four kibibytes, those that were begun too, and no bytes as one", () => {
  expect([0, 1, 4_096, 4_097, 8_192, 8_193].map(costOfBytes)).toEqual([1, 1, 1, 2, 2, 3]);
});

test("a body counts as what is in its lists, and as one where it is no object", () => {
  expect(
    [[1, 2, 3], { a: [1, 2], b: [3], c: "xyz" }, { a: 1 }, {}, null, "text", 7].map((body) => costOfItems(body, {})),
  ).toEqual([3, 3, 0, 0, 1, 1, 1]);
  expect(costOfItems({ a: [1, 2], b: [3] }, { a: 0.5 })).toBe(2);
});

describe("a caller", () => {
  test("has its burst at once, then waits for what comes in a second, and never saves up more than the burst", () => {
    const { take, pass } = world();
    for (let n = 0; n < 20; n += 1) expect(take("a", "heavy")).toBe(0);
    expect(take("a", "heavy")).toBe(0.1);
    pass(50);
    expect(take("a", "heavy")).toBeCloseTo(0.05, 10);
    pass(50);
    expect([take("a", "heavy"), take("a", "heavy")]).toEqual([0, 0.1]);
    pass(3_600_000);
    for (let n = 0; n < 20; n += 1) expect(take("a", "heavy")).toBe(0);
    expect(take("a", "heavy")).toBeGreaterThan(0);
  });

  test("takes nothing from another, nor from itself in another class", () => {
    const { take } = world();
    expect(take("a", "heavy", 20)).toBe(0);
    expect(take("a", "heavy")).toBeGreaterThan(0);
    expect([take("b", "heavy"), take("a", "read")]).toEqual([0, 0]);
  });

  test("owes what was more than it had left, and waits for it, but for no more than one burst", () => {
    const { take, pass } = world();
    expect(take("a", "heavy", 30)).toBe(0);
    expect(take("a", "heavy")).toBeCloseTo(1.1, 10);
    pass(1_099);
    expect(take("a", "heavy")).toBeGreaterThan(0);
    pass(1);
    expect(take("a", "heavy")).toBe(0);
    expect(take("b", "heavy", 1_000_000)).toBe(0);
    expect(take("b", "heavy")).toBeCloseTo(2.1, 10);
  });

  test("is not refused what turns out late, and owes it", () => {
    const { take } = world();
    expect(take("a", "heavy", 20)).toBe(0);
    expect(take("a", "heavy", 5, true)).toBe(0);
    expect(take("a", "heavy")).toBeCloseTo(0.6, 10);
  });

  test("that is refused owes nothing for it", () => {
    const { take, pass } = world();
    expect(take("a", "heavy", 20)).toBe(0);
    for (let n = 0; n < 5; n += 1) expect(take("a", "heavy", 20)).toBe(0.1);
    pass(100);
    expect(take("a", "heavy")).toBe(0);
  });
});

test("the factor makes everything more or less, and one request is always allowed", () => {
  const twice = world(2);
  for (let n = 0; n < 40; n += 1) expect(twice.take("a", "heavy")).toBe(0);
  expect(twice.take("a", "heavy")).toBe(0.05);
  const hardly = world(0.01);
  expect([hardly.take("a", "heavy"), hardly.take("a", "heavy")]).toEqual([0, 10]);
});

test("ten thousand callers are remembered; the one that was not heard for longest is forgotten first", () => {
  const { take } = world();
  for (const caller of ["first", "second"]) take(caller, "heavy", 20);
  for (let n = 0; n < 9_998; n += 1) take(`c${n}`, "heavy", 20);
  expect(take("first", "heavy")).toBeGreaterThan(0);
  take("one more", "heavy");
  expect(take("first", "heavy")).toBeGreaterThan(0);
  expect(take("c0", "heavy")).toBeGreaterThan(0);
  expect(take("second", "heavy")).toBe(0);
});
