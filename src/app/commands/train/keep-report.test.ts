import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { keepReport } from "./keep-report.ts";

const AT = Date.UTC(2026, 0, 2, 3, 4, 5);

test("every run keeps its report, the newest has a name that stays, and the oldest give way", () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-reports-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = ["first", "second", "third"].map((html, i) => keepReport(folder, html, AT + i * 1_000, 2));
  expect(new Set(files)).toEqual(new Set([join(folder, "report.html")]));
  expect(readFileSync(join(folder, "report.html"), "utf8")).toBe("third");
  expect(readdirSync(join(folder, "reports")).sort()).toEqual([
    "2026-01-02T03-04-06Z.html",
    "2026-01-02T03-04-07Z.html",
  ]);
  expect(readFileSync(join(folder, "reports", "2026-01-02T03-04-06Z.html"), "utf8")).toBe("second");
});
