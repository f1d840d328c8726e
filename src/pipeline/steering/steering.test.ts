import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { rounds } from "../../../test/support/thorough.ts";
import { KEY, type PipelineWorld, pipelineWorld } from "../../../test/unit/pipeline/pipeline-world.ts";
import { recordVerdict } from "../evaluation/verdicts.ts";
import { recordCheck, recordCrowning } from "../models/champion-history.ts";
import { allocations } from "../selfplay/index.ts";
import { knobKey, signals } from "../stage/index.ts";
import { holdKnob, steeringView } from "./console.ts";

const OTHER = "hex7_2p";
const worlds: PipelineWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Two configs that play, with the units that weigh them and that divide self-play. */
async function twoConfigs(everyMs = 1_000): Promise<PipelineWorld> {
  const w = pipelineWorld({ everyMs });
  worlds.push(w);
  for (const key of [KEY, OTHER]) {
    await w.plan({ games_per_iteration: 1_000, steering: { share: true } }, key);
    await w.turn("selfplay", { iteration: 3, key });
  }
  await w.runtime([w.units.curriculum(), w.units.scheduler()]);
  return w;
}

const gate = (w: PipelineWorld, config_key: string, iteration: number, elo: number, isPromoted = elo > 0) =>
  w.write((rows) =>
    rows.apply(
      recordVerdict({
        ...{ config_key, iteration, attempt: 1, candidate: `m${iteration}`, opponent: "c", budget: "default" },
        ...{ verdict: isPromoted ? "promote" : "reject", reason: "", blocks: 10, games: 20, score: 0.5, counts: [] },
        ...{ llr: 3, elo0: 0, elo1: 50, alpha: 0.05, beta: 0.05, redundancy: 1, normalized_elo: 0, at: 0 },
        ...{ elo, elo_low: elo - 20, elo_high: elo + 20 },
      }),
    ),
  );
const learn = async (w: PipelineWorld) => {
  for (const [n, elo] of [90, 100, 110].entries()) await gate(w, KEY, n + 1, elo);
  for (const [n, elo] of [-2, 1, -1].entries()) await gate(w, OTHER, n + 1, elo, false);
  await w.pass(2_500);
};
const share = (w: PipelineWorld, key: string) => w.row(allocations, key)!.share;
const signal = (w: PipelineWorld, key: string) => w.row(signals, knobKey(key, "share"));
const ports = (w: PipelineWorld) => ({ router: w.router as never, store: w.store, clock: w.clock });
const byHand = { actor: "ann", reason: "a trial", dryRun: false };

