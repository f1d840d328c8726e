import { expect, test } from "vitest";
import { defined } from "./defined.ts";

test("keys without a value are gone, all others stay", () => {
  const kept = defined({ a: 1, b: undefined, c: null, d: false, e: "" });
  expect(Object.entries(kept)).toEqual([
    ["a", 1],
    ["c", null],
    ["d", false],
    ["e", ""],
  ]);
});

test("a default is not overwritten by what was not given", () => {
  expect({ port: 8_770, ...defined({ port: undefined }) }).toEqual({ port: 8_770 });
});
