/** The daemon types whose work the units of the closed loop do. */
import { regressions } from "../../../src/pipeline/evaluation/regressions.ts";
import { ladders } from "../../../src/pipeline/models/index.ts";
import { allocations } from "../../../src/pipeline/selfplay/index.ts";
import { evaluationWork, iterations } from "../../../src/pipeline/stage/index.ts";
import { trainingGates } from "../../../src/pipeline/training/tables.ts";
import { createWriteSet } from "../../../src/router/index.ts";
import { broughtPin, importedAs } from "../../../src/sync/brought/names.ts";
import { freshness } from "../../../src/sync/index.ts";
import { learningWorld, type WorldOptions } from "../pipeline/learning-world.ts";
import { KEY, type PipelineWorld, type PipelineWorldOptions, pipelineWorld } from "../pipeline/pipeline-world.ts";
import type { Scene, ShownTypes } from "./scene.ts";

const HOUR = 3_600_000;
const OTHER = "hex5_2p";
type PlanOf = Parameters<PipelineWorld["plan"]>[0];
const toldBy = (w: Pick<PipelineWorld, "said">, type: string) => () => w.said(type).length;

/** Whose turn it is, by rows alone. */
async function planned(
  unit: "scheduler" | "populator" | "pipeline" | "watchdog" | "consolidation",
  options: PipelineWorldOptions = {},
) {
  const w = pipelineWorld(options);
  await w.plan();
  await w.runtime([w.units[unit]()]);
  return { ...w, manager: w.manager() };
}

async function twoConfigs(): Promise<Scene> {
  const w = await planned("scheduler");
  return {
    ...w,
    async before() {
      await w.plan({ weight: 3 }, OTHER);
      for (const key of [KEY, OTHER]) await w.turn("selfplay", { key });
    },
    live: () => w.pass(3_000),
    seen: () => [w.row(allocations)?.share, w.row(allocations, OTHER)?.share],
    idle: [undefined, undefined],
    shows: [0.375, 0.625],
  };
}

async function gamesToPlay(): Promise<Scene> {
  const w = await planned("populator");
  return {
    ...w,
    before: () => w.turn("selfplay"),
    live: () => w.pass(3_000),
    seen: () => w.jobs("selfplay").length,
    idle: 0,
    shows: 4,
  };
}

async function configWithoutIteration(): Promise<Scene> {
  const w = await planned("pipeline");
  await w.plan({}, OTHER);
  return {
    ...w,
    before: () => w.plan({}, "hex4_2p"),
    live: () => w.pass(3_000),
    seen: () => w.row(iterations, "hex4_2p")?.stage ?? "none",
    idle: "none",
    shows: "training",
  };
}

async function lateStage(): Promise<Scene> {
  const w = await planned("watchdog", { everyMs: 60_000 });
  return {
    ...w,
    before: () => w.turn("selfplay"),
    live: () => w.pass(2 * HOUR),
    seen: () => w.said("PROGRESS_STALL_DETECTED").map(({ payload }) => payload.config_key),
    shows: [KEY],
  };
}

/** Games that were brought from elsewhere. */
async function broughtGames(): Promise<Scene> {
  const w = await planned("consolidation");
  const bring = async (name: string, games: number) => {
    const { sha256, bytes } = w.player.file(`${name}.arena`, `brought ${name}`, { rows: 0, games });
    const work_id = importedAs(sha256);
    await w.write((rows) => {
      const artifacts = w.shelf.join({ rows });
      artifacts.record([
        { sha256, bytes, kind: "games", rows: games, games, config_key: KEY, producer: "elsewhere", work_id },
      ]);
      artifacts.produced(KEY, "elsewhere", work_id, games);
      artifacts.accept([sha256]);
      artifacts.pin(broughtPin(sha256), [sha256]);
    });
  };
  return {
    ...w,
    async before() {
      await bring("a", 30);
      await bring("b", 40);
    },
    live: () => w.pass(60_000),
    seen: () => w.said("CONSOLIDATION_STARTED").map(({ payload }) => payload.artifacts),
    shows: [2],
  };
}

