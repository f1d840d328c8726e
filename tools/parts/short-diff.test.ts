import { expect, test } from "vitest";
import { shortDiff } from "./short-diff.ts";

test("equal texts have no difference", () => {
  expect(shortDiff("a\nb\n", "a\nb\n")).toBe("");
});

test("what changed is shown where it is, without what stayed", () => {
  expect(shortDiff("a\nb\nc\nd\n", "a\nB\nc\nd\n")).toBe("  from line 2:\n  - b\n  + B");
  expect(shortDiff("a\nb\n", "a\nnew\nb\n")).toBe("  from line 2:\n  + new");
  expect(shortDiff("a\na\n", "a\n")).toBe("  from line 2:\n  - a");
});

test("lines that only moved are not shown", () => {
  expect(shortDiff("a\nb\nc\n", "x\na\nb\nC\n")).toBe("  from line 1:\n  - c\n  + x\n  + C");
  expect(shortDiff("a\nb\n", "b\na\n")).toBe("  from line 1:\n  the same lines in another order");
});

test("a long difference is cut", () => {
  const many = Array.from({ length: 20 }, (_, i) => String(i)).join("\n");
  expect(shortDiff("", many).split("\n").at(-1)).toBe("  + (and 12 more lines)");
});
