import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  sha,
  type WorldOptions,
} from "../../../test/unit/pipeline/learning-world.ts";
import { createWriteSet } from "../../router/index.ts";
import { championHistory, checkOutcomes } from "../models/champion-history.ts";
import { ladders, ratedChampions } from "../models/index.ts";
import { modelEntries } from "../models/registry.ts";
import { championOf, promoteByHand, rollbackByHand } from "../promotion/by-hand.ts";
import { refusedRollbacks, tiers } from "../promotion/tables.ts";
import { iterations, promotionWork, rebuildRows } from "../stage/index.ts";
import { falsePromotions } from "../statistics/index.ts";
import { rollbacks } from "../training/tables.ts";
import { gamesByPurpose, pairTallies } from "./ledger.ts";
import { ratingWork } from "./rating-budget.ts";
import { regressions } from "./regressions.ts";
import { gateTallies } from "./verdicts.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const open = async (options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld(options);
  worlds.push(world);
  return world;
};
const ANCHORS = { random: -400, "mcts-100": 100, "mcts-1000": 500 };
const withAnchors = async (options: WorldOptions = {}): Promise<LearningWorld> => {
  const w = await open({ anchors: () => Object.keys(ANCHORS), ...options });
  for (const [name, elo] of Object.entries(ANCHORS)) w.strengths.set(name, elo);
  return w;
};
const ports = (w: LearningWorld) => ({ router: w.router as never, store: w.store, clock: w.clock });
const laddersOf = (w: LearningWorld, configKey: string = w.configKey) =>
  createWriteSet(w.store)
    .list(ladders)
    .map(([, ladder]) => ladder)
    .filter(({ config_key }) => config_key === configKey);
/** After so long in one stage, games beside the stages are played in it. */
const LONG_STAGE_MS = 31_000;
const byHand = { by: "alice", reason: "it looked good" };
/** A model of the registry that is so strong, put there by a person. */
const force = async (w: LearningWorld, model: string, elo: number) => {
  w.strengths.set(model, elo);
  await w.driven(promoteByHand(ports(w), { configKey: w.configKey, model, ...byHand }));
  await w.pass(1_100);
};