/** All units between the first game and the training file; the games of an iteration have been played. */
async function played(plan: PlanOf = {}) {
  const w = pipelineWorld();
  await w.plan(plan);
  await w.runtime(w.allUnits());
  const play = async (iteration: number) => {
    await w.turn("selfplay", { iteration, wake: true });
    await w.pass(3_000);
    await w.workAll();
    await w.pass(3_000);
  };
  const work = async () => {
    for (let round = 0; round < 4; round += 1) {
      await w.pass(2_000);
      await w.workAll();
    }
    await w.pass(2_000);
  };
  const stage = async (name: "data_sync" | "npz_export", iteration: number) => {
    await w.turn(name, { iteration, wake: true });
    await work();
  };
  return { ...w, manager: w.manager(), play, work, stage };
}

/** Games of an iteration have come, and it is the turn of those who look at them. */
async function playedGames(event: string): Promise<Scene> {
  const w = await played();
  await w.play(1);
  return {
    ...w,
    before: () => w.turn("data_sync", { wake: true }),
    live: w.work,
    seen: () => toldBy(w, event)() > 0,
    idle: false,
    shows: true,
  };
}

async function acceptedGames(): Promise<Scene> {
  const w = await played({ holdout_share: 0.1 });
  await w.play(1);
  await w.stage("data_sync", 1);
  return {
    ...w,
    before: () => w.turn("npz_export", { wake: true }),
    live: w.work,
    seen: () => w.said("NPZ_EXPORT_COMPLETE").map(({ payload }) => payload.samples),
    shows: [360],
  };
}

/** One training file more than a window has. */
async function manyFiles(): Promise<Scene> {
  const w = await played({ games_per_iteration: 10, window: { base: 1_000_000, share: 0, most: 1_000_000 } });
  for (let iteration = 1; iteration <= 24; iteration += 1) {
    await w.play(iteration);
    await w.stage("data_sync", iteration);
    await w.stage("npz_export", iteration);
  }
  await w.play(25);
  await w.stage("data_sync", 25);
  return {
    ...w,
    before: () => w.turn("npz_export", { iteration: 25, wake: true }),
    live: w.work,
    seen: () =>
      w.said("NPZ_COMBINATION_COMPLETE").map(({ payload }) => (payload.artifact_hashes as readonly string[]).length),
    shows: [12],
  };
}

/** The units of training, evaluation and models, after the first network was made. */
async function learned(options: WorldOptions = {}) {
  const w = await learningWorld(options);
  await w.first();
  return { ...w, manager: w.manager() };
}
const TRAINING = ["training_trigger", "training_coordinator", "auto_promotion"];

async function dataToLearnFrom(): Promise<Scene> {
  const w = await learned({ only: TRAINING });
  await w.exported(1);
  return {
    ...w,
    before: () => w.turn("training", 1),
    live: () => w.pass(3_000),
    seen: () => w.row(trainingGates)?.verdict ?? "none",
    idle: "none",
    shows: "go",
  };
}

/** One iteration after the other: each asks for its run. */
async function endlessLoop(): Promise<Scene> {
  const w = await learned({ only: TRAINING });
  let iteration = 0;
  return {
    ...w,
    async live() {
      for (let n = 0; n < 3; n += 1) {
        iteration += 1;
        await w.exported(iteration);
        await w.turn("training", iteration);
        await w.work(3);
      }
    },
    seen: () => toldBy(w, "TRAINING_THRESHOLD_REACHED")() >= 3,
    idle: false,
    shows: true,
  };
}

/** A node that trains has waited long enough for what it lacks: the run takes what there is. */
async function dataThatDoesNotCome(): Promise<Scene> {
  const w = await learned({ only: TRAINING });
  await w.exported(1);
  return {
    ...w,
    async before() {
      const row = { state: "relaxed", since: w.clock.now(), node_id: "box", missing: 2, wanted: 5 };
      await w.driven(w.change((rows) => rows.put(freshness, w.configKey, row as never)));
      await w.turn("training", 1);
    },
    live: () => w.pass(3_000),
    seen: () => {
      const stored = w.row(trainingGates);
      const gate = stored?.gates.find(({ gate: name }) => name === "node_data");
      return { verdict: stored?.verdict, passed: gate?.passed, why: String(gate?.actual).includes("box") };
    },
    idle: { verdict: undefined, passed: undefined, why: false },
    shows: { verdict: "go", passed: true, why: true },
  };
}

async function candidateToJudge(): Promise<Scene> {
  const w = await learned();
  await w.trained(1, 200);
  return {
    ...w,
    before: () => w.turn("evaluation", 1),
    live: () => w.work(),
    seen: () => w.row(evaluationWork)?.state ?? "none",
    idle: "none",
    shows: "done",
  };
}

