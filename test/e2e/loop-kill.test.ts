/** kill -9 of whoever takes part in the loop: it goes on by itself, and comes to what it would have come to. */
import { expect, onTestFinished, test, vi } from "vitest";
import { outcomeOf, planned, QUICK, SOUND, soundness, startLoop } from "../support/loop.ts";
import { causeFaults } from "../support/loop-causes.ts";
import { trainUnderKills } from "../support/loop-kills.ts";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { processesWith } from "./parts/worker-world.ts";

/** `npm run soak -- loop-kill` goes on for half an hour. */
const ROUNDS = 3;

test("kills of programs, workers, the main process and everything change nothing of what it comes to", async () => {
  const own = owned(onTestFinished);
  const calm = await startLoop(own, { plans: planned({ ...QUICK, most_iterations: ROUNDS }), slots: 2 });
  const expected = outcomeOf(await calm.complete());
  await calm.end();
  expect(expected.champions.length).toBeGreaterThan(1);

  const { dataDir, lives, kills, faults } = await trainUnderKills(own, {
    seed: 5,
    plan: { ...QUICK, most_iterations: undefined },
    args: ["train", "--headless", "--workers", "2", "--iterations", String(ROUNDS)],
    victims: ["worker", "main", "program", "everything"],
    maxWaitMs: 2_000,
  });
  expect(faults).toEqual([]);
  expect(lives).toBeGreaterThanOrEqual(3);
  expect(kills.worker).toBeGreaterThanOrEqual(1);
  expect(kills.main).toBeGreaterThanOrEqual(1);
  expect(kills.everything).toBeGreaterThanOrEqual(1);
  await vi.waitFor(() => expect(processesWith(dataDir)).toEqual([]), PATIENT);

  const after = await startLoop(own, { plans: [], dataDir, slots: 0 });
  onTestFinished(after.end);
  expect(outcomeOf(after.config())).toEqual(expected);
  expect(await soundness(after)).toEqual(SOUND);
  // What led to what outlives those who did it.
  expect(causeFaults(after.main.router.store)).toEqual([]);
});
