import { expect, test } from "vitest";
import { runAll } from "./run-all.ts";

const steps = (...names: readonly string[]) => {
  const ran: string[] = [];
  const of = names.map((name) => async () => {
    ran.push(name);
    if (name.startsWith("bad")) throw new Error(name);
  });
  return { ran, of };
};

test("every step runs in order", async () => {
  const { ran, of } = steps("a", "b");
  await runAll(of);
  expect(ran).toEqual(["a", "b"]);
});

test("what follows a step that throws still runs, and its error comes at the end", async () => {
  const { ran, of } = steps("a", "bad", "c");
  await expect(runAll(of)).rejects.toThrow(/^bad$/);
  expect(ran).toEqual(["a", "bad", "c"]);
});

test("several errors come together", async () => {
  const { ran, of } = steps("bad 1", "b", "bad 2");
  await expect(runAll(of)).rejects.toMatchObject({
    message: "2 of 3 steps failed",
    errors: [{ message: "bad 1" }, { message: "bad 2" }],
  });
  expect(ran).toHaveLength(3);
});
