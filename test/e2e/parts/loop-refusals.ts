/** Rows in which each stage of the loop has a reason to say no, and what it must be heard to say. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { regressions } from "../../../src/pipeline/evaluation/regressions.ts";
import { crown } from "../../../src/pipeline/models/champion.ts";
import { ladderKey, ladders } from "../../../src/pipeline/models/ratings.ts";
import { budgetOf } from "../../../src/pipeline/models/search-budget.ts";
import {
  type Quality,
  qualities,
  type SelfplayOrder,
  selfplayOrders,
  suspects,
} from "../../../src/pipeline/selfplay/index.ts";
import {
  type ConfigPlanInput,
  type ConfigRow,
  configPlanSchema,
  configs,
  evaluationWork,
  exportWork,
  type Iteration,
  iterations,
  type Segment,
  type Stage,
  selfplayWork,
  syncWork,
  trainingWork,
} from "../../../src/pipeline/stage/index.ts";
import { beginWork } from "../../../src/pipeline/stage/work.ts";
import { trainingLocks } from "../../../src/pipeline/training/tables.ts";
import type { WriteSet } from "../../../src/router/index.ts";
import { pressures } from "../../../src/work/units/work-queue-monitor/work-queue-monitor.unit.ts";
import { artifactPath, sha256OfText } from "../../support/loop.ts";

export interface Scene {
  readonly key: string;
  readonly rows: WriteSet;
  readonly now: number;
  readonly dataDir: string;
  plan(given?: Partial<ConfigPlanInput>, paused?: ConfigRow["paused"]): void;
  at(stage: Stage, more?: Partial<Iteration>): Iteration;
}

export interface Refusal {
  readonly about: string;
  /** Who says it, and what it waits for. */
  readonly unit: string;
  readonly for: RegExp;
  readonly actual?: RegExp;
  stage(scene: Scene): void;
}

const CHAMPION = "c".repeat(64);
const CANDIDATE = "d".repeat(64);
/** More than the queue takes. */
const TOO_MUCH = { note: "x".repeat(70_000) };
const HOUR = 3_600_000;
const TRY_AGAIN = { code: "TRIED", message: "it did not work", retryable: true };

export const sceneOf = (key: string, rows: WriteSet, now: number, dataDir: string): Scene => ({
  key,
  rows,
  now,
  dataDir,
  plan: (given = {}, paused = null) =>
    rows.put(configs, key, { plan: configPlanSchema().parse({ config_key: key, ...given }), paused }),
  at(stage, more = {}) {
    const iteration: Iteration = {
      iteration: 1,
      stage,
      attempt: 1,
      state: "running",
      opened_at: now,
      stage_since: now,
      deadline: now + HOUR,
      champion: CHAMPION,
      waits: [],
      failures: [],
      not_before: null,
      ...more,
    };
    rows.put(iterations, key, iteration);
    return iteration;
  },
});

/** Work that has failed. */
const failing = (scene: Scene, retryable: boolean, before = 0) => {
  const failure = { ...TRY_AGAIN, retryable };
  const failures = Array.from({ length: before }, (_, i) => ({
    ...failure,
    iteration: 1,
    stage: "selfplay" as const,
    attempt: i + 1,
    at: scene.now,
  }));
  const iteration = scene.at("selfplay", { failures, attempt: before + 1 });
  const work = beginWork(iteration, scene.now, { segments: [], excluded: [] });
  scene.rows.put(selfplayWork, scene.key, { ...work, state: "failed", ended_at: scene.now, failure });
};

