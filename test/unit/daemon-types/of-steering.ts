/** The daemon types whose work the units of steering do. */
import type { DaemonType } from "../../../src/daemons/legacy.ts";
import { recordVerdict } from "../../../src/pipeline/evaluation/verdicts.ts";
import { recordCrowning } from "../../../src/pipeline/models/champion-history.ts";
import { allocations } from "../../../src/pipeline/selfplay/index.ts";
import {
  architectureWeights,
  cascadeStarts,
  iterations,
  replayBuffers,
  trainingTunings,
} from "../../../src/pipeline/stage/index.ts";
import { derivedTraining, gauntletFeedback, perOrchestrator } from "../../../src/pipeline/steering/index.ts";
import { ARCHITECTURE_GATES } from "../../../src/pipeline/steering/limits.ts";
import { type inputOf, learningWorld, sha } from "../pipeline/learning-world.ts";
import { KEY, pipelineWorld } from "../pipeline/pipeline-world.ts";
import type { Scene, ShownTypes } from "./scene.ts";

const OTHER = "hex7_2p";

/** The verdict of a gate in which the candidate came to so many Elo. */
const verdict = (config_key: string, iteration: number, elo: number, opponent = "m0") =>
  recordVerdict({
    ...{ config_key, iteration, attempt: 1, candidate: `m${iteration}`, opponent, budget: "default" },
    ...{ verdict: elo > 25 ? "promote" : "reject", reason: "", blocks: 10, games: 20, score: 0.5, counts: [] },
    ...{ llr: 3, elo0: 0, elo1: 50, alpha: 0.05, beta: 0.05, redundancy: 1, normalized_elo: 0, at: iteration },
    ...{ elo, elo_low: elo - 20, elo_high: elo + 20 },
  });

/** Two configs that play, with the units that read their gates. */
async function steered() {
  const w = pipelineWorld({ everyMs: 1_000 });
  const steering = { share: true, learning_rate: true, games: true, exploration: true, search: true };
  for (const key of [KEY, OTHER]) {
    await w.plan({ games_per_iteration: 1_000, steering }, key);
    await w.turn("selfplay", { iteration: 20, key });
  }
  const { scheduler, curriculum, metrics, gauntlet, feedback, exploration } = w.units;
  await w.runtime([scheduler(), curriculum(), metrics(), gauntlet(), feedback(), exploration()]);
  const gates = (key: string, ...elos: readonly number[]) =>
    w.write((rows) => {
      for (const [n, elo] of elos.entries()) rows.apply(verdict(key, n + 1, elo));
    });
  return { ...w, manager: w.manager(), gates };
}

const gatesAndEvent = (elos: readonly number[], event: string, shows: unknown[]) => async (): Promise<Scene> => {
  const w = await steered();
  return {
    ...w,
    before: () => w.gates(KEY, ...elos),
    live: () => w.pass(25_000),
    seen: () => w.said(event).map(({ payload }) => payload.parameter ?? payload.metric_name ?? payload.config_key),
    shows,
  };
};
const FLAT = Array.from({ length: 14 }, () => 0);

async function oneThatLearns(): Promise<Scene> {
  const w = await steered();
  return {
    ...w,
    async before() {
      await w.gates(KEY, 90, 100, 110);
      await w.gates(OTHER, -2, 1, -1);
    },
    live: () => w.pass(15_000),
    seen: () => (w.row(allocations)?.share ?? 0) > 0.6,
    idle: false,
    shows: true,
  };
}

/** A search has found another network, whose candidates never win. */
async function foundArchitecture(): Promise<Scene> {
  const w = await learningWorld({ more: (services) => [gauntletFeedback(services)] });
  await w.first();
  const start = { architecture: "wide", model: "b".repeat(64), checkpoint: "b".repeat(64) };
  const step = { values: { wide: 64 }, from_iteration: 1, run_id: "r", evidence: {}, at: 0, start };
  await w.driven(w.change((rows) => rows.put(trainingTunings, w.configKey, { steps: [step] })));
  for (let iteration = 1; iteration <= ARCHITECTURE_GATES; iteration += 1) await w.round(iteration, -200);
  const next = ARCHITECTURE_GATES + 1;
  await w.exported(next);
  return {
    ...w,
    manager: w.manager(),
    before: () => w.turn("training", next),
    live: () => w.pass(12_000),
    seen: () => {
      const weights = w.row(architectureWeights);
      return weights?.iteration === next && { goesBack: weights.back, lessThanHalf: weights.weights.wide! < 0.5 };
    },
    idle: false,
    shows: { goesBack: true, lessThanHalf: true },
  };
}

const only = ["training_coordinator", "training_trigger", "auto_promotion", "model_coordinator"];
const RECIPE = { every: 2, training: { wide: 24, narrow: 16 }, steps: 50, blocks: 120 };
const NEVER = { ...RECIPE, every: null };

