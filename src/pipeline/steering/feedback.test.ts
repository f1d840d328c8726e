/** The second flow of the documents: what a gate leads to. Real units, router and SQL; the test is the gate. */
import { afterEach, describe, expect, test } from "vitest";
import { KEY, type PipelineWorld, pipelineWorld } from "../../../test/unit/pipeline/pipeline-world.ts";
import { sha } from "../../../test/unit/pipeline/player.ts";
import { createWriteSet } from "../../router/index.ts";
import { appendMatches } from "../evaluation/ledger.ts";
import { recordVerdict } from "../evaluation/verdicts.ts";
import { recordCrowning } from "../models/champion-history.ts";
import { champions } from "../models/index.ts";
import { qualities, selfplayOrders } from "../selfplay/index.ts";
import {
  CONTENT_KNOBS,
  type ConfigPlanInput,
  configs,
  type Knob,
  knobKey,
  type Segment,
  signalsOf,
  syncWork,
} from "../stage/index.ts";
import { holdKnob, steeringView } from "./console.ts";
import { gatesBefore } from "./gates.ts";
import { knobsAt } from "./knobs.ts";
import { feedbacks } from "./tables.ts";

const worlds: PipelineWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const ALL = {
  ...{ learning_rate: true, games: true, exploration: true, search: true },
  ...{ opponents: true, positions: true, window: true },
};
const selfplay = { simulations: 48, temperature: 1, noise_weight: 0.25 };
const DRAWN = { opponent_share: 0.2, archive_share: 0.2 };

async function steered(
  steering: Partial<typeof ALL> = ALL,
  everyMs = 3_600_000,
  more: Partial<ConfigPlanInput> = {},
): Promise<PipelineWorld> {
  const w = pipelineWorld({ everyMs });
  worlds.push(w);
  const plan = { games_per_iteration: 1_000, games_per_job: 100, selfplay, training: { rate: 0.002 }, steering };
  await w.plan({ ...plan, ...more });
  await w.turn("promotion", { iteration: 1 });
  const { metrics, gauntlet, feedback, exploration, scheduler, curriculum } = w.units;
  await w.runtime([scheduler(), curriculum(), metrics(), gauntlet(), feedback(), exploration()]);
  const quality = {
    score: 0.9,
    band: "excellent",
    at: 0,
    iteration: 1,
    games: 10,
    components: {},
    good_share: 1,
    poor_share: 0,
  };
  await w.write((rows) => rows.put(qualities, KEY, quality as never));
  return w;
}

/** A gate ends: its verdict is written and told. */
async function gate(w: PipelineWorld, iteration: number, elo: number): Promise<void> {
  const isPromoted = elo > 25;
  const promoted = gatesBefore(w.store, KEY).findLast(({ verdict }) => verdict === "promote");
  const opponent = promoted?.candidate ?? "m0";
  await w.write((rows) =>
    rows.apply(
      recordVerdict({
        ...{ config_key: KEY, iteration, attempt: 1, candidate: `m${iteration}`, opponent, budget: "default" },
        ...{ verdict: isPromoted ? "promote" : "reject", reason: "", blocks: 10, games: 20, score: 0.5, counts: [] },
        ...{ llr: 3, elo0: 0, elo1: 50, alpha: 0.05, beta: 0.05, redundancy: 1, normalized_elo: 0, at: w.clock.now() },
        ...{ elo, elo_low: elo - 30, elo_high: elo + 30 },
      }),
    ),
  );
  const payload = {
    config_key: KEY,
    job_id: `j${iteration}`,
    model_id: `m${iteration}`,
    games: 20,
    passed: isPromoted,
  };
  await w.driven(
    w.router.publish("EVALUATION_COMPLETED", payload as never, { source: "test", validation: "tolerant" } as never),
  );
  await w.pass(100);
}
const said = (w: PipelineWorld, name: string) => w.said(name).map(({ payload }) => payload);
const signal = (w: PipelineWorld, knob: Knob) => w.row(signalsOf[knob], knobKey(KEY, knob));
const opened = (w: PipelineWorld, iteration: number) => {
  const rows = createWriteSet(w.store);
  return knobsAt(w.store, rows, rows.get(configs, KEY)!.plan, iteration);
};

