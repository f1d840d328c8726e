import { describe, expect, test } from "vitest";
import { resultLimits } from "../limits.ts";
import { type CountBounds, implausible } from "./plausible.ts";

const { maxCount, maxNumber, maxFileBytes } = resultLimits;
const BOUNDS: CountBounds = {
  games: { parameter: "games", times: 1 },
  rows: { parameter: "games", times: 100 },
};
type Result = Partial<Parameters<typeof implausible>[0]>;
const judged = (given: Result, parameters: Record<string, unknown> = { games: 20 }, bounds = BOUNDS) =>
  implausible({ outputs: [], counts: {}, ...given }, bounds, () => parameters as never);

describe("a result is believed up to its bounds, and no further", () => {
  test("of a file's size", () => {
    const outputs = (bytes: number) => [
      { name: "small", bytes: 1 },
      { name: "games.arena", bytes },
    ];
    expect(judged({ outputs: outputs(maxFileBytes) })).toBeUndefined();
    expect(judged({ outputs: outputs(maxFileBytes + 1) })).toBe(
      `its file games.arena has ${maxFileBytes + 1} bytes, ${maxFileBytes} are possible`,
    );
  });

  test("of a count, whether its job says anything of it or not", () => {
    expect(judged({ counts: { wins: maxCount } })).toBeUndefined();
    expect(judged({ counts: { fine: 1, wins: maxCount + 1 } })).toBe(
      `it counts ${maxCount + 1} wins, ${maxCount} are possible`,
    );
  });

  test("of a number in its summary, with either sign; what is no number bounds nothing", () => {
    for (const value of [maxNumber, -maxNumber, "far too long", null, [maxNumber * 2]])
      expect(judged({ summary: { loss: value } })).toBeUndefined();
    for (const value of [maxNumber * 1.01, -maxNumber * 1.01, Number.NaN])
      expect(judged({ summary: { fine: 1, loss: value } })).toBe(`its loss is ${value}, which is beyond ${maxNumber}`);
  });

  test("of what its job asks for, so many times", () => {
    expect(judged({ counts: { games: 20, rows: 2_000 } })).toBeUndefined();
    expect(judged({ counts: { games: 21 } })).toBe("it counts 21 games, and its job asks for 20 games");
    expect(judged({ counts: { games: 20, rows: 2_001 } })).toBe("it counts 2001 rows, and its job asks for 20 games");
  });
});

describe("where a job asks for nothing that could bound a count", () => {
  test.each([[{}], [{ games: "20" }], [{ games: 0 }], [{ games: -1 }]])(
    "%j, only what is possible at all does",
    (parameters) => {
      expect(judged({ counts: { games: 1_000 } }, parameters)).toBeUndefined();
    },
  );

  test("a share of one is a bound as well", () => {
    expect(judged({ counts: { games: 1 } }, { games: 0.5 })).toBe("it counts 1 games, and its job asks for 0.5 games");
  });
});

test("what a job asked for is not looked up for a result that counts nothing of it", () => {
  const fails = () => {
    throw new Error("looked up in vain");
  };
  expect(implausible({ outputs: [], counts: { games: 0, wins: 3 } }, BOUNDS, fails)).toBeUndefined();
  expect(() => implausible({ outputs: [], counts: { games: 1 } }, BOUNDS, fails)).toThrow("looked up in vain");
});
