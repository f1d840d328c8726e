/** The closed loop with real parts: it gets better, round by round, and leaves nothing undone. */
import { expect, onTestFinished, test } from "vitest";
import { CONFIG, planned, QUICK, type RunningLoop, SOUND, soundness, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";

/** Events of a config that follow from nothing, or from what no journal holds. What is asked of it may come before its first round. */
const withoutCause = ({ main }: RunningLoop) =>
  main.router.store
    .read<{ event_type: string }>(
      `SELECT DISTINCT event_type FROM events e WHERE json_extract(payload, '$.config_key') = ?
         AND event_type <> 'SELFPLAY_TARGET_UPDATED'
         AND NOT EXISTS (SELECT 1 FROM events p WHERE p.event_id = e.parent_event_id AND p.trace_id = e.trace_id)`,
      CONFIG,
    )
    .map(({ event_type }) => event_type);

/** `npm run soak -- loop` has ten promotions and five hundred Elo on the default game. */
const PLAN = { ...QUICK, most_iterations: 3 };

test("a seeded run of a few rounds promotes at least twice, with evidence for every stage and books that balance", async () => {
  const own = owned(onTestFinished);
  const loop = await startLoop(own, { plans: planned(PLAN), slots: 2 });
  onTestFinished(loop.end);
  const { champions, games, verdicts, losses } = await loop.complete();
  expect(champions.filter(({ by }) => by === "gate").length).toBeGreaterThanOrEqual(2);
  expect(verdicts.promote).toBe(champions.length - 1);
  expect(games).toBe(PLAN.most_iterations * PLAN.games_per_iteration);
  expect(losses.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
  expect(await soundness(loop)).toEqual(SOUND);
  expect(withoutCause(loop)).toEqual(["PIPELINE_STAGE_ENTERED"]);
});