describe("elo_service", () => {
  test("plays rating games within their share, and ranks champions among the anchors with intervals", async () => {
    const w = await withAnchors({ plan: { rating_share: 0.4, games_per_iteration: 400 } });
    await w.first();
    for (let i = 1; i <= 3; i += 1) {
      await w.round(i, 150);
      await w.pass(LONG_STAGE_MS);
      await w.work();
    }
    const { gate, rating, regression } = gamesByPurpose(w.store, w.configKey);
    expect(rating).toBeGreaterThan(100);
    expect(rating + regression).toBeLessThanOrEqual(0.4 * (gate + rating + regression + 3 * 400));
    const [ladder] = laddersOf(w);
    expect(ladder).toMatchObject({ budget: "default", zero: "mcts-100", games: rating });
    const elo = (player: string) => ladder!.players.find((rated) => rated.player === player)!;
    expect(elo("mcts-100").elo).toBe(0);
    expect(elo("random").high).toBeLessThan(0);
    const [current] = championHistory(w.store, w.configKey);
    expect(elo(current!.model).low).toBeGreaterThan(elo("random").high);
    const history = ratedChampions(w.store, w.configKey, "default");
    expect(history.at(-1)).toMatchObject({ model_id: current!.model });
    expect(w.said("ELO_UPDATED").length).toBeGreaterThan(0);
    expect(w.said("ELO_UPDATED").at(-1)?.payload).toMatchObject({
      model_id: current!.model,
      elo_low: expect.any(Number),
      elo_high: expect.any(Number),
    });
    expect(w.said("ELO_SIGNIFICANT_CHANGE").length).toBeGreaterThan(0);
    expect(w.row(tiers)?.passed.map(({ tier }) => tier)).toContain("random");
    expect(falsePromotions(gateTallies(w.store, w.configKey))).toMatchObject({ gates: 3, promotions: 3 });
    expect(w.troubles()).toEqual([]);
  });

  test("orders games of low urgency, baselines by name and models by hash, each with a seed of its own", async () => {
    const w = await withAnchors({
      plan: { rating_share: 0.5, games_per_iteration: 1_000 },
      only: ["elo_service", "training_coordinator", "auto_promotion"],
    });
    const champion = await w.first();
    await w.turn("selfplay", 1);
    await w.pass(1_100);
    expect(await w.claim("evaluation")).toBeUndefined();
    expect(w.row(ratingWork)?.waits).toMatchObject([{ for: "quiet_time" }]);
    await w.pass(LONG_STAGE_MS);
    const [one, two] = [await w.claim("evaluation"), await w.claim("evaluation")];
    expect(one).toMatchObject({ urgency: "low" });
    expect(inputOf(one!)).toMatchObject({
      parameters: { candidate: champion, opponent: "mcts-100", blocks: 8 },
      inputs: [{ name: "candidate", sha256: champion }],
    });
    expect(inputOf(two!)).toMatchObject({ parameters: { candidate: "random", opponent: "mcts-100" }, inputs: [] });
    expect(inputOf(one!).seed).not.toBe(inputOf(two!).seed);
  });

  test("never mixes search budgets", async () => {
    const w = await withAnchors({
      plan: { rating_share: 0.4, games_per_iteration: 200, evaluation: { simulations: 48 } },
    });
    await w.first();
    await w.round(1, 200);
    await w.pass(LONG_STAGE_MS);
    await w.work();
    const before = pairTallies(w.store, w.configKey, "simulations=48", "rating");
    await w.driven(
      w.change((rows) => {
        const { configs } = { configs: { table: "pipeline_configs" } };
        const row = rows.get<{ plan: typeof w.plan; paused: null }>(configs as never, w.configKey)!;
        rows.put(configs as never, w.configKey, {
          ...row,
          plan: { ...row.plan, games_per_iteration: 500, evaluation: { simulations: 96 } },
        } as never);
      }),
    );
    await w.pass(1_100);
    await w.work();
    expect(pairTallies(w.store, w.configKey, "simulations=48", "rating")).toEqual(before);
    expect(laddersOf(w).map(({ budget }) => budget)).toEqual(["simulations=48", "simulations=96"]);
  });

  test("a player that cannot play is left out after a few tries, and the others go on", async () => {
    const w = await withAnchors({
      plan: { rating_share: 0.5, games_per_iteration: 2_000 },
      only: ["elo_service", "training_coordinator", "auto_promotion"],
    });
    await w.first();
    await w.turn("selfplay", 1);
    await w.pass(LONG_STAGE_MS);
    for (let i = 0; i < 40; i += 1) {
      const lease = await w.claim("evaluation");
      if (lease === undefined) {
        await w.pass(1_100);
        continue;
      }
      const { candidate, opponent } = inputOf(lease).parameters;
      if (candidate === "mcts-1000" || opponent === "mcts-1000")
        await w.queue.fail(lease, { class: "bad_input", error: "no such baseline", error_code: "WORKLOAD_BAD_INPUT" });
      else await w.finish(lease);
      await w.pass(100);
    }
    expect(w.row(ratingWork)?.failures["mcts-1000"]).toBe(3);
    const players = laddersOf(w)[0]!.players.map(({ player }) => player);
    expect(players).toEqual(expect.arrayContaining(["random", "mcts-100"]));
    expect(players).not.toContain("mcts-1000");
  });

  test("three players have their ladder too", async () => {
    const w = await withAnchors({ configKey: "ring_3p", plan: { rating_share: 0.4, games_per_iteration: 400 } });
    await w.first();
    await w.round(1, 250);
    await w.pass(LONG_STAGE_MS);
    await w.work();
    const [ladder] = laddersOf(w, "ring_3p");
    const champion = championOf(w.store, "ring_3p")!.model;
    expect(ladder!.players.find(({ player }) => player === champion)!.elo).toBeGreaterThan(0);
    expect(w.troubles()).toEqual([]);
  });
});

