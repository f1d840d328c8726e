import { describe, expect, it } from "vitest";
import { gatePlan } from "../../../test/support/gate-plan.ts";
import { seededRandom } from "../../kernel/index.ts";
import { drawBlocks, winBlocks } from "./block.ts";
import { studyGate } from "./simulated-blocks.ts";

/**
 * What the gate promises, by playing thousands of gates between players of known strength. The true rates lie near 5 %
 * and 94 %; 2000 gates know 5 % to within 0.5 % (one standard deviation). `npm run soak -- statistics` plays 10,000 of each.
 */
const RUNS = 2000;
const plan = gatePlan();

describe.each([
  { players: 2, blocks: drawBlocks(2) },
  { players: 3, blocks: winBlocks(3) },
  { players: 4, blocks: winBlocks(4) },
])("a gate of [0, 50] between $players players", ({ players, blocks }) => {
  it("promotes an equal candidate in at most 6 % of all gates", () => {
    const equal = studyGate({ blocks, elo: 0, drawShare: 0, seatElo: 0 }, plan, RUNS, seededRandom(100 + players));
    expect(equal.promoted / RUNS).toBeLessThanOrEqual(0.06);
    expect(equal.promoted / RUNS).toBeGreaterThan(0.03);
    expect(equal.rejected / RUNS).toBeGreaterThan(0.9);
  });

  it("promotes a candidate of +50 Elo in at least 90 % of all gates, in under 400 games on average", () => {
    const better = studyGate({ blocks, elo: 50, drawShare: 0, seatElo: 0 }, plan, RUNS, seededRandom(200 + players));
    expect(better.promoted / RUNS).toBeGreaterThanOrEqual(0.9);
    expect(better.games / RUNS).toBeLessThan(400);
  });
});

describe("a gate of [0, 50] between two players", () => {
  const study = (elo: number, drawShare: number, seatElo: number, seed: number) =>
    studyGate({ blocks: drawBlocks(2), elo, drawShare, seatElo }, plan, 2000, seededRandom(seed)).promoted / 2000;

  it("keeps its word when half of the games are drawn and openings favour a seat", () => {
    expect(study(0, 0.5, 400, 31)).toBeLessThanOrEqual(0.06);
  });

  it("hardly ever promotes a weaker candidate, and almost always a much stronger one", () => {
    expect(study(-20, 0, 0, 32)).toBeLessThan(0.02);
    expect(study(100, 0, 0, 33)).toBeGreaterThan(0.99);
  });
});
