import { describe, expect, test } from "vitest";
import { createReachBook, type KeptReport } from "./reach-book.ts";

const timing = { suspectMs: 45_000 };
const clock = { monotonic: () => 0 };
const reportOf = (nodeId: string, lost: readonly string[] = [], silentMs = 0): KeptReport => ({
  nodeId,
  incarnation: 3,
  address: "::ffff:192.0.2.7",
  silentMs,
  report: { host: null, port: 7_946, known: 3, reached: 3 - lost.length, lost },
});
const bookOf = (reports: readonly KeptReport[], isOn = true) =>
  createReachBook({ isOn, reports: () => reports, timing, clock });

describe("who reaches whom", () => {
  test("is counted over those that are heard themselves", () => {
    const book = bookOf([reportOf("a", ["d"]), reportOf("b"), reportOf("c", ["d"], 60_000), reportOf("d", [], 60_000)]);
    expect(book.of("d")).toEqual({ by: 1, of: 2 });
    expect(book.of("a")).toEqual({ by: 1, of: 1 });
    expect(book.of("nobody")).toBeUndefined();
    expect([book.saidBy("a"), book.saidBy("nobody")]).toEqual([{ nodes: 2, of: 3 }, undefined]);
  });

  test.each([
    ["most of several say so", ["d"], ["d"], true],
    ["half of them do", ["d"], [], false],
    ["nobody does", [], [], false],
  ])("a node is lost where %s", (_, first, second, isLost) => {
    expect(bookOf([reportOf("a", first), reportOf("b", second), reportOf("d", [], 60_000)]).isLost("d")).toBe(isLost);
  });

  test("one word alone makes nobody lost", () => {
    expect(bookOf([reportOf("a", ["b"]), reportOf("b", [], 60_000)]).isLost("b")).toBe(false);
  });

  test("a node looks after those beside it, and they after it, however many there are", () => {
    const ids = Array.from({ length: 80 }, (_, n) => `n${String(n).padStart(3, "0")}`);
    const book = bookOf(ids.map((id) => reportOf(id)));
    const peers = new Map(ids.map((id) => [id, book.peersFor(id).map(({ node_id }) => node_id)]));
    for (const [id, others] of peers) {
      expect(new Set(others).size).toBe(64);
      expect(others).not.toContain(id);
      for (const other of others) expect(peers.get(other)).toContain(id);
    }
    expect(book.peersFor("n000")[0]).toEqual({ node_id: "n001", host: "192.0.2.7", port: 7_946, incarnation: 3 });
  });

  test("nothing is looked at where it is off", () => {
    const book = createReachBook({ isOn: false, timing, clock, reports: () => expect.fail("it was asked") });
    expect([book.of("a"), book.isLost("a"), book.peersFor("a")]).toEqual([undefined, false, []]);
  });
});
