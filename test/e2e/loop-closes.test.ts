/** The closed loop with real parts: it gets better, round by round, and leaves nothing undone. */
import { expect, onTestFinished, test, vi } from "vitest";
import { commandsOn } from "../support/commands.ts";
import { planned, QUICK, type RunningLoop, SOUND, soundness, startLoop } from "../support/loop.ts";
import { causeFaults } from "../support/loop-causes.ts";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";

interface Traced {
  readonly events: readonly {
    readonly depth: number;
    readonly cut: string | null;
    readonly event: {
      readonly id: string;
      readonly type: string;
      readonly causationid?: string;
      readonly data: { games?: number };
    };
  }[];
}

/** What every promotion follows from, whichever of them woke the next stage. */
const STEPS = [
  "SELFPLAY_COMPLETE",
  "NPZ_EXPORT_COMPLETE",
  "TRAINING_COMPLETED",
  "EVALUATION_COMPLETED",
  "MODEL_PROMOTED",
];

/** What 'events trace' shows of a promotion: where its tree begins, what and how many games are in it, and where the way up ends. */
async function traced({ dataDir }: RunningLoop, eventId: string) {
  const { out } = await commandsOn(dataDir)("events", "trace", eventId, "--json");
  const { events } = JSON.parse(out) as Traced;
  const known = new Map(events.map(({ event }) => [event.id, event]));
  let top = known.get(eventId)!;
  for (let above = top; above !== undefined; above = known.get(above.causationid ?? "")!) top = above;
  return {
    roots: events.filter(({ depth, cut }) => depth === 0 || cut !== null).map(({ event }) => event.id),
    top: top.id,
    begins: top.type,
    games: events
      .filter(({ event }) => event.type === "SELFPLAY_COMPLETE")
      .reduce((sum, { event }) => sum + event.data.games!, 0),
    missing: STEPS.filter((type) => !events.some(({ event }) => event.type === type)),
  };
}

/** Jobs that prepared data on a node without accelerators: those that were done, those that were told, by whom, and up to where they were heard. */
function preparedData({ main: { router } }: RunningLoop) {
  const { store } = router;
  const rows = (type: string) =>
    store.read<{ seq: number; work_id: string; work_type: string; source: string }>(
      `SELECT seq, source, payload ->> '$.work_id' AS work_id, payload ->> '$.work_type' AS work_type FROM events
       WHERE event_type = ? ORDER BY work_id`,
      type,
    );
  const told = rows("CPU_PIPELINE_JOB_COMPLETED");
  const [hearer] = store.read<{ low_water: number }>(
    "SELECT low_water FROM consumers WHERE consumer = 'pipeline_orchestrator'",
  );
  return {
    done: rows("WORK_COMPLETED")
      .filter(({ work_type }) => work_type === "validation" || work_type === "export")
      .map(({ work_id }) => work_id),
    told: told.map(({ work_id }) => work_id),
    by: [...new Set(told.map(({ source }) => source))],
    areHeard: told.every(({ seq }) => seq <= hearer!.low_water),
  };
}

/** `npm run soak -- loop` has ten promotions and five hundred Elo on the default game. */
const PLAN = { ...QUICK, most_iterations: 3 };

test("a seeded run of a few rounds promotes at least twice, with evidence for every stage and books that balance", async () => {
  const own = owned(onTestFinished);
  const loop = await startLoop(own, {
    plans: planned(PLAN),
    slots: 2,
    env: { RINGRIFT_WORKER_DETECT_GPUS: "0" },
  });
  onTestFinished(loop.end);
  const { champions, games, verdicts, losses } = await loop.complete();
  expect(champions.filter(({ by }) => by === "gate").length).toBeGreaterThanOrEqual(2);
  expect(verdicts.promote).toBe(champions.length - 1);
  expect(games).toBe(PLAN.most_iterations * PLAN.games_per_iteration);
  expect(losses.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
  expect(await soundness(loop)).toEqual(SOUND);
  await vi.waitFor(() => {
    const { done, ...rest } = preparedData(loop);
    expect(done.length).toBeGreaterThanOrEqual(PLAN.most_iterations);
    expect(rest).toEqual({ told: done, by: ["utilization_optimizer"], areHeard: true });
  }, PATIENT);
  const { store } = loop.main.router;
  expect(causeFaults(store)).toEqual([]);
  const promotions = store.read<{ event_id: string }>(
    "SELECT event_id FROM events WHERE event_type = 'MODEL_PROMOTED'",
  );
  expect(promotions.length).toBeGreaterThanOrEqual(2);
  for (const { event_id } of promotions) {
    const { roots, top, ...rest } = await traced(loop, event_id);
    expect(roots).toEqual([top]);
    expect(rest).toEqual({ begins: "PIPELINE_STAGE_ENTERED", games: PLAN.games_per_iteration, missing: [] });
  }
});
