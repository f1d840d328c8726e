import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STAGES } from "../../../stage/index.ts";
import { allocate, type ConfigFacts, isNoticeable, reasonWords } from "./decide.ts";

const facts = (more: Partial<ConfigFacts> = {}): ConfigFacts => ({
  configKey: "a_2p",
  staleMs: 0,
  wanted: 160,
  done: 0,
  gap: null,
  eloPerDay: null,
  curriculum: 1,
  exploring: 1,
  weight: 1,
  quality: null,
  poorShare: null,
  training: null,
  penaltyRate: 1,
  stage: "selfplay",
  ...more,
});

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const gap = fc.tuple(number(-300, 800), number(0, 200)).map(([estimate, half]) => ({
  estimate,
  low: estimate - half,
  high: estimate + half,
}));
const anyFacts = fc
  .record({
    staleMs: fc.option(number(0, 2e7)),
    wanted: fc.integer({ min: 0, max: 1_000 }),
    done: fc.integer({ min: 0, max: 1_200 }),
    gap: fc.option(gap),
    eloPerDay: fc.option(number(-500, 500)),
    weight: number(0.01, 100),
    curriculum: number(0.5, 2),
    exploring: number(0.25, 4),
    quality: fc.option(number(0, 1)),
    poorShare: fc.option(number(0, 1)),
    training: fc.constantFrom(null, "early_stopped" as const, "loss_grows" as const),
    penaltyRate: number(0, 1),
    stage: fc.constantFrom(...STAGES),
  })
  .map((given) => facts(given));
const several = fc
  .array(anyFacts, { minLength: 1, maxLength: 8 })
  .map((all) => all.map((one, n) => ({ ...one, configKey: `c${n}_2p` })));
const levels = fc.constantFrom("none", "soft", "hard", "stop");

