import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createReplay } from "../../../../test/support/bare-loop/replay.ts";
import { seededRandom } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import { windowRows } from "./replay.ts";
import { emptySamples } from "./samples.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

describe("the replay window", () => {
  it("is everything at first, then the base and a share of the rest, and never more than the most", () => {
    const config = { base: 30_000, share: 0.4, most: 50_000 };
    expect(windowRows(10, config)).toBe(10);
    expect(windowRows(30_000, config)).toBe(30_000);
    expect(windowRows(40_000, config)).toBe(34_000);
    expect(windowRows(1_000_000, config)).toBe(50_000);
  });

  it("holds exactly the newest rows, whatever sizes they come in", () => {
    const game = createGame("connect4_7x6_2p");
    const config = { base: 50, share: 0.5, most: 90 };
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 20 }), (sizes) => {
        const replay = createReplay(game, config);
        let made = 0;
        for (const size of sizes) {
          const rows = emptySamples(game, size);
          for (let i = 0; i < size; i += 1) rows.game[i] = made + i;
          replay.add(rows);
          made += size;
          expect(replay.total).toBe(made);
          expect(replay.size).toBeLessThanOrEqual(windowRows(made, config));
          if (made === 0) continue;
          const random = seededRandom(made);
          for (let i = 0; i < 50; i += 1) {
            const drawn = replay.samples.game[replay.draw(random)]!;
            expect(drawn).toBeGreaterThanOrEqual(made - replay.size);
            expect(drawn).toBeLessThan(made);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is full again as soon as enough rows have come", () => {
    const game = createGame("connect4_7x6_2p");
    const replay = createReplay(game, { base: 50, share: 0.5, most: 90 });
    for (let i = 0; i < 30; i += 1) replay.add(emptySamples(game, 7));
    expect(replay.size).toBe(90);
  });
});
