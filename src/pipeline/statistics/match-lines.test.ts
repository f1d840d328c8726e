import { describe, expect, it } from "vitest";
import { isOperatingError } from "../../kernel/index.ts";
import { parseMatchLine } from "./match-lines.ts";

describe("a line of the match ledger", () => {
  it("tells a winner, a draw, an order or a tally", () => {
    expect(parseMatchLine('{"players":["a","b"],"winner":"a"}')).toEqual([
      { players: ["a", "b"], winner: "a", games: 1 },
    ]);
    expect(parseMatchLine('{"players":["a","b"],"winner":null,"games":3}')).toEqual([
      { players: ["a", "b"], winner: null, games: 3 },
    ]);
    expect(parseMatchLine('{"players":["a","b","c"],"ranks":[2,1,2]}')).toEqual([
      { players: ["a", "b", "c"], ranks: [2, 1, 2], games: 1 },
    ]);
    expect(parseMatchLine('{"players":["a","b"],"wins":[7,0],"draws":2}')).toEqual([
      { players: ["a", "b"], winner: "a", games: 7 },
      { players: ["a", "b"], winner: null, games: 2 },
    ]);
  });

  it("may say more than is needed here", () => {
    expect(parseMatchLine('{"match_id":"m-1","players":["a","b"],"winner":"b","at":17}')).toHaveLength(1);
  });

  it.each([
    ["not json"],
    ["[]"],
    ["null"],
    ['{"players":["a"],"winner":"a"}'],
    ['{"players":["a","a"],"winner":"a"}'],
    ['{"players":["a","b"]}'],
    ['{"players":["a","b"],"winner":"c"}'],
    ['{"players":["a","b"],"winner":"a","ranks":[1,2]}'],
    ['{"players":["a","b"],"winner":"a","draws":1}'],
    ['{"players":["a","b"],"ranks":[1]}'],
    ['{"players":["a","b"],"ranks":[0,1]}'],
    ['{"players":["a","b"],"wins":[1,2,3]}'],
    ['{"players":["a","b"],"wins":[0,0]}'],
    ['{"players":["a","b"],"wins":[1,0],"games":2}'],
    ['{"players":["a","b"],"wins":[-1,0]}'],
    ['{"players":["a","b"],"winner":"a","games":0.5}'],
    ['{"players":["a","b"],"winner":"a","games":1e300}'],
    ['{"players":["a","\\u001b[2J"],"winner":"a"}'],
    [`{"players":["a","${"b".repeat(300)}"],"winner":"a"}`],
  ])("is refused with a code: %s", (line) => {
    try {
      parseMatchLine(line);
      expect.unreachable("the line was accepted");
    } catch (thrown) {
      expect(isOperatingError(thrown, "INVALID_MATCH")).toBe(true);
    }
  });
});