async function betterCandidate(): Promise<Scene> {
  const w = await learned();
  await w.trained(1, 200);
  await w.evaluated(1);
  return {
    ...w,
    before: () => w.turn("promotion", 1),
    live: () => w.pass(5_000),
    seen: () => w.champion()?.generation,
    idle: 1,
    shows: 2,
  };
}

/** Games beside the stages, with baselines of known strength. */
async function ratedPlayers(): Promise<Scene> {
  const strengths = { random: -400, "mcts-100": 100, "mcts-1000": 500 };
  const w = await learned({
    plan: { rating_share: 0.5, games_per_iteration: 1_000 },
    only: ["elo_service", "training_coordinator", "auto_promotion"],
    anchors: () => Object.keys(strengths),
  });
  for (const [name, elo] of Object.entries(strengths)) w.strengths.set(name, elo);
  return {
    ...w,
    before: () => w.turn("selfplay", 1),
    async live() {
      await w.pass(31_000);
      await w.work(20);
    },
    seen: () =>
      createWriteSet(w.store)
        .list(ladders)
        .flatMap(([, { players }]) => players.map(({ player }) => player))
        .includes(w.champion()!.model),
    idle: false,
    shows: true,
  };
}

async function newChampion(): Promise<Scene> {
  const w = await learned({ plan: { rating_share: 0.4, games_per_iteration: 400 } });
  await w.round(1, 200);
  return {
    ...w,
    async live() {
      await w.pass(31_000);
      await w.work();
    },
    seen: () => ["passed", "cleared"].includes(w.row(regressions)?.state ?? ""),
    idle: false,
    shows: true,
  };
}

const EXPORT = "auto_export_daemon";
const TRIGGER = "training_trigger";

export const ofLoop = {
  SELFPLAY_COORDINATOR: { unit: "selfplay_scheduler", does: "gives each config its share", open: twoConfigs },
  QUEUE_POPULATOR: { unit: "queue_populator", does: "puts the games of an iteration out", open: gamesToPlay },
  DATA_PIPELINE: { unit: "pipeline_orchestrator", does: "says whose turn it is", open: configWithoutIteration },
  PROGRESS_WATCHDOG: { unit: "progress_watchdog", does: "tells what is late", open: lateStage },
  DATA_CONSOLIDATION: { unit: "data_consolidation", does: "makes one set of what was brought", open: broughtGames },
  S3_CONSOLIDATION: {
    unit: "data_consolidation",
    does: "makes one set of what came from elsewhere",
    open: broughtGames,
  },
  QUALITY_MONITOR: {
    unit: "quality_monitor_daemon",
    does: "scores the games of an iteration",
    open: () => playedGames("QUALITY_SCORE_UPDATED"),
  },
  INTEGRITY_CHECK: {
    unit: "parity_validator",
    does: "has games played again: whole and lawful in one check",
    open: () => playedGames("PARITY_VALIDATION_COMPLETED"),
  },
  AUTO_EXPORT: { unit: EXPORT, does: "makes the training file", open: acceptedGames },
  NPZ_COMBINATION: { unit: EXPORT, does: "makes one file of many, as the second step", open: manyFiles },
  TRAINING_TRIGGER: { unit: TRIGGER, does: "asks for a run when all gates are open", open: dataToLearnFrom },
  CONTINUOUS_TRAINING_LOOP: { unit: TRIGGER, does: "asks for a run in every iteration", open: endlessLoop },
  STALE_FALLBACK: {
    unit: TRIGGER,
    does: "lets a run begin without data that does not come, and says so",
    open: dataThatDoesNotCome,
  },
  EVALUATION: { unit: "evaluation_daemon", does: "has a candidate play the champion", open: candidateToJudge },
  AUTO_PROMOTION: { unit: "auto_promotion", does: "crowns the better one", open: betterCandidate },
  UNIFIED_PROMOTION: { unit: "auto_promotion", does: "crowns the better one", open: betterCandidate },
  ELO_SYNC: { unit: "elo_service", does: "rates the champion from one ledger", open: ratedPlayers },
  TOURNAMENT_DAEMON: { unit: "elo_service", does: "has rating games played", open: ratedPlayers },
  MODEL_PERFORMANCE_WATCHDOG: { unit: "model_performance_watchdog", does: "checks a new champion", open: newChampion },
} satisfies ShownTypes;
