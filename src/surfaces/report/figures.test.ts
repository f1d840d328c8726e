import { describe, expect, test } from "vitest";
import { healthy } from "../../../test/fixtures/pipeline-snapshots.ts";
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { headlines } from "./figures.ts";

const [config] = healthy.configs;
type Trend = NonNullable<ConfigSnapshot["steering"]>["trends"][number];
const trend: Trend = {
  metric: "elo",
  value: 1_140,
  iteration: 23,
  points: 20,
  slope: { estimate: 4.87, low: 1.77, high: 7.97 },
  trend: "improving",
  plateau_since: null,
  anomaly: null,
};
const told = (given: Partial<Trend>) =>
  headlines({ ...config!, steering: { ...config!.steering, trends: [{ ...trend, ...given }], knobs: [] } } as never).at(
    -1,
  );

describe("the headlines of a config", () => {
  test("say in a word where its strength goes, and below it how fast and how sure that is", () => {
    expect(told({})).toEqual({
      name: "Trend",
      value: "improving",
      note: "+4.9 Elo an iteration, give or take 3.1",
    });
    expect(told({ trend: "stable", plateau_since: 14 })!.note).toContain("too little to count since iteration 14");
    expect(told({ trend: "declining", slope: { estimate: -2, low: -3, high: -1 } })!.note).toMatch(/^-2\.0 Elo/);
  });

  test("tell the strength of a champion that the ladder has not rated yet by its gates", () => {
    const elo = (given: ConfigSnapshot) => headlines(given).find(({ name }) => name === "Elo");
    expect(elo(config!)!.value).toMatch(/^[+-]\d+ ±\d+$/);
    const ladder = config!.ladder.filter(({ player }) => player !== config!.champion!.model);
    expect(elo({ ...config!, ladder })).toEqual({
      name: "Elo",
      value: expect.stringMatching(/^≈ \+\d/),
      note: "by its gates; not rated yet",
    });
    expect(elo({ ...config!, ladder: [] })!.value).toBe("not rated");
  });

  test("say that it is too early where nothing can be said", () => {
    expect(told({ slope: null, points: 1 })).toMatchObject({
      value: "too early",
      note: "1 round measured, too few to say",
    });
  });
});
