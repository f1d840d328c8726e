import type { Wiring } from "../../../../daemons/index.ts";
import { defined } from "../../../../kernel/index.ts";
import { type EvaluationServices, pairTallies } from "../../../evaluation/index.ts";
import { budgetOf, championAfter, champions, playersOf } from "../../../models/index.ts";
import {
  architectureWeights,
  cascadeStarts,
  defineConfigUnit,
  everyMs,
  gamesWith,
  gauntletSignals,
  iterations,
  type LookOf,
  type StageServices,
  startFromOf,
} from "../../../stage/index.ts";
import { gatesBefore, type JudgedGate, judgeGates } from "../../gates.ts";
import { isSteered, knobsOf, putSignals } from "../../knobs.ts";
import { type Gauntlet, gauntlets, mastered } from "../../tables.ts";
import { factorsOf, masteryOf, risen, tierName } from "./decide.ts";
import { weighArchitectures } from "./weigh-architectures.ts";

const wiring = {
  name: "gauntlet_feedback",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "curriculum",
  daemonTypes: ["GAUNTLET_FEEDBACK", "ARCHITECTURE_FEEDBACK"],
  alsoKnownAs: ["GauntletFeedbackController", "TierGating", "ArchitectureFeedbackController"],
  dependsOn: ["evaluation_daemon"],
  emits: [
    "HYPERPARAMETER_UPDATED",
    "SELFPLAY_TARGET_UPDATED",
    "CURRICULUM_ADVANCED",
    "OPPONENT_MASTERED",
    "TIER_PROMOTION",
    "CROSSBOARD_PROMOTION",
    "ARCHITECTURE_WEIGHTS_UPDATED",
  ],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Reads gates. It turns the knobs `learning_rate`, `games`, `opponents` and `window` of a config whose plan lets it, and moves a config that
 * stands on a plateau to a harder tier. Gates decide: an event only makes it look. By the rating games it says which baselines a champion has mastered; that turns no
 * knob, as those games are played when there is time for them.
 */
export const gauntletFeedback = (services: EvaluationServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { gauntletSignals, gauntlets, mastered, architectureWeights } },
    wakes: [
      "PIPELINE_STAGE_ENTERED",
      "EVALUATION_COMPLETED",
      "TRAINING_COMPLETED",
      "PLATEAU_DETECTED",
      "ELO_UPDATED",
      "CURRICULUM_ADVANCEMENT_NEEDED",
    ],
    on: {
      // Gates decide what is played; what training asks for is kept until they do, for people to see.
      CURRICULUM_ADVANCEMENT_NEEDED({ payload: { config_key, reason } }, { rows }) {
        const iteration = rows.get(iterations, config_key)?.iteration ?? 0;
        rows.put(gauntlets, config_key, {
          ...(rows.get(gauntlets, config_key) ?? NO_GATE),
          asked: { iteration, reason },
        });
      },
    },
    everyMs: everyMs(services, 10_000),
    look: (look) => {
      judge(services, look);
      cross(services, look);
      master(services, look);
      weighArchitectures(services, look);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(
        rows.list(gauntlets).map(([key, { strength, tier }]) => [key, `${strength}, ${tierName(tier)}`]),
      ),
    }),
  });

const NO_GATE: Gauntlet = { iteration: 0, strength: "even", tier: 0 };

function judge({ store }: StageServices, look: Look): void {
  const { row, put, rows, plan, configKey } = look;
  const gates = judgeGates(gatesBefore(store, configKey));
  const last = gates.at(-1);
  if (last === undefined) return;
  putSignals(rows, plan, gates, ...knobsOf(wiring.name));
  const known = row(gauntlets);
  if (known !== undefined && known.iteration >= last.iteration) return;
  const { iteration, strength, tier } = last;
  const before = known?.tier ?? gates.at(-2)?.tier ?? 0;
  const { asked, ...kept } = known ?? NO_GATE;
  put(gauntlets, { ...kept, ...(tier > before ? {} : defined({ asked })), iteration, strength, tier });
  emitKnobs(look, gates);
  emitTiers(look, gates, known?.iteration ?? 0);
  if (tier > before)
    look.emit.CURRICULUM_ADVANCED({
      config_key: configKey,
      tier: tierName(tier),
      previous_tier: tierName(before),
      reason: `its candidates stand still since iteration ${iteration}`,
    });
}

/** Models that gates promoted since the last look, in a harder tier than the champion before them had. */
function emitTiers({ emit, configKey: config_key }: Look, gates: readonly JudgedGate[], heard: number): void {
  for (const { model_id, tier, previous_tier, elo, games } of risen(gates, heard))
    emit.TIER_PROMOTION({
      ...{ config_key, model_id, elo, games },
      tier: tierName(tier),
      previous_tier: tierName(previous_tier),
    });
}

/** A config that began with the network of a related one tells it once, where a gate had promoted that network. */
function cross({ store }: StageServices, { row, put, emit, plan, configKey }: Look): void {
  const from = startFromOf(plan, row(cascadeStarts));
  const known = row(gauntlets) ?? NO_GATE;
  if (from === null || known.related !== undefined || row(champions) === undefined) return;
  const model_id = championAfter(store, from.config_key, from.iteration);
  const gate = gatesBefore(store, from.config_key).findLast(({ candidate }) => candidate === model_id);
  if (model_id === undefined || gate === undefined) return;
  put(gauntlets, { ...known, related: model_id });
  emit.CROSSBOARD_PROMOTION({
    model_id,
    config_keys: [from.config_key, configKey],
    elo: gate.elo,
    min_elo: gate.elo_low,
    games: gate.games,
  });
}

/** What the newest gate changed, each once. */
function emitKnobs({ emit, plan, configKey: config_key }: Look, gates: ReturnType<typeof judgeGates>): void {
  const { strength } = gates.at(-1)!;
  const told = [
    ...(strength === "strong" ? (["exploration"] as const) : []),
    ...(strength === "weak" ? (["learning_rate", "window"] as const) : []),
    ...(strength === "even" ? [] : (["opponents"] as const)),
  ].filter((knob) => isSteered(plan, knob));
  for (const parameter of told) {
    const { value, previous, reason } = factorsOf(parameter, gates);
    if (value !== previous)
      emit.HYPERPARAMETER_UPDATED({ config_key, parameter, value, previous_value: previous, reason });
  }
  if (strength !== "weak" || !isSteered(plan, "games")) return;
  const { value, previous, reason } = factorsOf("games", gates);
  emit.SELFPLAY_TARGET_UPDATED({
    config_key,
    target_games: gamesWith(plan.games_per_iteration, { games: value }),
    previous_target_games: gamesWith(plan.games_per_iteration, { games: previous }),
    reason,
  });
}

/** Baselines that the champion has mastered, each told once for its config. More than two players have no pairs to tell it by. */
function master({ store, anchors }: EvaluationServices, look: Look): void {
  const { row, put, emit, now, plan, configKey: config_key } = look;
  const model = row(champions)?.model;
  if (model === undefined || playersOf(config_key) !== 2) return;
  const known = row(mastered) ?? {};
  const open = anchors(config_key).filter((opponent) => known[opponent] === undefined);
  if (open.length === 0) return;
  const tallies = pairTallies(store, config_key, budgetOf(plan.evaluation), "rating");
  for (const opponent of open) {
    const found = masteryOf(model, opponent, tallies);
    if (found === undefined) continue;
    put(mastered, { ...row(mastered), [opponent]: { model, ...found, at: now } });
    emit.OPPONENT_MASTERED({ config_key, opponent, model_id: model, ...found });
  }
}