describe("model_performance_watchdog and model_rollback", () => {
  test("a champion through a gate is checked with a few games and passes", async () => {
    const w = await open({ plan: { rating_share: 0.4, games_per_iteration: 400 } });
    await w.first();
    await w.round(1, 200);
    await w.pass(LONG_STAGE_MS);
    await w.work();
    expect(w.row(regressions)).toMatchObject({ generation: 2, gated: true, severity: "none" });
    expect(["passed", "cleared"]).toContain(w.row(regressions)!.state);
    expect(checkOutcomes(w.store, w.configKey).get(2)).toBe(w.row(regressions)!.state);
    expect(w.said("REGRESSION_DETECTED")).toEqual([]);
  });

  test("a weak model that a person forced in is found by games and withdrawn for the last good one, with its reason", async () => {
    const w = await open();
    await w.first();
    const good = await w.round(1, 200);
    const weak = await w.trained(2, 0);
    await w.pass(2_100);
    await force(w, weak, -200);
    expect(w.champion()).toMatchObject({ model: weak, cause: "hand", by: "alice" });
    expect(w.queue.list({ workType: "evaluation", state: "pending" }).some(({ urgency }) => urgency === "high")).toBe(
      true,
    );
    await w.work(1_000, () => w.champion()?.cause === "rollback");
    expect(w.champion()).toMatchObject({ model: good, generation: 4, cause: "rollback", by: "model_rollback" });
    expect(w.champion()?.evidence.reason).toMatch(/Elo .* over \d+ blocks against/);
    expect(w.said("PROMOTION_ROLLED_BACK")).toMatchObject([{ payload: { model_id: weak, restored_model_id: good } }]);
    expect(w.said("TRAINING_ROLLBACK_NEEDED")).toMatchObject([{ payload: { model_id: weak } }]);
    expect(w.said("TRAINING_ROLLBACK_COMPLETED")).toMatchObject([{ payload: { restored_model_id: good } }]);
    await w.pass(2_100);
    expect(w.said("REGRESSION_CLEARED")).toMatchObject([{ payload: { model_id: good } }]);
    const withdrawn = modelEntries(w.store).filter(({ state }) => state === "rolled_back");
    expect(withdrawn).toMatchObject([{ model: weak, config_key: w.configKey }]);
    expect(w.row(rollbacks)?.checkpoint).toBe(modelEntries(w.store).find(({ model }) => model === good)?.checkpoint);
    await w.trained(3, 0);
    expect(modelEntries(w.store)[0]).toMatchObject({ iteration: 3, base_checkpoint: w.row(rollbacks)!.checkpoint });
    await expect(
      w.driven(promoteByHand(ports(w), { configKey: w.configKey, model: weak, ...byHand })),
    ).rejects.toMatchObject({ code: "MODEL_WITHDRAWN" });
    expect(w.troubles()).toEqual([]);
  });

  test("a strong model that a person forced in is cleared and stays", async () => {
    const w = await open();
    await w.first();
    const strong = await w.trained(1, 0);
    await w.pass(2_100);
    await force(w, strong, 250);
    await w.work(1_000, () => w.row(regressions)?.state !== "watching");
    expect(w.row(regressions)?.state).toBe("cleared");
    expect(w.champion()?.model).toBe(strong);
  });

  test("a champion that cannot play even itself is broken, and withdrawn at once", async () => {
    const w = await open();
    const good = await w.first();
    const broken = await w.trained(1, 0);
    await w.pass(2_100);
    await force(w, broken, 0);
    for (let i = 0; i < 20 && w.champion()?.model === broken; i += 1) {
      const lease = await w.claim("evaluation");
      if (lease === undefined) await w.pass(1_100);
      else
        await w.queue.fail(lease, { class: "bad_input", error: "its weights are NaN", error_code: "ARENA_NOT_FINITE" });
    }
    expect(w.champion()).toMatchObject({ model: good, cause: "rollback" });
    expect(w.said("REGRESSION_CRITICAL")).toMatchObject([
      { payload: { model_id: broken, reason: expect.stringContaining("nan") } },
    ]);
  });

  test("an opponent that cannot play is not held against the champion", async () => {
    const w = await open();
    const oldest = await w.first();
    const bad = await w.round(1, 200);
    const forced = await w.trained(2, 0);
    await w.pass(2_100);
    await force(w, forced, 300);
    for (let i = 0; i < 200 && w.row(regressions)?.state === "watching"; i += 1) {
      const lease = await w.claim("evaluation");
      if (lease === undefined) await w.pass(1_100);
      else if (inputOf(lease).parameters.opponent === bad || inputOf(lease).parameters.candidate === bad)
        await w.queue.fail(lease, { class: "bad_input", error: "it is corrupt", error_code: "ARENA_FILE_CORRUPT" });
      else await w.finish(lease);
      await w.pass(100);
    }
    expect(w.row(regressions)).toMatchObject({ state: "cleared", baseline: oldest, excluded: [bad] });
    expect(w.champion()?.model).toBe(forced);
  });

  /** As `auto_export_daemon` writes it down when nobody can make a file again. */
  const lostForGood = (w: Awaited<ReturnType<typeof open>>, file: string) =>
    w.driven(
      w.change((rows) =>
        rows.put(rebuildRows, w.configKey, {
          rebuilds: {
            origin: {
              files: [file],
              what: "a model",
              state: "lost",
              job: null,
              times: 1,
              tries: 3,
              shunned: [],
              why: "its inputs are gone",
              since: w.clock.now(),
              ended_at: w.clock.now(),
            },
          },
          awaited: {},
        }),
      ),
    );

  test("a damaged file is made again, and only one that is lost for good costs the champion its place", async () => {
    const w = await open();
    const good = await w.first();
    const champion = await w.round(1, 200);
    await w.pass(2_100);
    await w.driven(
      w.router
        .publish(
          "MODEL_CORRUPTED",
          { model_id: champion, node_id: "n1", artifact_hash: champion, damage: "checksum" },
          { source: "test" },
        )
        .then((event) => w.router.settled(event)),
    );
    await w.pass(2_100);
    expect(w.champion()).toMatchObject({ model: champion, cause: "gate" });
    await lostForGood(w, champion);
    await w.pass(2_100);
    expect(w.champion()).toMatchObject({ model: good, cause: "rollback" });
    const entry = modelEntries(w.store).find(({ model }) => model === champion)!;
    expect(entry).toMatchObject({
      state: "rolled_back",
      corrupted: { damage: "checksum", rebuild: { work_id: entry.work_id } },
    });
  });

  test("without a good one to go back to nothing is withdrawn, and it is said what is missing", async () => {
    const w = await open();
    const only = await w.first();
    await w.pass(2_100);
    await w.driven(
      w.router
        .publish(
          "MODEL_CORRUPTED",
          { model_id: only, node_id: "n1", artifact_hash: only, damage: "missing" },
          { source: "test" },
        )
        .then((event) => w.router.settled(event)),
    );
    await lostForGood(w, only);
    await w.pass(3_100);
    expect(w.champion()).toMatchObject({ model: only, generation: 1 });
    expect(w.row(refusedRollbacks)).toMatchObject({
      generation: 1,
      waits: [{ for: "rollback", about: { refused: "no_good_champion" } }],
    });
    expect(w.said("PROMOTION_ROLLED_BACK")).toEqual([]);
  });

  test("rounds of self-play that fail after a crowning have the champion tried", async () => {
    const w = await open({ plan: { rating_share: 0 } });
    await w.first();
    await w.round(1, 200);
    const failure = {
      iteration: 1,
      stage: "selfplay" as const,
      attempt: 1,
      code: "X",
      message: "it crashed",
      retryable: true,
    };
    await w.driven(
      w.change((rows) => {
        const row = rows.get(iterations, w.configKey)!;
        const at = w.clock.now() + 1;
        rows.put(iterations, w.configKey, {
          ...row,
          failures: [
            { ...failure, at },
            { ...failure, attempt: 2, at },
          ],
        });
      }),
    );
    await w.pass(1_100);
    const lease = (await w.claim("evaluation"))!;
    expect(inputOf(lease).parameters).toMatchObject({
      candidate: w.champion()!.model,
      opponent: w.champion()!.model,
      blocks: 1,
    });
    await w.queue.start(lease);
    await w.queue.fail(lease, { class: "bad_input", error: "crashed" });
    await w.pass(2_100);
    expect(w.champion()?.cause).toBe("rollback");
  });
});