describe("EVALUATION_COMPLETED leads, by gauntlet_feedback", () => {
  test("when it was strong, to HYPERPARAMETER_UPDATED: explore less", async () => {
    const w = await steered();
    await gate(w, 1, 80);
    expect(said(w, "HYPERPARAMETER_UPDATED")).toMatchObject([
      { config_key: KEY, parameter: "exploration", value: 0.9, previous_value: 1 },
      { config_key: KEY, parameter: "opponents", value: 0.9, previous_value: 1 },
    ]);
    expect(signal(w, "exploration")).toMatchObject({ value: 0.9, author: "exploration_scheduler", iteration: 2 });
    expect(opened(w, 2)).toEqual({ exploration: 0.9, opponents: 0.9 });
    expect(said(w, "SELFPLAY_TARGET_UPDATED").filter(({ target_games }) => target_games !== 1_000)).toEqual([]);
  });

  test("when it was weak, to SELFPLAY_TARGET_UPDATED: more games; and twice in a row to smaller steps", async () => {
    const w = await steered();
    await gate(w, 1, -20);
    expect(said(w, "SELFPLAY_TARGET_UPDATED").at(-1)).toMatchObject({
      target_games: 1_200,
      previous_target_games: 1_000,
    });
    expect(said(w, "HYPERPARAMETER_UPDATED")).toMatchObject([{ parameter: "opponents", value: 1.2 }]);
    await gate(w, 2, -20);
    expect(said(w, "HYPERPARAMETER_UPDATED").slice(1)).toMatchObject([
      { parameter: "learning_rate", value: 0.8, previous_value: 1 },
      { parameter: "window", value: 0.9, previous_value: 1 },
      { parameter: "opponents", previous_value: 1.2 },
    ]);
    expect(signal(w, "games")!.value).toBeGreaterThan(1.3);
    expect(opened(w, 3)).toMatchObject({ learning_rate: 0.8, window: 0.9 });
  });

  test("on a plateau, to CURRICULUM_ADVANCED once, and to a boost of exploration and search", async () => {
    const w = await steered();
    for (let n = 1; n <= 14; n += 1) await gate(w, n, 0);
    await w.pass(1_000);
    expect(said(w, "PLATEAU_DETECTED")).toMatchObject([{ metric_name: "elo" }]);
    expect(said(w, "CURRICULUM_ADVANCED")).toMatchObject([{ tier: "tier-1", previous_tier: "tier-0" }]);
    expect(said(w, "EXPLORATION_BOOST")).toMatchObject([{ config_key: KEY, boost_factor: 1.2, boost_games: 4_000 }]);
    const adjusted = said(w, "EXPLORATION_ADJUSTED");
    expect(Object.keys(adjusted[0]!).sort()).toEqual([
      "config_key",
      "exploration_temp_boost",
      "mcts_budget_multiplier",
      "position_difficulty",
      "quality_score",
      "trend",
    ]);
    expect(adjusted[0]).toMatchObject({
      quality_score: 0.9,
      position_difficulty: "medium-hard",
      exploration_temp_boost: 1.2,
    });
    expect(opened(w, 15)!.search).toBeGreaterThan(1.2);
    expect(opened(w, 15)!.positions).toBe(opened(w, 15)!.search);
    expect(w.row(feedbacks)).toMatchObject({ plateau: true, difficulty: "hard" });
  });

  test("to nothing that changes games where the plan does not steer", async () => {
    const w = await steered({});
    for (let n = 1; n <= 13; n += 1) await gate(w, n, n < 3 ? 80 : 0);
    for (const name of ["HYPERPARAMETER_UPDATED", "EXPLORATION_BOOST", "EXPLORATION_ADJUSTED", "SCHEDULER_REGISTERED"])
      expect(said(w, name), name).toEqual([]);
    for (const knob of CONTENT_KNOBS) expect(signal(w, knob), knob).toBeUndefined();
    expect(opened(w, 14)).toBeUndefined();
  });
});