/** A smaller network is due: one that has the champion for a teacher, or one that learns from games alone. */
async function studentThatIsDue(type: DaemonType): Promise<Scene> {
  const isTaught = type === "DISTILLATION";
  const derived = { distillation: isTaught ? RECIPE : NEVER, nnue: isTaught ? NEVER : RECIPE };
  const kinds = ["selfplay", "training", "evaluation", "export"] as const;
  const w = await learningWorld({
    only,
    more: (services) => [derivedTraining(services), perOrchestrator(services)],
    plan: { kinds: [...kinds], derived },
  });
  const teacher = await w.first();
  await w.exported(2);
  return {
    ...w,
    manager: w.manager(),
    before: () => w.turn("evaluation", 2),
    live: () => w.pass(15_000),
    seen: () =>
      w.queue.list({ workType: "training", state: "pending" }).map(({ work_id }) => {
        const { inputs } = w.queue.payload(work_id) as unknown as ReturnType<typeof inputOf>;
        return inputs.some(({ name, sha256 }) => name === "teacher" && sha256 === teacher);
      }),
    shows: [isTaught],
  };
}

/** A config of three players that begins when the gates of one with two say so. */
async function cascade(): Promise<Scene> {
  const [few, many] = ["ring_2p", "ring_3p"] as const;
  const w = await learningWorld({
    configKey: many,
    only,
    more: (services) => [derivedTraining(services)],
    plan: { cascade: { config_key: few, promotions: 2 } },
  });
  await w.turn("training", 0);
  return {
    ...w,
    manager: w.manager(),
    async before() {
      await w.driven(
        w.change((rows) => {
          for (const [iteration, elo] of [60, 60].entries()) {
            rows.apply(verdict(few, iteration + 1, elo));
            rows.apply(
              recordCrowning({
                ...{ config_key: few, generation: iteration + 1, model: sha(`${iteration}`), previous: null },
                ...{ iteration: iteration + 1, cause: "gate", by: "test", evidence: {}, at: 0 },
              }),
            );
          }
          rows.put(iterations, few, { iteration: 3, state: "running" } as never);
        }),
      );
    },
    live: () => w.pass(15_000),
    seen: () => w.row(cascadeStarts)?.config_key ?? "none",
    idle: "none",
    shows: few,
  };
}

/** A window whose rows are to be judged before a run. */
async function windowToJudge(): Promise<Scene> {
  const w = await learningWorld({
    only,
    more: (services) => [derivedTraining(services), perOrchestrator(services)],
    plan: {
      kinds: ["selfplay", "training", "evaluation", "export"],
      replay: { prioritised: true, exponent: 0.7, correction: 0.5 },
    },
  });
  await w.first();
  await w.exported(1);
  return {
    ...w,
    manager: w.manager(),
    before: () => w.turn("training", 1),
    async live() {
      await w.pass(5_000);
      const lease = await w.claim("export");
      if (lease === undefined) return;
      await w.queue.start(lease);
      await w.queue.complete(lease, {
        outputs: [{ name: "priorities.arena", ...w.shelf.put("priorities") }],
        counts: { rows: 1_000 },
        summary: { max_priority: 3, min_priority: 0.1 },
      });
      await w.pass(5_000);
    },
    seen: () => w.row(replayBuffers)?.file?.sha256 === sha("priorities"),
    idle: false,
    shows: true,
  };
}

const GAUNTLET = "gauntlet_feedback";
const DERIVED = "derived_training";

export const ofSteering = {
  FEEDBACK_LOOP: {
    unit: "feedback_loop",
    does: "has a config that stands still explored more",
    open: gatesAndEvent(FLAT, "EXPLORATION_BOOST", [KEY]),
  },
  GAUNTLET_FEEDBACK: {
    unit: GAUNTLET,
    does: "turns what a gate says into a knob",
    open: gatesAndEvent([80], "HYPERPARAMETER_UPDATED", ["exploration"]),
  },
  METRICS_ANALYSIS: {
    unit: "metrics_orchestrator",
    does: "finds a plateau",
    open: gatesAndEvent(FLAT, "PLATEAU_DETECTED", ["elo"]),
  },
  CURRICULUM_INTEGRATION: { unit: "curriculum_integration", does: "gives more to what learns", open: oneThatLearns },
  ARCHITECTURE_FEEDBACK: {
    unit: GAUNTLET,
    does: "weighs architectures, and goes back to the better",
    open: foundArchitecture,
  },
  DISTILLATION: { unit: DERIVED, does: "has a smaller network learn from the champion", open: studentThatIsDue },
  NNUE_TRAINING: { unit: DERIVED, does: "has a small network learn from the games", open: studentThatIsDue },
  CASCADE_TRAINING: { unit: DERIVED, does: "lets three players begin with what two have learned", open: cascade },
  PER_ORCHESTRATOR: {
    unit: "per_orchestrator",
    does: "has rows judged by how much they surprise",
    open: windowToJudge,
  },
} satisfies ShownTypes;