describe("orders of people", () => {
  test("a dry run says what would happen and changes nothing", async () => {
    const w = await open();
    const old = await w.first();
    const better = await w.round(1, 200);
    const other = await w.trained(2, 0);
    await w.pass(2_100);
    const before = w.store.read("SELECT * FROM champion_history");
    expect(
      await promoteByHand(ports(w), { configKey: w.configKey, model: other, ...byHand, dryRun: true }),
    ).toMatchObject({ model: other, previous: better });
    expect(await rollbackByHand(ports(w), { configKey: w.configKey, ...byHand, dryRun: true })).toMatchObject({
      restored: old,
      withdrawn: better,
    });
    expect(w.store.read("SELECT * FROM champion_history")).toEqual(before);
    expect(w.champion()?.model).toBe(better);
  });

  test("a rollback by hand restores the last good one, and the model it withdrew does not come back", async () => {
    const w = await open();
    const old = await w.first();
    const better = await w.round(1, 200);
    await w.driven(rollbackByHand(ports(w), { configKey: w.configKey, ...byHand }));
    expect(w.champion()).toMatchObject({ model: old, cause: "rollback", by: "alice" });
    expect(w.said("PROMOTION_ROLLED_BACK")).toMatchObject([
      { payload: { model_id: better, reason: "it looked good" } },
    ]);
    await expect(w.driven(rollbackByHand(ports(w), { configKey: w.configKey, ...byHand }))).rejects.toMatchObject({
      code: "ROLLBACK_REFUSED",
    });
  });

  test("what does not exist is refused with a hint", async () => {
    const w = await open();
    await w.first();
    await w.pass(2_100);
    const order = (model: string, configKey = w.configKey) => promoteByHand(ports(w), { configKey, model, ...byHand });
    await expect(order("0".repeat(64))).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
    await expect(order(sha("x"), "nothing_2p" as never)).rejects.toMatchObject({
      code: "CONFIG_NOT_FOUND",
      hint: expect.stringContaining("tictac_2p"),
    });
    await expect(w.driven(order(w.champion()!.model))).rejects.toMatchObject({ code: "ALREADY_CHAMPION" });
  });

  test("a verdict about a champion that is none any more promotes nobody", async () => {
    const w = await open();
    await w.first();
    const forced = await w.round(1, -300);
    const candidate = await w.trained(2, 300);
    await w.evaluated(2);
    await w.pass(2_100);
    await w.driven(promoteByHand(ports(w), { configKey: w.configKey, model: forced, ...byHand }));
    await w.turn("promotion", 2);
    expect(w.row(promotionWork)).toMatchObject({
      state: "done",
      own: { promoted: false, model: candidate },
      evidence: { decision: "overtaken" },
    });
    expect(w.champion()?.model).toBe(forced);
    expect(w.said("PROMOTION_FAILED")).toMatchObject([
      { payload: { error_code: "CHAMPION_CHANGED", model_id: candidate } },
    ]);
  });
});
