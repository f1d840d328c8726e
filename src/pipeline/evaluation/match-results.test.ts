import { describe, expect, test } from "vitest";
import type { JobView } from "../../work/index.ts";
import { budgetOf, playersOf, ratingAllowance } from "../models/search-budget.ts";
import { matchResults, parseResults } from "./match-results.ts";

const expected = { candidate: "a", opponent: "b", blocks: 2, players: 2 };
const line = (blocks: { opening: number | string; scores: number[] }[], more: object = {}) =>
  `${JSON.stringify({ candidate: "a", opponent: "b", blocks, ...more })}\n`;
const two = line([{ opening: 1, scores: [1, 0] }]) + line([{ opening: "2", scores: [0.5, 1] }]);
const read = async () => Buffer.from(two);
const job = (counts: Record<string, number>, names = ["pairs.jsonl"], summary = {}) =>
  ({
    work_id: "w1",
    evidence: { outputs: names.map((name) => ({ name, sha256: "a".repeat(64), bytes: 9 })), counts, summary },
  }) as unknown as JobView;

describe("results of a match", () => {
  test("blocks are numbered in the order of the lines", () => {
    expect(parseResults(two, expected)).toEqual([
      { block: 0, opening: "1", scores: [1, 0] },
      { block: 1, opening: "2", scores: [0.5, 1] },
    ]);
  });

  test.each([
    ["no JSON", "oops\n", "MATCH_RESULTS_BROKEN"],
    ["no blocks", '{"candidate":"a","opponent":"b"}\n', "MATCH_RESULTS_BROKEN"],
    ["somebody else's", line([], { candidate: "x" }), "MATCH_PLAYERS_WRONG"],
    ["sides swapped", line([], { candidate: "b", opponent: "a" }), "MATCH_PLAYERS_WRONG"],
    ["one seat only", line([{ opening: 1, scores: [1] }]), "MATCH_SCORES_ILLEGAL"],
    ["a score of three quarters", line([{ opening: 1, scores: [0.75, 0] }]), "MATCH_SCORES_ILLEGAL"],
    ["a score above a win", line([{ opening: 1, scores: [2, 0] }]), "MATCH_SCORES_ILLEGAL"],
  ])("%s: a failure with a name", (_what, text, code) => {
    expect(() => parseResults(text, expected)).toThrow(expect.objectContaining({ code, retryable: true }));
  });

  test("a third is a draw of three, and a half is none", () => {
    const three = { ...expected, players: 3, blocks: 1 };
    expect(parseResults(line([{ opening: 1, scores: [1, 0.3333333333, 0] }]), three)[0]?.scores).toEqual([1, 1 / 3, 0]);
    expect(() => parseResults(line([{ opening: 1, scores: [1, 0.5, 0] }]), three)).toThrow(/cannot have the scores/);
  });

  test("a job without games, without results or with too few blocks proves nothing", async () => {
    const failing = (given: JobView, blocks = 2) => matchResults(read, given, { ...expected, blocks });
    await expect(failing(job({ games: 4 }))).resolves.toMatchObject({ games: 4, redundancy: 0 });
    await expect(failing(job({ games: 4 }, ["pairs.jsonl"], { redundancy: 0.25 }))).resolves.toMatchObject({
      redundancy: 0.25,
    });
    await expect(failing(job({ games: 0 }))).rejects.toMatchObject({ code: "MATCH_WITHOUT_GAMES" });
    await expect(failing(job({}))).rejects.toMatchObject({ code: "MATCH_WITHOUT_GAMES" });
    await expect(failing(job({ games: 4 }, ["log.txt"]))).rejects.toMatchObject({ code: "MATCH_RESULTS_MISSING" });
    await expect(failing(job({ games: 4 }), 3)).rejects.toMatchObject({ code: "MATCH_BLOCKS_MISSING" });
    await expect(failing(job({ games: 4, redundancy: 2 }))).rejects.toMatchObject({ code: "MATCH_RESULTS_BROKEN" });
  });
});

describe("search budgets", () => {
  test("one name for one set of parameters, whatever their order; long ones are shortened without mixing", () => {
    expect(budgetOf({ simulations: 48, opening_plies: 5 })).toBe("opening_plies=5,simulations=48");
    expect(budgetOf({ opening_plies: 5, simulations: 48 })).toBe(budgetOf({ simulations: 48, opening_plies: 5 }));
    expect(budgetOf({})).toBe("default");
    const long = { note: "x".repeat(200) };
    expect(budgetOf(long)).toMatch(/^sha256=[0-9a-f]{16}$/);
    expect(budgetOf({ note: `${long.note}y` })).not.toBe(budgetOf(long));
  });

  test("the players of a config are in its key", () => {
    expect([playersOf("hex8_2p"), playersOf("hex8_3p"), playersOf("a_b_4p")]).toEqual([2, 3, 4]);
    expect(() => playersOf("hex8_5p")).toThrow(/does not say how many players there are/);
  });

  test("ratings have their share of all games, their own included", () => {
    expect(ratingAllowance(0.1, { others: 900, rating: 0 })).toBe(100);
    expect(ratingAllowance(0.1, { others: 900, rating: 100 })).toBe(0);
    expect(ratingAllowance(0.1, { others: 0, rating: 50 })).toBe(0);
    expect(ratingAllowance(0, { others: 10_000, rating: 0 })).toBe(0);
  });
});