describe("an allocation", () => {
  test("gives a config that is penalized a smaller share, and slows it where it plays alone", () => {
    const [guilty, other] = allocate([facts({ penaltyRate: 0.5 }), facts({ configKey: "b_2p" })]);
    expect(guilty!.share).toBeLessThan(other!.share);
    expect(guilty!.rate).toBe(0.5);
    const [alone] = allocate([facts({ penaltyRate: 0.5, wanted: 10_000 })]);
    expect(alone).toMatchObject({ share: 1, games: 1_000 });
    expect(allocate([facts({ penaltyRate: 0 })])[0]!.rate).toBe(0.25);
  });

  test("a larger penalty never gives more, and never nothing", () => {
    fc.assert(
      fc.property(several, number(0, 1), number(0, 1), (all, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const shareAt = (penaltyRate: number) => allocate([{ ...all[0]!, penaltyRate }, ...all.slice(1)])[0]!;
        expect(shareAt(low).share).toBeLessThanOrEqual(shareAt(high).share + 1e-12);
        expect(shareAt(low).games).toBeLessThanOrEqual(shareAt(high).games);
        expect(shareAt(low).rate).toBeGreaterThan(0);
      }),
    );
  });

  test("goes where a run found nothing more to learn, and away from where games are poor", () => {
    const shareWith = (more: Partial<ConfigFacts>) => allocate([facts(more), facts({ configKey: "b_2p" })])[0]!.share;
    expect(shareWith({ training: "early_stopped" })).toBeGreaterThan(0.5);
    expect(shareWith({ training: "loss_grows" })).toBeGreaterThan(0.5);
    expect(shareWith({ poorShare: 0.4 })).toBeLessThan(0.5);
    expect(reasonWords(allocate([facts({ training: "early_stopped" })])[0]!.reasons)).toContain(
      "training early_stopped (x1.25)",
    );
  });

  test("has shares that sum to one where anybody wants games, and to nothing otherwise", () => {
    fc.assert(
      fc.property(several, levels, (all, level) => {
        const sum = allocate(all, level).reduce((total, { share }) => total + share, 0);
        expect(sum).toBeCloseTo(all.some(({ wanted }) => wanted > 0) ? 1 : 0, 9);
      }),
    );
  });

  test("leaves no config that wants games without a share and without a game, whatever the pressure", () => {
    fc.assert(
      fc.property(several, levels, (all, level) => {
        for (const [n, { share, games }] of allocate(all, level).entries()) {
          const { wanted, done } = all[n]!;
          if (wanted > 0) expect(share).toBeGreaterThanOrEqual(0.5 / all.length - 1e-12);
          else expect(share).toBe(0);
          if (wanted > done) expect(games).toBeGreaterThanOrEqual(1);
          expect(games).toBeLessThanOrEqual(Math.max(0, wanted - done));
        }
      }),
    );
  });

  test("never gives less for a larger gap", () => {
    fc.assert(
      fc.property(several, gap, number(0, 500), (all, given, further) => {
        const shareAt = (by: number) => {
          const moved = { estimate: given.estimate + by, low: given.low + by, high: given.high + by };
          return allocate([{ ...all[0]!, wanted: 10, gap: moved }, ...all.slice(1)])[0]!.share;
        };
        expect(shareAt(further)).toBeGreaterThanOrEqual(shareAt(0) - 1e-12);
      }),
    );
  });

  test("hardly changes when the facts hardly change", () => {
    const nudge = (value: number | null, by: number) => (value === null ? null : value + by);
    fc.assert(
      fc.property(several, number(-1, 1), (all, sign) => {
        const tiny = sign * 1e-6;
        const nudged = all.map((one) => ({
          ...one,
          staleMs: nudge(one.staleMs, Math.abs(tiny) * 1e6),
          gap: one.gap === null ? null : { ...one.gap, high: one.gap.high + tiny },
          eloPerDay: nudge(one.eloPerDay, tiny),
          quality: one.quality === null ? null : Math.min(1, Math.max(0, one.quality + tiny)),
          weight: one.weight * (1 + tiny),
        }));
        const before = allocate(all);
        for (const [n, { share }] of allocate(nudged).entries())
          expect(Math.abs(share - before[n]!.share)).toBeLessThan(1e-4);
      }),
    );
  });

  test("explains itself: the share follows from the factors that it names", () => {
    fc.assert(
      fc.property(several, (all) => {
        const divided = allocate(all);
        const product = (n: number) =>
          divided[n]!.reasons.filter(({ name }) => name !== "floor" && name !== "pressure").reduce(
            (p, r) => p * r.factor,
            1,
          );
        const sharing = [...divided.keys()].filter((n) => divided[n]!.share > 0);
        const total = sharing.reduce((sum, n) => sum + product(n), 0);
        for (const n of sharing)
          expect(divided[n]!.share).toBeCloseTo(0.5 / sharing.length + (0.5 * product(n)) / total, 9);
      }),
    );
  });

  test.each([
    ["stale data is wanted soon", { staleMs: 5 * 3_600_000 }, "high"],
    ["what has reached its goal can wait", { gap: { estimate: -40, low: -60, high: -20 } }, "low"],
    ["what makes poor games can wait", { quality: 0.4 }, "low"],
    ["the rest is as usual", { gap: { estimate: 40, low: 20, high: 60 }, quality: 0.8 }, "normal"],
  ] as const)("%s", (_name, more, urgency) => {
    expect(allocate([facts(more)])[0]!.urgency).toBe(urgency);
  });

  test("prefers a far goal, a fast climb, good data and a heavy weight", () => {
    const shareOf = (more: Partial<ConfigFacts>) => allocate([facts(more), facts({ configKey: "b_2p" })])[0]!.share;
    expect(shareOf({})).toBeCloseTo(0.5);
    expect(shareOf({ gap: { estimate: 400, low: 380, high: 420 } })).toBeGreaterThan(0.55);
    expect(shareOf({ eloPerDay: 200 })).toBeGreaterThan(0.5);
    expect(shareOf({ eloPerDay: -200 })).toBeLessThan(0.5);
    expect(shareOf({ curriculum: 2 })).toBeGreaterThan(0.55);
    expect(shareOf({ exploring: 1.44 })).toBeGreaterThan(0.52);
    expect(shareOf({ exploring: 0.5 })).toBe(0.5);
    expect(shareOf({ curriculum: 0.5 })).toBeLessThan(0.45);
    expect(shareOf({ quality: 0.2 })).toBeLessThan(0.5);
    expect(shareOf({ weight: 3 })).toBeCloseTo(0.25 + 0.5 * 0.75);
  });

  test("tells its reasons in a line with numbers", () => {
    const [one] = allocate([facts({ gap: { estimate: 150, low: 100, high: 200 }, quality: 0.35 })], "soft");
    expect(reasonWords(one!.reasons)).toBe("gap 200 (x1.25), quality 0.35 (x0.75), pressure soft (x0.5)");
    expect(reasonWords(allocate([facts()])[0]!.reasons)).toBe("all factors are 1");
  });

  test.each([
    [undefined, 0.5, true],
    [0.5, 0.55, false],
    [0.5, 0.61, true],
    [0.5, 0, true],
    [0, 0, false],
  ] as const)("a share of %s that becomes %s is worth telling: %s", (before, after, told) => {
    const urgency = "normal";
    expect(isNoticeable(before === undefined ? undefined : { share: before, urgency }, { share: after, urgency })).toBe(
      told,
    );
  });
});
