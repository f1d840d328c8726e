import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { layered } from "./layered.ts";
import { matchView } from "./match-view.ts";
import { readPage } from "./page-files.ts";
import { POLICY } from "./policy.ts";
import { readTimes } from "./times.ts";
import { VIEWS } from "./views.ts";

describe("the view that an address names", () => {
  test("is found for each of them, with what stands in its places", () => {
    for (const view of VIEWS) expect(matchView(view.replaceAll(/:(\w+)/g, "a%2Fb"))?.view).toBe(view);
    expect(matchView("/models/a%2Fb")?.params).toEqual({ id: "a/b" });
    expect(matchView("/gates/")?.view).toBe("/gates");
  });

  test("is none for what is none, and half an escape is what it says", () => {
    for (const path of ["/nothing", "/models/a/b", "/models/x/y"]) expect(matchView(path)).toBeUndefined();
    expect(matchView("/why/%E0%A4%A")?.params).toEqual({ subject: "%E0%A4%A" });
  });
});

test("times become milliseconds wherever they stand, and nothing else changes", () => {
  const times = { in: { at: 1, rows: { each: { in: { since: 1 } } }, by: { each: 1 } } } as const;
  const given = { at: 1.5, rows: [{ since: 2, n: 3 }, { since: null }], by: { a: 4 }, other: 5 };
  expect(readTimes(times, given)).toEqual({
    at: 1_500,
    rows: [{ since: 2_000, n: 3 }, { since: null }],
    by: { a: 4_000 },
    other: 5,
  });
  expect(readTimes(undefined, given)).toBe(given);
  expect(readTimes(times, null)).toBeNull();
});

describe("a drawing in columns", () => {
  const place = (nodes: string[], edges: [string, string][]) =>
    new Map(
      layered(
        nodes,
        edges.map(([from, to]) => ({ from, to })),
      ).map(({ id, column, row }) => [id, { column, row }]),
    );

  test("has each right of all that lead to it", () => {
    const at = place(
      ["d", "c", "b", "a"],
      [
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
        ["c", "d"],
      ],
    );
    expect(["a", "b", "c", "d"].map((id) => at.get(id)!.column)).toEqual([0, 1, 2, 3]);
  });

  test("survives circles, unknown names and ties to oneself", () => {
    const at = place(
      ["a", "b"],
      [
        ["a", "b"],
        ["b", "a"],
        ["a", "a"],
        ["x", "a"],
      ],
    );
    expect([...at.values()].every(({ column }) => Number.isInteger(column))).toBe(true);
  });

  test("crosses no lines that need not cross", () => {
    const at = place(
      ["a", "b", "x", "y"],
      [
        ["a", "y"],
        ["b", "x"],
      ],
    );
    expect(at.get("a")!.row < at.get("b")!.row).toBe(at.get("y")!.row < at.get("x")!.row);
  });
});

test("the policy lets our own scripts run, and nothing else", () => {
  expect(POLICY).toContain("default-src 'none'");
  expect(POLICY).toContain("frame-ancestors 'none'");
  expect(POLICY).toContain("require-trusted-types-for 'script'");
  expect(POLICY).not.toMatch(/unsafe|http:|\*/);
});

test("a page that is built while the process runs is found then, and is in memory from there on", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = readPage(folder);
  expect(await files.find("index.html")).toBeUndefined();
  writeFileSync(join(folder, "index.html"), "<p>");
  writeFileSync(join(folder, "secret.txt"), "no");
  expect((await files.find("index.html"))?.type).toContain("text/html");
  rmSync(join(folder, "index.html"));
  expect(Buffer.from((await files.find("index.html"))!.bytes).toString()).toBe("<p>");
  expect(await files.find("secret.txt")).toBeUndefined();
  expect(await files.find("../index.html")).toBeUndefined();
});
