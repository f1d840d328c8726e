import { describe, expect, test } from "vitest";
import { faultOf } from "../../../models/index.ts";
import { drawBlocks, judgeRegression } from "../../../statistics/index.ts";
import { stepAfter } from "./decide.ts";

const judged = (counts: number[]) => judgeRegression(counts, drawBlocks(2));

describe("the check of a champion", () => {
  test.each([
    ["far weaker", [200, 20, 10, 0, 0], true, { outcome: "regressed", severity: "critical" }],
    ["far weaker, without a gate", [200, 20, 10, 0, 0], false, { outcome: "regressed", severity: "critical" }],
    ["clearly no weaker", [0, 5, 20, 60, 80], false, { outcome: "cleared", severity: "none" }],
    ["no sign of weakness after a gate", [1, 4, 8, 4, 1], true, { outcome: "passed", severity: "none" }],
    ["the same without a gate: more games", [1, 4, 8, 4, 1], false, { severity: "none" }],
    ["too few blocks", [1, 1, 1, 1, 1], true, { severity: "none" }],
    ["a little weaker after a gate: more games", [4, 8, 10, 4, 1], true, { severity: "minor" }],
    ["somewhat weaker after a gate: more games", [3, 7, 7, 3, 0], true, { severity: "moderate" }],
    ["somewhat weaker, and no blocks left", [12, 22, 24, 12, 4], true, { outcome: "undecided", severity: "moderate" }],
    ["undecided at the end of its blocks", [60, 80, 120, 80, 60], false, { outcome: "undecided", severity: "none" }],
  ])("%s", (_what, counts, isGated, expected) => {
    expect(stepAfter(judged(counts), isGated)).toEqual(expected);
  });

  test.each([
    ["ARENA_NOT_FINITE", "the policy has NaN", "nan"],
    ["internal", "assertion failed: a player chose an illegal move", "illegal_move"],
    ["ARENA_FILE_CORRUPT", "its contents contradict its description", "hash_mismatch"],
    ["no_input", 'input "candidate" cannot be fetched', "hash_mismatch"],
    ["crashed", "the program ended in the middle of the job (signal SIGSEGV)", "crash"],
    ["JOB_CANCELLED", "nobody wants it", undefined],
    ["killed", "was the machine out of memory?", undefined],
    ["silent", "the program said nothing for 60 s", undefined],
    ["JOB_NOT_FOUND", "the queue has forgotten it", undefined],
    ["resource", "no memory", undefined],
  ])("a job that ends with %s (%s) says: %s", (code, reason, fault) => {
    expect(faultOf(code, reason)).toBe(fault);
  });
});
