import { describe, expect, it } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { drawBlocks, winBlocks } from "./block.ts";
import { judgeRegression } from "./severity.ts";
import { simulateBlocks } from "./simulated-blocks.ts";

const pairs = drawBlocks(2);

describe("the severity of a regression", () => {
  it.each([
    [[40, 50, 60, 50, 40], "none"],
    [[60, 50, 60, 50, 36], "minor"],
    [[70, 55, 60, 40, 30], "moderate"],
    [[85, 60, 50, 35, 20], "severe"],
    [[150, 60, 30, 10, 6], "critical"],
  ] as const)("of %j is %s", (counts, severity) => {
    expect(judgeRegression(counts, pairs).severity).toBe(severity);
  });

  it("needs 16 blocks", () => {
    const lost = [15, 0, 0, 0, 0];
    expect(judgeRegression(lost, pairs)).not.toHaveProperty("severity");
    expect(judgeRegression([16, 0, 0, 0, 0], pairs).severity).toBe("critical");
  });

  it("is cleared only when a loss of more than 10 Elo is out of the question", () => {
    expect(judgeRegression([10, 20, 30, 30, 20], pairs).cleared).toBe(true);
    expect(judgeRegression([10, 20, 30, 20, 10], pairs).cleared).toBe(false);
    expect(judgeRegression([0, 0, 0, 0, 12], pairs).cleared).toBe(false);
  });

  it("counts for three and four players from their own par", () => {
    const equal = simulateBlocks({ blocks: winBlocks(4), elo: 0, drawShare: 0, seatElo: 0 }, 200, seededRandom(1));
    expect(judgeRegression(equal, winBlocks(4)).severity).toBe("none");
    const weaker = simulateBlocks({ blocks: winBlocks(3), elo: -150, drawShare: 0, seatElo: 0 }, 400, seededRandom(1));
    expect(judgeRegression(weaker, winBlocks(3)).severity).toBe("critical");
  });

  it("raises few false alarms between equal players, where point estimates raise many", () => {
    const random = seededRandom(17);
    const runs = 3000;
    const tally = { none: 0, minor: 0, moderate: 0, severe: 0, critical: 0 };
    let pointAlarms = 0;
    for (let run = 0; run < runs; run += 1) {
      const counts = simulateBlocks({ blocks: pairs, elo: 0, drawShare: 0, seatElo: 0 }, 50, random);
      const { severity, elo } = judgeRegression(counts, pairs);
      tally[severity!] += 1;
      if (elo.estimate < -20) pointAlarms += 1;
    }
    expect(tally.minor / runs).toBeGreaterThan(0.02);
    expect((runs - tally.none) / runs).toBeLessThan(0.065);
    expect((tally.moderate + tally.severe + tally.critical) / runs).toBeLessThan(0.02);
    expect(tally.critical).toBe(0);
    expect(pointAlarms / runs).toBeGreaterThan(0.2);
  });
});
