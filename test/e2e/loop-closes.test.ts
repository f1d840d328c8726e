/** The closed loop with real parts: it gets better, round by round, and leaves nothing undone. */
import { expect, onTestFinished, test } from "vitest";
import { LARGER, planned, SOUND, soundness, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";

test("a seeded run of a few rounds promotes at least twice, with evidence for every stage and books that balance", async () => {
  const own = owned(onTestFinished);
  const loop = await startLoop(own, { plans: planned(LARGER), slots: 2 });
  onTestFinished(loop.end);
  const { champions, games, verdicts, losses } = await loop.complete();
  expect(champions.filter(({ by }) => by === "gate").length).toBeGreaterThanOrEqual(2);
  expect(verdicts.promote).toBe(champions.length - 1);
  expect(games).toBe(LARGER.most_iterations * LARGER.games_per_iteration);
  expect(losses.map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(soundness(loop)).toEqual(SOUND);
});