describe("what an iteration is opened with", () => {
  test("follows from gates before it: later gates, time and lost events change nothing", async () => {
    const [told, deaf] = [await steered(), await steered()];
    for (let n = 1; n <= 14; n += 1) await gate(told, n, n % 3 === 0 ? 60 : -10);
    await deaf.pass(50_000_000);
    for (let n = 1; n <= 20; n += 1) await gate(deaf, n, n <= 14 ? (n % 3 === 0 ? 60 : -10) : 200);
    for (let n = 1; n <= 15; n += 1) expect(opened(deaf, n)).toEqual(opened(told, n));
    expect(opened(told, 15)).not.toEqual(opened(deaf, 21));
  });

  test("is what the order of its games and the job of its training are made of", async () => {
    const w = await steered({}, 1_000);
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay", { iteration: 2, knobs: { games: 1.5, exploration: 0.8, search: 2 } });
    await w.pass(2_500);
    const order = w.row(selfplayOrders)!;
    expect(order.parameters).toEqual({ simulations: 96, temperature: 0.8, noise_weight: 0.2 });
    expect(order.parts.reduce((sum, { games }) => sum + games, 0)).toBe(1_500);
    expect(said(w, "SELFPLAY_TARGET_UPDATED").at(-1)).toMatchObject({ target_games: 1_500 });
    expect(said(w, "SELFPLAY_RATE_CHANGED")).toMatchObject([{ rate_multiplier: 1.5, previous_rate_multiplier: 1 }]);
    // Another word meanwhile is for the next iteration.
    await w.turn("selfplay", { iteration: 2, attempt: 2, knobs: { games: 0.5 } });
    await w.pass(2_500);
    expect(w.row(selfplayOrders)).toMatchObject({ attempt: 2, parameters: order.parameters, parts: order.parts });
  });

  test("is a person's word first, within its bounds, and shows what counts now and what was said", async () => {
    const w = await steered();
    await gate(w, 1, 80);
    const by = { actor: "ann", reason: "a trial", dryRun: false };
    const ports = { router: w.router as never, store: w.store, clock: w.clock };
    for (const knob of CONTENT_KNOBS)
      for (const value of [0.4, 2.1, Number.NaN])
        await expect(w.driven(holdKnob(ports, KEY, knob, value, by)), knob).rejects.toMatchObject({
          code: "KNOB_OUT_OF_BOUNDS",
        });
    expect(opened(w, 2)).toEqual({ exploration: 0.9, opponents: 0.9 });
    await w.driven(holdKnob(ports, KEY, "exploration", 1.5, by));
    expect(opened(w, 2)).toEqual({ exploration: 1.5, opponents: 0.9 });
    const knob = steeringView(w.store).configs[0]!.knobs.find((each) => each.knob === "exploration");
    expect(knob).toMatchObject({ value: 1, on: true, held: { by: "ann" }, signal: { value: 0.9 } });
  });
});

describe("games that draw on files beside their model", () => {
  const played = (part: string): Segment => ({
    ...{ part, work_id: part, producer: "a", games: 10, rows: 100 },
    games_file: { sha256: sha(`games ${part}`), kind: "games", bytes: 1, rows: 10 },
    samples_file: { sha256: sha(`samples ${part}`), kind: "samples", bytes: 1, rows: 100 },
  });
  const accepted = (w: PipelineWorld, iteration: number, parts: readonly string[]) =>
    w.write((rows) =>
      rows.put(syncWork, KEY, {
        ...{ iteration, attempt: 1, state: "done", since: 0, ended_at: 0, jobs: {}, outputs: [], evidence: {} },
        ...{ failure: null, waits: [], own: { accepted: parts.map(played), rejected: [] } },
      } as never),
    );

  test("get the games of the last iteration and the champion before that of now, fixed when their iteration opens", async () => {
    const w = await steered({}, 1_000, { selfplay: { ...selfplay, ...DRAWN } });
    expect(opened(w, 2)).toBeUndefined();
    await gate(w, 1, 80);
    await accepted(w, 1, ["p4", "p1", "p3", "p0", "p2"]);
    const files = { opponent: "m0", archive: ["p0", "p1", "p2", "p3"].map((part) => sha(`games ${part}`)) };
    expect(opened(w, 2)).toEqual({ files });
    // Of another iteration nothing is taken.
    expect(opened(w, 3)).toEqual({ files: { opponent: "m0" } });
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay", { iteration: 2, knobs: { positions: 1.5, files } });
    await w.pass(2_500);
    const order = w.row(selfplayOrders)!;
    expect(order.parameters).toMatchObject({ opponent_share: 0.2, archive_share: 0.30000000000000004 });
    const inputs = order.inputs!.map(({ name }) => name);
    expect(inputs).toEqual(["opponent", "archive-0000", "archive-0001", "archive-0002", "archive-0003"]);
    const [job] = w.jobs("selfplay");
    expect(w.queue.payload(job!.work_id)!.inputs).toEqual([{ name: "model", sha256: order.model }, ...order.inputs!]);
  });
});

