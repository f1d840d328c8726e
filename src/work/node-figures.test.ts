import { expect, onTestFinished, test } from "vitest";
import { EVIDENCE, PLENTY, workWorld } from "../../test/unit/work/work-world.ts";

const MINUTE = 60_000;

/** A node does so many jobs of 100 games side by side, for six minutes, and rests for as long. */
async function played(kind: "selfplay" | "export", slots: number) {
  const w = workWorld();
  onTestFinished(() => w.close());
  await w.queue.addAll(Array.from({ length: slots }, () => ({ work_type: kind, config_key: "hex7_2p" as const })));
  const leases = await w.queue.claim({ node_id: "a", most: slots, offer: PLENTY });
  await w.pass(6 * MINUTE);
  for (const lease of leases)
    await w.queue.complete(lease, { ...EVIDENCE, counts: { games: 100, samples: 1, rows: 1 } });
  await w.pass(6 * MINUTE);
  return { figures: await w.queue.figures("a"), rates: await w.queue.rates() };
}

test("games an hour are those that a node plays while it plays, with all its slots", async () => {
  for (const slots of [1, 4]) {
    const { figures, rates } = await played("selfplay", slots);
    expect(figures).toMatchObject({ completed: slots, games: 100 * slots, games_per_hour: 1_000 * slots });
    expect(rates.get("a")).toEqual({ games: 100 * slots, games_per_hour: 1_000 * slots });
  }
});

test("what other jobs count is no game of self-play", async () => {
  const { figures, rates } = await played("export", 2);
  expect(figures).toMatchObject({ completed: 2, games: 0, games_per_hour: null });
  expect(rates.size).toBe(0);
});