describe("curriculum_integration", () => {
  test("says nothing before gates have ended: both configs get the same", async () => {
    const w = await twoConfigs();
    await w.pass(2_500);
    expect(signal(w, KEY)).toBeUndefined();
    expect(share(w, KEY)).toBeCloseTo(share(w, OTHER), 10);
    expect(w.said("WEIGHT_UPDATED")).toEqual([]);
  });

  test("gives more of self-play to what learns, within its bounds, with evidence", async () => {
    const w = await twoConfigs();
    await learn(w);
    expect(signal(w, KEY)).toMatchObject({ low: 0.5, high: 2, author: "curriculum_integration", iteration: 3 });
    expect(signal(w, KEY)!.evidence).toMatchObject({ gates: 3, velocity: 100 });
    expect(signal(w, OTHER)!.value).toBe(0.5);
    expect(share(w, KEY)).toBeGreaterThan(0.6);
    expect(share(w, KEY) + share(w, OTHER)).toBeCloseTo(1, 10);
    expect(w.row(allocations)!.reasons).toContainEqual(expect.objectContaining({ name: "curriculum" }));
  });

  test("changes no share where the plan does not say so, as it is by default", async () => {
    const w = await twoConfigs();
    for (const key of [KEY, OTHER]) await w.plan({ games_per_iteration: 1_000 }, key);
    await learn(w);
    expect(signal(w, KEY)).toBeUndefined();
    expect(share(w, KEY)).toBeCloseTo(share(w, OTHER), 10);
    expect(steeringView(w.store).configs[0]!.knobs[0]).toMatchObject({ knob: "share", value: 1, on: false });
    expect(w.said("WEIGHT_UPDATED")).toEqual([]);
  });

  test("tells each weight that moved, and all of them, once", async () => {
    const w = await twoConfigs();
    await learn(w);
    await w.pass(10_000);
    expect(
      w
        .said("WEIGHT_UPDATED")
        .map(({ payload }) => payload.config_key)
        .sort(),
    ).toEqual([OTHER, KEY].sort());
    const [told, ...more] = w.said("CURRICULUM_REBALANCED");
    expect(more).toEqual([]);
    expect(told!.payload).toMatchObject({ weights: { [OTHER]: 0.5 }, previous_weights: { [KEY]: 1, [OTHER]: 1 } });
  });

  test("looks when a gate has ended, without waiting for its next tick", async () => {
    const w = await twoConfigs(3_600_000);
    for (const [n, elo] of [90, 100].entries()) await gate(w, KEY, n + 1, elo);
    for (const n of [1, 2]) await gate(w, OTHER, n, 0, false);
    const payload = { config_key: KEY, model_id: "m2", reason: "weaker" };
    await w.driven(
      w.router.publish("PROMOTION_REJECTED", payload as never, { source: "test", validation: "tolerant" } as never),
    );
    await w.pass(1_000);
    expect(share(w, KEY)).toBeGreaterThan(0.55);
  });

  test("counts a champion that was withdrawn as no gain", async () => {
    const w = await twoConfigs();
    for (const n of [1, 2]) {
      await gate(w, KEY, n, 100);
      await gate(w, OTHER, n, 100);
      await w.write((rows) => {
        const crowned = {
          config_key: KEY,
          generation: n,
          previous: null,
          iteration: n,
          cause: "gate",
          by: "t",
          evidence: {},
          at: 0,
        } as const;
        rows.apply(recordCrowning({ ...crowned, model: `m${n}` }));
        rows.apply(recordCheck({ config_key: KEY, generation: n, outcome: "regressed", details: {}, at: 0 }));
      });
    }
    await w.pass(2_500);
    expect(signal(w, KEY)!.evidence).toMatchObject({ velocity: 0 });
    expect(share(w, KEY)).toBeLessThan(share(w, OTHER));
  });
});

describe("a person's word on a knob", () => {
  test("counts before the signal, is told, and ends when it is released", async () => {
    const w = await twoConfigs();
    await learn(w);
    const before = share(w, KEY);
    await w.driven(holdKnob(ports(w), KEY, "share", 0.5, byHand));
    await w.pass(2_500);
    expect(share(w, KEY)).toBeLessThan(0.55);
    expect(w.said("CURRICULUM_UPDATED").at(-1)!.payload).toMatchObject({
      config_key: KEY,
      weight: 0.5,
      reason: "held by ann: a trial",
    });
    const [config] = steeringView(w.store).configs.filter(({ config_key }) => config_key === KEY);
    expect(config!.knobs[0]).toMatchObject({ knob: "share", value: 0.5, held: { by: "ann", reason: "a trial" } });
    await w.driven(holdKnob(ports(w), KEY, "share", null, byHand));
    await w.pass(2_500);
    expect(share(w, KEY)).toBeCloseTo(before, 10);
  });

  test("changes nothing in a dry run, out of bounds, or where it says nothing new", async () => {
    const w = await twoConfigs();
    const held = await w.driven(holdKnob(ports(w), KEY, "share", 2, { ...byHand, dryRun: true }));
    expect(held).toEqual({
      config_key: KEY,
      applied: false,
      changes: [{ what: "share held at", before: null, after: 2 }],
    });
    for (const value of [0, 0.49, 2.1, Number.NaN])
      await expect(w.driven(holdKnob(ports(w), KEY, "share", value, byHand))).rejects.toMatchObject({
        code: "KNOB_OUT_OF_BOUNDS",
      });
    await expect(w.driven(holdKnob(ports(w), "chess_2p", "share", 1, byHand))).rejects.toMatchObject({
      code: "CONFIG_NOT_FOUND",
    });
    expect((await w.driven(holdKnob(ports(w), KEY, "share", null, byHand))).changes).toEqual([]);
    expect(steeringView(w.store).configs.flatMap(({ knobs }) => knobs.filter(({ held }) => held !== null))).toEqual([]);
  });
});

