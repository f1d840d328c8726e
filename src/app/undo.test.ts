import { expect, test } from "vitest";
import { createUndo } from "./undo.ts";

test("takes the steps last first, once, and all of them even if one fails", async () => {
  const taken: string[] = [];
  const undo = createUndo();
  undo.push(() => taken.push("first"));
  undo.push(() => {
    throw new Error("stuck");
  });
  undo.push(async () => taken.push("last"));
  const running = undo.run();
  expect(undo.run()).toBe(running);
  await expect(running).rejects.toThrow("stuck");
  expect(taken).toEqual(["last", "first"]);
});
