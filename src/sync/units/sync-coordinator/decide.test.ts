import { describe, expect, test } from "vitest";
import { hopeless, judgeHost } from "./decide.ts";

const LIMITS = { criticalFailures: 5, remindMs: 1_000 };
const found = (failures: number, more = {}) => ({
  ...{ node_id: "a", failures, code: "STALLED", error: "no", last_success_at: null, at: 100, is_awaited: 1 },
  ...more,
});

describe("a host is in trouble", () => {
  test.each([
    ["nothing failed", undefined, undefined, { trouble: undefined, isDue: false }],
    ["a few failed", undefined, found(4), { trouble: undefined, isDue: false }],
    ["too many failed", undefined, found(5), { trouble: { failures: 5, since: 100, told_at: 100 }, isDue: true }],
    ["it was told just now", 50, found(6), { trouble: { failures: 6, since: 7, told_at: 50 }, isDue: false }],
    ["it was told long ago", -900, found(6), { trouble: { failures: 6, since: 7, told_at: 100 }, isDue: true }],
    ["something arrived again", 50, found(1), { trouble: undefined, isDue: false }],
    ["nobody waits for long", 50, found(6, { is_awaited: 0, at: -900 }), { trouble: undefined, isDue: false }],
    ["nobody waits just now", 50, found(6, { is_awaited: 0 }), { trouble: { failures: 6 }, isDue: false }],
    ["it fails no more, and is waited for", 50, found(6, { at: -900 }), { trouble: { failures: 6 }, isDue: false }],
  ])("%s", (_, toldAt, now, expected) => {
    const known =
      toldAt === undefined ? undefined : { failures: 5, code: "STALLED", error: "no", since: 7, told_at: toldAt };
    expect(judgeHost(known, now, 100, LIMITS)).toMatchObject(expected);
  });
});

test("orders of nodes that are away too long are hopeless, and those of others are not", () => {
  const nodes = new Map([
    ["there", { isThere: true }],
    ["away", { isThere: false }],
  ]);
  const open = ["there", "away", "forgotten"].flatMap((node_id, i) =>
    [0, 90].map((since) => ({ order_id: 10 * i + since, node_id, since })),
  );
  const left = hopeless(open, nodes, 100, 50).map(({ node_id, since }) => `${node_id} ${since}`);
  expect(left).toEqual(["away 0", "forgotten 0"]);
});
