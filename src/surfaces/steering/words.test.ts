import { describe, expect, it } from "vitest";
import { knobsWords, trendWords } from "./words.ts";

const trend = {
  ...{ metric: "elo", value: 412.3, iteration: 20, points: 12, trend: "improving" as const },
  ...{ slope: { estimate: 12.34, low: 8, high: 16 }, plateau_since: null, anomaly: null },
};
const knob = (name: string, value: number, held: { by: string; reason: string } | null = null) => ({
  ...{ knob: name, value, author: "curriculum_integration", signal: null, held },
});

describe("steering in words", () => {
  it("says where a measure goes, and what is odd or stands still", () => {
    expect(trendWords(trend)).toBe("412 now; improving by 12.3 an iteration, give or take 4");
    expect(trendWords({ ...trend, plateau_since: 14, trend: "stable" })).toContain(
      "too little to count since iteration 14",
    );
    expect(trendWords({ ...trend, slope: null, points: 2 })).toBe("412 now; 2 measured, too few for a trend");
    expect(trendWords({ ...trend, anomaly: { expected: 300, deviations: 9 } })).toContain(
      "412 is odd, 300 was expected",
    );
    const loss = { ...trend, metric: "loss", value: 2, slope: { estimate: 0.01, low: 0.005, high: 0.015 } };
    expect(trendWords(loss)).toBe("2 now; improving by 1 % an iteration, give or take 0.5 %");
  });

  it("names the knobs that change something, and who holds one", () => {
    expect(knobsWords({ knobs: [knob("share", 1), knob("games", 1)], trends: [] })).toBeUndefined();
    expect(
      knobsWords({ knobs: [knob("share", 1.234), knob("search", 2, { by: "ann", reason: "x" })], trends: [] }),
    ).toBe("share x 1.23, search x 2 (held by ann)");
  });
});