describe("a storm of events", () => {
  const STEERING = [
    ...["CURRICULUM_REBALANCED", "CURRICULUM_ADVANCED", "CURRICULUM_UPDATED", "CURRICULUM_ADVANCEMENT_NEEDED"],
    ...[
      "WEIGHT_UPDATED",
      "SELFPLAY_RATE_CHANGED",
      "SELFPLAY_TARGET_UPDATED",
      "HYPERPARAMETER_UPDATED",
      "TIER_PROMOTION",
    ],
    ...[
      "EXPLORATION_BOOST",
      "EXPLORATION_ADJUSTED",
      "OPPONENT_MASTERED",
      "PLATEAU_DETECTED",
      "ADAPTIVE_PARAMS_CHANGED",
    ],
    ...["ELO_UPDATED", "ELO_VELOCITY_CHANGED", "EVALUATION_COMPLETED", "CROSSBOARD_PROMOTION", "P2P_SELFPLAY_SCALED"],
  ];
  const hostile = fc.record({
    event: fc.constantFrom(...STEERING),
    config_key: fc.constantFrom(KEY, OTHER, "nobody_2p"),
    number: fc.constantFrom(1e9, -1e9, 0, 0.5, 1e-300),
    elo: fc.constantFrom(-4_000, 0, 4_000),
    words: fc.string({ maxLength: 20 }),
  });

  test("moves no share below its floor or above its cap, and no weight out of its bounds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { minLength: 20, maxLength: 40 }), async (storm) => {
        const w = await twoConfigs(3_600_000);
        await w.runtime([w.units.gauntlet(), w.units.feedback(), w.units.exploration(), w.units.metrics()]);
        for (const [n, { event, config_key, number, elo, words }] of storm.entries()) {
          const own = { config_key, config_keys: [KEY, config_key], reason: words, model_id: `m${n}`, job_id: `j${n}` };
          const claims = {
            ...{ weight: number, previous_weight: number, weights: { [KEY]: number }, rate_multiplier: number },
            ...{ boost_factor: number, boost_games: 1e9, target_games: 1e9, value: number, elo, elo_per_day: number },
            ...{
              parameter: "share",
              parameters: { share: number },
              tier: words,
              jobs: 1e6,
              win_rate: 1,
              opponent: words,
            },
          };
          await gate(w, config_key === OTHER ? OTHER : KEY, n + 1, elo);
          const how = { source: "storm", validation: "tolerant" };
          // What its schema refuses is stopped at the door; all the rest is heard.
          await w.driven(w.router.publish(event, { ...own, ...claims } as never, how as never)).catch((thrown) => {
            expect(thrown).toMatchObject({ code: "INVALID_PAYLOAD" });
          });
        }
        await w.pass(1_000);
        // Half of an equal share is everybody's; the cap is what the other one's floor leaves.
        for (const key of [KEY, OTHER]) {
          expect(share(w, key)).toBeGreaterThanOrEqual(0.25);
          expect(share(w, key)).toBeLessThanOrEqual(0.75);
          const weight = signal(w, key)?.value ?? 1;
          expect(weight).toBeGreaterThanOrEqual(0.5);
          expect(weight).toBeLessThanOrEqual(2);
        }
        expect(share(w, KEY) + share(w, OTHER)).toBeCloseTo(1, 10);
        await worlds.pop()!.close();
      }),
      { numRuns: rounds(3, 25) },
    );
  });

  test("the number of jobs that a config may have out is told when its share has moved (P2P_SELFPLAY_SCALED)", async () => {
    const w = await twoConfigs();
    const figures: unknown[] = [];
    w.router.subscribe(
      "METRICS_UPDATED",
      ({ payload }) => void figures.push((payload as { metrics: unknown }).metrics),
    );
    await w.runtime([w.units.metrics()]);
    await w.pass(2_500);
    const first = w.said("P2P_SELFPLAY_SCALED").filter(({ payload }) => payload.config_key === KEY);
    expect(first).toMatchObject([{ payload: { jobs: 32, previous_jobs: 0 } }]);
    await learn(w);
    const { payload } = w.said("P2P_SELFPLAY_SCALED").findLast((told) => told.payload.config_key === KEY)!;
    expect(payload).toMatchObject({ previous_jobs: 32 });
    expect(payload.jobs as number).toBeGreaterThan(38);
    expect(figures).toContainEqual({ [`${KEY}_selfplay_jobs`]: payload.jobs });
  });
});
