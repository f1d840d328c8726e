import { describe, expect, test } from "vitest";
import { lagOf, nextFreshness } from "./decide.ts";

const file = (seq: number, ...holders: string[]) => ({ seq, created_at: 10 * seq, holders });
const node = (node_id: string, kinds = ["training"], isThere = true) => ({ node_id, kinds, isThere });

describe("what the nodes that train lack", () => {
  test.each([
    ["nothing is wanted", [], [node("a")], null],
    ["nobody trains", [file(1)], [node("a", ["selfplay"])], null],
    ["who trains is away", [file(1)], [node("a", ["training"], false)], null],
    ["one of them has it all", [file(1, "b")], [node("a"), node("b")], null],
    ["the one that lacks the least counts", [file(1, "b"), file(2)], [node("a"), node("b")], ["b", 1, 2, 80]],
    ["the oldest file tells the lag", [file(1), file(2)], [node("a")], ["a", 2, 2, 90]],
  ] as const)("%s", (_, files, nodes, expected) => {
    const lag = lagOf(files, nodes, 100);
    expect(lag && [lag.node_id, lag.missing, lag.wanted, lag.lag_ms]).toEqual(expected);
  });
});

test("stale is told once, is waited with for a while and no longer, and fresh is told when it is over", () => {
  const lag = { node_id: "a", missing: 1, wanted: 2, lag_ms: 5 };
  const first = nextFreshness(undefined, lag, 100, 60);
  expect(first).toMatchObject({ news: "stale", row: { state: "stale", since: 100 } });
  expect(nextFreshness(first.row, lag, 159, 60)).toMatchObject({ news: null, row: { state: "stale" } });
  expect(nextFreshness(first.row, lag, 160, 60)).toMatchObject({ news: null, row: { state: "relaxed", since: 100 } });
  expect(nextFreshness(first.row, null, 160, 60)).toEqual({ news: "fresh", row: undefined });
  expect(nextFreshness(undefined, null, 160, 60)).toEqual({ news: null, row: undefined });
});
