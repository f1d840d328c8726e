/** What comes of a seeded run follows from its plan: not from events, their order, or whether they come at all. */
import { beforeAll, expect, test } from "vitest";
import type { ConfigSnapshot } from "../../src/pipeline/index.ts";
import {
  deaf,
  disturbing,
  type LoopOptions,
  outcomeOf,
  planned,
  QUICK,
  type RunningLoop,
  SOUND,
  soundness,
  startLoop,
  ticking,
} from "../support/loop.ts";
import { owned } from "../support/process.ts";
import { onlyThorough } from "../support/thorough.ts";

const TICK_MS = 150;

/** Results may turn every knob: what they turn follows from the plan too. */
const STEERED = {
  ...QUICK,
  steering: {
    ...{ learning_rate: true, games: true, exploration: true, search: true },
    ...{ opponents: true, positions: true, window: true },
  },
};

/** What steering told, with what caused it. */
const told: { readonly event: string; readonly because: string | undefined }[] = [];
function noteSteering({ main: { router } }: RunningLoop): void {
  const events = router.history({ fromJournal: true, limit: 10_000 });
  for (const { eventType, traceId } of events)
    if (eventType === "HYPERPARAMETER_UPDATED" || eventType === "SELFPLAY_TARGET_UPDATED")
      told.push({
        event: eventType,
        because: events.find((each) => each.traceId === traceId && each.eventType === "EVALUATION_COMPLETED")
          ?.eventType,
      });
}

/** One whole run with one worker slot. */
async function runOnce(more: Partial<LoopOptions> = {}): Promise<ConfigSnapshot> {
  await using own = owned();
  const loop = await startLoop(own, { plans: planned(STEERED), slots: 1, ...more });
  try {
    const end = await loop.complete();
    expect(await soundness(loop)).toEqual(SOUND);
    noteSteering(loop);
    return end;
  } finally {
    await loop.end();
  }
}

let reference: ReturnType<typeof outcomeOf>;
/** What the last iteration was opened with. */
const knobsOf = ({ steering }: ConfigSnapshot) => steering!.knobs.map(({ knob, value }) => [knob, value]);
let knobs: ReturnType<typeof knobsOf>;
beforeAll(async () => {
  const end = await runOnce();
  [reference, knobs] = [outcomeOf(end), knobsOf(end)];
});

test("what the first gate said has turned a knob of the second iteration", () => {
  expect(knobs.filter(([, value]) => value !== 1)).not.toEqual([]);
  expect(told).toContainEqual({ event: "HYPERPARAMETER_UPDATED", because: "EVALUATION_COMPLETED" });
});

test("the run that the others are compared with has promoted", () => {
  expect(reference.champions.filter(({ by }) => by === "gate").length).toBeGreaterThanOrEqual(1);
});

test.each(onlyThorough([1, 2]))("a seed that is %i further gives another champion", async (more) => {
  const other = outcomeOf(
    await runOnce({ plans: planned({ ...STEERED, seed: QUICK.seed + more, most_iterations: 1 }) }),
  );
  const models = reference.champions.map(({ model }) => model);
  expect(other.champions.some(({ model }) => models.includes(model))).toBe(false);
});

test("a second run with this seed gives the same champion, with every event lost and by its ticks alone", async () => {
  let heard = 0;
  const wrapUnit: LoopOptions["wrapUnit"] = (unit) => {
    const muted = deaf(ticking(TICK_MS)(unit));
    if (muted.behaviour === unit.behaviour) return unit;
    return {
      ...muted,
      behaviour: {
        ...muted.behaviour,
        handle: () => {
          heard += 1;
        },
      },
    };
  };
  const end = await runOnce({ wrapUnit });
  expect(outcomeOf(end)).toEqual(reference);
  expect(knobsOf(end)).toEqual(knobs);
  expect(heard).toBeGreaterThan(100);
});

test("with a fifth of all deliveries lost, doubled or late the champion is the same", async () => {
  const { wrap, counts } = disturbing(11, 0.2);
  expect(outcomeOf(await runOnce({ wrapUnit: (unit) => wrap(ticking(TICK_MS)(unit)) }))).toEqual(reference);
  for (const [how, times] of Object.entries(counts)) expect(times, how).toBeGreaterThan(5);
});
