import { expect, onTestFinished, test } from "vitest";
import { COPY_BUGS, copiesWorld } from "./copies-world.ts";
import { RESCUE_BUGS, rescueWorld } from "./rescue-world.ts";

const world = () => {
  const opened = copiesWorld();
  onTestFinished(() => opened.close());
  return opened;
};

test("whatever is copied, let go, damaged and lost, our own decisions never leave fewer copies than there must be", () => {
  const { run } = world();
  for (let seed = 1; seed <= 3_000; seed += 1) expect(run(seed), `seed ${seed}`).toBeUndefined();
});

test.each(COPY_BUGS)("finds the mistake %s", (bug) => {
  const { run } = world();
  let seed = 1;
  while (seed <= 3_000 && run(seed, bug) === undefined) seed += 1;
  expect(seed).toBeLessThanOrEqual(3_000);
});

test("whatever way fails, another that can give is asked before one that failed, and a machine that ends leaves a copy behind", async () => {
  const opened = rescueWorld();
  onTestFinished(() => opened.close());
  for (let seed = 1; seed <= 120; seed += 1) expect(await opened.run(seed), `seed ${seed}`).toBeUndefined();
});

test.each(RESCUE_BUGS)("finds the mistake %s", async (bug) => {
  const opened = rescueWorld();
  onTestFinished(() => opened.close());
  let seed = 1;
  while (seed <= 300 && (await opened.run(seed, bug)) === undefined) seed += 1;
  expect(seed).toBeLessThanOrEqual(300);
});
