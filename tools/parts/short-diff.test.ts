import { expect, test } from "vitest";
import { shortDiff } from "./short-diff.ts";

test("equal texts have no difference", () => {
  expect(shortDiff("a\nb\n", "a\nb\n")).toBe("");
});

test("what changed is shown where it is, without what stayed", () => {
  expect(shortDiff("a\nb\nc\nd\n", "a\nB\nc\nd\n")).toBe("  at line 2:\n  - b\n  + B");
  expect(shortDiff("a\nb\n", "a\nnew\nb\n")).toBe("  at line 2:\n  + new");
  expect(shortDiff("a\na\n", "a\n")).toBe("  at line 2:\n  - a");
});

test("a long difference is cut", () => {
  const many = Array.from({ length: 20 }, (_, i) => String(i)).join("\n");
  expect(shortDiff("", many).split("\n").at(-1)).toBe("  + (and 12 more lines)");
});
