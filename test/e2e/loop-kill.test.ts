/** kill -9 of whoever takes part in the loop: it goes on by itself, and comes to what it would have come to. */
import { expect, onTestFinished, test, vi } from "vitest";
import { searchRuns } from "../../src/pipeline/steering/tables.ts";
import { createWriteSet, type Store } from "../../src/router/index.ts";
import { CONFIG, outcomeOf, planned, QUICK, SOUND, soundness, startLoop } from "../support/loop.ts";
import { causeFaults } from "../support/loop-causes.ts";
import { readFolder, trainUnderKills } from "../support/loop-kills.ts";
import { PATIENT, until } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { processesWith } from "./parts/worker-world.ts";

/** The second round has a small search for better parameters beside it: it too has to come to what it would have come to. */
const SEARCHED = { ...QUICK, tuning: { every: 2, generations: 3, blocks: 4, proof_blocks: 20 } };
/** Where a search stands, number by number. */
const searchIn = (store: Pick<Store, "read">) => {
  const run = createWriteSet(store).get(searchRuns, CONFIG);
  return run && { ...run, jobs: null, waits: null, since: null, ended_at: null };
};

/** `npm run soak -- loop-kill` goes on for half an hour. */
const ROUNDS = 3;

test("kills of programs, workers, the main process and everything change nothing of what it comes to", async () => {
  const own = owned(onTestFinished);
  const calm = await startLoop(own, { plans: planned({ ...SEARCHED, most_iterations: ROUNDS }), slots: 2 });
  const expected = outcomeOf(await calm.complete());
  const search = searchIn(calm.main.router.store);
  expect(search).toMatchObject({ state: "ended", cma: { generation: 3 } });
  await calm.end();
  expect(expected.champions.length).toBeGreaterThan(1);

  const { dataDir, lives, kills, faults } = await trainUnderKills(own, {
    seed: 5,
    plan: { ...SEARCHED, most_iterations: undefined },
    args: ["train", "--headless", "--workers", "2", "--iterations", String(ROUNDS)],
    victims: ["worker", "main", "program", "everything"],
    maxWaitMs: 2_000,
    // The main process dies in the middle of a search.
    async look(_, folder, victim) {
      const isSearching = () => {
        const run = readFolder(folder, searchIn);
        return run?.state === "searching" && run.cma.generation > 0;
      };
      if (victim === "main") await until(isSearching, () => "no search was under way");
    },
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
  expect(searchIn(after.main.router.store)).toStrictEqual(search);
  expect(await soundness(after)).toEqual(SOUND);
  // What led to what outlives those who did it.
  expect(causeFaults(after.main.router.store)).toEqual([]);
});