describe("tiers and related configs", () => {
  test("a model that is promoted in a harder tier than the champion before it is told once (TIER_PROMOTION)", async () => {
    const w = await steered();
    for (let n = 1; n <= 14; n += 1) await gate(w, n, n === 1 ? 60 : 0);
    expect(said(w, "TIER_PROMOTION")).toEqual([]);
    await gate(w, 15, 90);
    await gate(w, 16, 90);
    expect(said(w, "TIER_PROMOTION")).toEqual([
      { config_key: KEY, model_id: "m15", tier: "tier-1", previous_tier: "tier-0", elo: 90, games: 20 },
    ]);
  });

  test("a config that began with the network of a related one tells it once (CROSSBOARD_PROMOTION)", async () => {
    const OTHER = "othello8_2p";
    const w = await steered(ALL, 1_000);
    await gate(w, 1, 80);
    await w.write((rows) =>
      rows.apply(
        recordCrowning({
          ...{ config_key: KEY, generation: 1, model: "m1", previous: null, iteration: 1, cause: "gate" },
          ...{ by: "test", evidence: {}, at: 0 },
        }),
      ),
    );
    await w.plan({ start_from: { config_key: KEY, iteration: 1 } }, OTHER);
    await w.pass(11_000);
    expect(said(w, "CROSSBOARD_PROMOTION")).toEqual([]);
    await w.write((rows) => rows.put(champions, OTHER, { model: "first" } as never));
    await w.pass(25_000);
    expect(said(w, "CROSSBOARD_PROMOTION")).toEqual([
      { model_id: "m1", config_keys: [KEY, OTHER], elo: 80, min_elo: 50, games: 20 },
    ]);
  });

  test("what training asks for (CURRICULUM_ADVANCEMENT_NEEDED) is seen until gates have moved the config", async () => {
    const w = await steered();
    const payload = { config_key: KEY, reason: "no loss is lower" };
    await w.driven(w.router.publish("CURRICULUM_ADVANCEMENT_NEEDED", payload as never, { source: "test" } as never));
    await w.pass(100);
    expect(steeringView(w.store).configs[0]!.asked).toEqual({ iteration: 1, reason: "no loss is lower" });
    for (let n = 1; n <= 14; n += 1) await gate(w, n, 0);
    expect(said(w, "CURRICULUM_ADVANCED")).toHaveLength(1);
    expect(steeringView(w.store).configs[0]!.asked).toBeNull();
  });
});

describe("an opponent that a champion has mastered", () => {
  const rated = (w: PipelineWorld, work_id: string, opponent: string, score: number) =>
    w.write((rows) =>
      rows.apply(
        appendMatches({
          ...{ config_key: KEY, budget: "default", purpose: "rating", work_id, candidate: "champion", opponent, at: 0 },
          blocks: Array.from({ length: 64 }, (_, block) => ({ block, opening: `${block}`, scores: [score, score] })),
        }),
      ),
    );

  test("is told once by rating games, shows, and turns no knob", async () => {
    const w = await steered(ALL, 1_000);
    await w.write((rows) =>
      rows.put(champions, KEY, {
        ...{ model: "champion", since: 0, iteration: 1, generation: 1, cause: "gate", evidence: {}, by: "test" },
      } as never),
    );
    await rated(w, "w1", "even", 0.5);
    await rated(w, "w2", "weak", 1);
    await w.pass(5_000);
    expect(said(w, "OPPONENT_MASTERED")).toEqual([
      { config_key: KEY, opponent: "weak", model_id: "champion", games: 128, win_rate: 1 },
    ]);
    expect(steeringView(w.store).configs[0]!.mastered).toMatchObject([{ opponent: "weak", model_id: "champion" }]);
    expect(opened(w, 2)).toBeUndefined();
  });
});