/** A batch that was played; `isKept` with its file in the store. */
const played = (scene: Scene, { isKept = false, withGames = true } = {}): Segment => {
  const text = `samples of ${scene.key}`;
  const sha256 = sha256OfText(text);
  if (isKept) {
    const path = artifactPath(scene.dataDir, sha256);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const file = (hash: string, kind: string) => ({ sha256: hash, kind, bytes: Buffer.byteLength(text), rows: 8 });
  const segment: Segment = {
    part: "p0",
    work_id: "w1",
    producer: "box",
    games: 8,
    rows: 8,
    games_file: withGames ? file(sha256OfText(`games of ${scene.key}`), "games") : null,
    samples_file: file(sha256, "samples"),
  };
  const work = beginWork(scene.at("data_sync"), scene.now, { segments: [segment], excluded: [] });
  scene.rows.put(selfplayWork, scene.key, { ...work, state: "done", ended_at: scene.now });
  return segment;
};

const ordered = ({ rows, key, now }: Scene, parameters: SelfplayOrder["parameters"] = {}) =>
  rows.put(selfplayOrders, key, {
    iteration: 1,
    attempt: 1,
    since: now,
    parts: [{ part: "p0", first_game: 0, games: 8 }],
    seed: 1,
    model: CHAMPION,
    parameters,
    wanted: ["p0"],
    whole: true,
    jobs: {},
  });

/** All that a training run needs, but for what a case takes away. */
const trainable = (
  scene: Scene,
  { windowRows = 1_000, score = 0.9 as number | null, unchecked = 0, madeAgoMs = 0, plan = {} } = {},
) => {
  const { rows, key, now } = scene;
  scene.plan(plan);
  const iteration = scene.at("training");
  const shard = { sha256: "e".repeat(64), kind: "training_set", bytes: 1, rows: windowRows };
  const own = {
    window: [{ ...shard, first_iteration: 1, last_iteration: 1, holdout: null }],
    total_rows: windowRows,
    new_rows: windowRows,
  };
  const made = now - madeAgoMs;
  rows.put(exportWork, key, { ...beginWork(iteration, made, own), state: "done", ended_at: made });
  const sync = beginWork(iteration, now, { accepted: [], rejected: [] });
  rows.put(syncWork, key, { ...sync, state: "done", ended_at: now, evidence: { unchecked_segments: unchecked } });
  const quality: Omit<Quality, "score"> = {
    band: "good",
    at: now,
    iteration: 1,
    games: 8,
    components: {},
    good_share: 1,
    poor_share: 0,
  };
  if (score !== null) rows.put(qualities, key, { ...quality, score });
};

/** A candidate that has been trained. */
const trained = (scene: Scene, plan: Partial<ConfigPlanInput> = {}, stage: Stage = "evaluation") => {
  scene.plan(plan);
  const work = beginWork(scene.at(stage), scene.now, { model: CANDIDATE, checkpoint: null });
  scene.rows.put(trainingWork, scene.key, { ...work, state: "done", ended_at: scene.now, evidence: { trained: true } });
};

const crowned = ({ rows, key, now }: Scene, model: string) =>
  crown(
    { rows, now },
    { configKey: key, model, expected: null, iteration: 0, cause: "first", by: "test", evidence: {} },
  );

export const REFUSALS: readonly Refusal[] = [
  {
    about: "a person holds it",
    unit: "pipeline_orchestrator",
    for: /^ann to resume it$/,
    actual: /machines are needed/,
    stage(scene) {
      scene.plan({}, { by: "ann", at: scene.now, reason: "the machines are needed" });
      scene.at("selfplay");
    },
  },
  {
    about: "a stage failed and is tried again",
    unit: "pipeline_orchestrator",
    for: /^another try of selfplay$/,
    actual: /it did not work/,
    stage(scene) {
      scene.plan();
      failing(scene, true);
    },
  },
  {
    about: "a stage failed too often",
    unit: "pipeline_orchestrator",
    for: /^the breaker of selfplay, open after 3 failures in a row$/,
    stage(scene) {
      scene.plan();
      failing(scene, true, 2);
    },
  },
  {
    about: "a stage failed for good",
    unit: "pipeline_orchestrator",
    for: /^a person: /,
    actual: /it did not work/,
    stage(scene) {
      scene.plan();
      failing(scene, false);
    },
  },
  {
    about: "selfplay: there is no champion",
    unit: "queue_populator",
    for: /^champion$/,
    stage(scene) {
      scene.plan();
      scene.at("selfplay", { champion: null });
    },
  },
  {
    about: "selfplay: the goal is met",
    unit: "queue_populator",
    for: /^goal$/,
    actual: /100 was wanted/,
    stage(scene) {
      const { rows, key, now } = scene;
      scene.plan({ target_elo: 100 });
      scene.at("selfplay");
      crowned(scene, CHAMPION);
      const rated = { player: CHAMPION, elo: 300, low: 200, high: 400, games: 100, anchor: false, linked: true };
      const budget = budgetOf({});
      const ladder = { config_key: key, budget, games: 0, zero: null, players: [rated], at: now };
      rows.put(ladders, ladderKey(key, budget), ladder);
    },
  },
  {
    about: "selfplay: the queue is full of its jobs",
    unit: "queue_populator",
    for: /^room_in_queue$/,
    actual: /pressure none/,
    stage(scene) {
      scene.plan({ games_per_iteration: 200, games_per_job: 1 });
      scene.at("selfplay");
    },
  },
  {
    about: "selfplay: the queue refuses the jobs",
    unit: "queue_populator",
    for: /^queue$/,
    actual: /WORK_TOO_LARGE/,
    stage(scene) {
      scene.plan({ selfplay: TOO_MUCH });
      scene.at("selfplay");
    },
  },
  {
    about: "selfplay: nobody plays",
    unit: "work_queue",
    for: /^a worker$/,
    actual: /8 jobs wait/,
    stage(scene) {
      scene.plan();
      scene.at("selfplay");
    },
  },
  {
    about: "selfplay: games are missing",
    unit: "selfplay_orchestrator",
    for: /^games$/,
    actual: /^0$/,
    stage(scene) {
      scene.plan();
      scene.at("selfplay");
    },
  },
  {
    about: "selfplay: a producer stays away",
    unit: "quality_monitor_daemon",
    for: /^producer liar$/,
    actual: /labels/,
    stage(scene) {
      scene.plan();
      scene.at("selfplay");
      scene.rows.put(suspects, scene.key, {
        liar: {
          producer: "liar",
          reasons: ["labels"],
          times: 1,
          first_iteration: 1,
          last_iteration: 1,
          until_iteration: 6,
          since: scene.now,
          accepted: [],
        },
      });
    },
  },
  {
    about: "data_sync: there are no games",
    unit: "quality_monitor_daemon",
    for: /^games$/,
    stage(scene) {
      scene.plan();
      scene.at("data_sync");
    },
  },
  {
    about: "data_sync: files are not there",
    unit: "quality_monitor_daemon",
    for: /^verified_segments$/,
    actual: /^0$/,
    stage(scene) {
      scene.plan();
      played(scene);
    },
  },
  {
    about: "data_sync: nobody knows what was asked for",
    unit: "parity_validator",
    for: /^order$/,
    stage(scene) {
      scene.plan();
      played(scene);
    },
  },
  {
    about: "data_sync: nobody has checked the games",
    unit: "parity_validator",
    for: /^parity$/,
    actual: /^0$/,
    stage(scene) {
      scene.plan();
      played(scene);
      ordered(scene);
    },
  },
  {
    about: "data_sync: the queue refuses the checks",
    unit: "parity_validator",
    for: /^queue$/,
    actual: /WORK_TOO_LARGE/,
    stage(scene) {
      scene.plan();
      played(scene);
      ordered(scene, TOO_MUCH);
    },
  },
  {
    about: "data_sync: games cannot be checked",
    unit: "quality_monitor_daemon",
    for: /^pending_gate$/,
    actual: /keeps no games to check/,
    stage(scene) {
      scene.plan();
      played(scene, { isKept: true, withGames: false });
      ordered(scene);
    },
  },
  {
    about: "npz_export: no batch is accepted",
    unit: "auto_export_daemon",
    for: /^accepted_games$/,
    stage(scene) {
      scene.plan();
      scene.at("npz_export");
    },
  },
  {
    about: "npz_export: nobody exports",
    unit: "auto_export_daemon",
    for: /^export$/,
    stage(scene) {
      scene.plan();
      const segment = played(scene);
      const work = beginWork(scene.at("npz_export"), scene.now, { accepted: [segment], rejected: [] });
      scene.rows.put(syncWork, scene.key, { ...work, state: "done", ended_at: scene.now });
    },
  },
  {
    about: "training: too few rows, and the round went on",
    unit: "training_trigger",
    for: /^rows; iteration 1 went on without training$/,
    actual: /^10$/,
    stage: (scene) => trainable(scene, { windowRows: 10 }),
  },
  {
    about: "training: the data is poor",
    unit: "training_trigger",
    for: /^quality$/,
    actual: /^0.1$/,
    stage: (scene) => trainable(scene, { score: 0.1 }),
  },
  {
    about: "training: the data has no score",
    unit: "training_trigger",
    for: /^quality$/,
    actual: /not scored yet/,
    stage: (scene) => trainable(scene, { score: null }),
  },
  {
    about: "training: games are unchecked",
    unit: "training_trigger",
    for: /^parity$/,
    actual: /2 segments are not checked/,
    stage: (scene) => trainable(scene, { unchecked: 2 }),
  },
  {
    about: "training: the data is old",
    unit: "training_trigger",
    for: /^data_age$/,
    stage: (scene) => trainable(scene, { madeAgoMs: 48 * HOUR }),
  },
  {
    about: "training: another run holds the lock",
    unit: "training_trigger",
    for: /^no_other_run$/,
    actual: /^another run$/,
    stage(scene) {
      trainable(scene);
      const lock = { holder: "another run", fence: 1, acquired_at: scene.now, expires_at: scene.now + HOUR };
      scene.rows.put(trainingLocks, scene.key, lock);
    },
  },
  {
    about: "training: the queue refuses the run",
    unit: "training_coordinator",
    for: /^queue$/,
    actual: /WORK_TOO_LARGE/,
    stage: (scene) => trainable(scene, { plan: { training: TOO_MUCH } }),
  },
  {
    about: "training: nobody trains",
    unit: "work_queue",
    for: /^a worker$/,
    stage: (scene) => trainable(scene),
  },
  {
    about: "evaluation: the queue refuses the games",
    unit: "evaluation_daemon",
    for: /^queue$/,
    actual: /WORK_TOO_LARGE/,
    stage: (scene) => trained(scene, { evaluation: TOO_MUCH }),
  },
  {
    about: "evaluation: nobody plays",
    unit: "work_queue",
    for: /^a worker$/,
    stage: (scene) => trained(scene),
  },
  {
    about: "evaluation: the workload cannot evaluate",
    unit: "pipeline_orchestrator",
    for: /^evaluation to succeed again; iteration 1 was given up$/,
    actual: /plays no evaluations/,
    stage: (scene) => trained(scene, { kinds: ["selfplay", "training"] }),
  },
  {
    about: "promotion: there is no verdict",
    unit: "pipeline_orchestrator",
    for: /^another try of promotion$/,
    actual: /no evaluation that is done/,
    stage(scene) {
      trained(scene, {}, "promotion");
      crowned(scene, CHAMPION);
    },
  },
  {
    about: "promotion: the champion has changed, and the round went on",
    unit: "auto_promotion",
    for: /^a champion that stays; iteration 1 went on without promotion$/,
    actual: /which dddddddddddd was measured against/,
    stage(scene) {
      trained(scene, {}, "promotion");
      crowned(scene, CHAMPION);
      const own = {
        candidate: CANDIDATE,
        opponent: "b".repeat(64),
        counts: [0, 0, 0, 0, 20],
        batches: 1,
        llr: [3],
        verdict: "promote" as const,
      };
      const work = beginWork(scene.at("evaluation"), scene.now, own);
      const evidence = { games: 40, verdict: "promote" };
      scene.rows.put(evaluationWork, scene.key, { ...work, state: "done", ended_at: scene.now, evidence });
      scene.at("promotion");
    },
  },
  {
    about: "a weak champion that cannot go",
    unit: "model_rollback",
    for: /^a rollback: there is no good champion to go back to$/,
    stage(scene) {
      scene.plan();
      scene.at("selfplay");
      const { generation } = crowned(scene, CHAMPION);
      scene.rows.put(regressions, scene.key, {
        generation,
        model: CHAMPION,
        baseline: null,
        gated: false,
        state: "regressed",
        severity: "severe",
        reason: "it lost",
        counts: [],
        batches: 0,
        batch_blocks: 0,
        games: 0,
        jobs: {},
        probe: { number: 0, work_id: null },
        excluded: [],
        retries: 0,
        waits: [],
        since: scene.now,
        ended_at: scene.now,
      });
    },
  },
];

/** What concerns all configs at once, and therefore comes last. */
export const SHARED_REFUSALS: readonly Refusal[] = [
  {
    about: "training: all slots are taken",
    unit: "training_coordinator",
    for: /^a training slot$/,
    actual: /^[3-9]$/,
    stage(scene) {
      trainable(scene);
      const lock = { holder: "another run", fence: 1, acquired_at: scene.now, expires_at: scene.now + HOUR };
      for (const other of ["slot1_2p", "slot2_2p", "slot3_2p"]) scene.rows.put(trainingLocks, other, lock);
    },
  },
  {
    about: "selfplay: the pressure on the queue is at its highest",
    unit: "queue_populator",
    for: /^room_in_queue$/,
    actual: /pressure stop$/,
    stage(scene) {
      scene.plan();
      scene.at("selfplay");
      scene.rows.put(pressures, "work_queue", { level: "stop", since: scene.now });
    },
  },
];
