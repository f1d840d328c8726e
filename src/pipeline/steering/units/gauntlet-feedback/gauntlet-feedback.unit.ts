import type { Wiring } from "../../../../daemons/index.ts";
import { type EvaluationServices, pairTallies } from "../../../evaluation/index.ts";
import { budgetOf, champions, playersOf } from "../../../models/index.ts";
import {
  type ConfigLook,
  defineConfigUnit,
  everyMs,
  gamesWith,
  gauntletSignals,
  type StageServices,
} from "../../../stage/index.ts";
import { gatesBefore, judgeGates } from "../../gates.ts";
import { isSteered, putSignals } from "../../knobs.ts";
import { gauntlets, mastered } from "../../tables.ts";
import { factorsOf, masteryOf, tierName } from "./decide.ts";

const wiring = {
  name: "gauntlet_feedback",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "curriculum",
  daemonTypes: ["GAUNTLET_FEEDBACK", "ARCHITECTURE_FEEDBACK"],
  alsoKnownAs: ["GauntletFeedbackController", "TierGating", "ArchitectureFeedbackController"],
  dependsOn: ["evaluation_daemon"],
  emits: ["HYPERPARAMETER_UPDATED", "SELFPLAY_TARGET_UPDATED", "CURRICULUM_ADVANCED", "OPPONENT_MASTERED"],
} as const satisfies Wiring;

type Look = ConfigLook<(typeof wiring.emits)[number]>;

/**
 * Reads gates. It turns the knobs `learning_rate` and `games` of a config whose plan lets it, and moves a config that stands on a plateau to a
 * harder tier. Gates decide: an event only makes it look. By the rating games it says which baselines a champion has mastered; that turns no
 * knob, as those games are played when there is time for them.
 */
export const gauntletFeedback = (services: EvaluationServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { gauntletSignals, gauntlets, mastered } },
    wakes: ["EVALUATION_COMPLETED", "TRAINING_COMPLETED", "PLATEAU_DETECTED", "ELO_UPDATED"],
    everyMs: everyMs(services, 10_000),
    look: (look) => {
      judge(services, look);
      master(services, look);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(
        rows.list(gauntlets).map(([key, { strength, tier }]) => [key, `${strength}, ${tierName(tier)}`]),
      ),
    }),
  });

function judge({ store }: StageServices, look: Look): void {
  const { row, put, rows, plan, configKey } = look;
  const gates = judgeGates(gatesBefore(store, configKey));
  const last = gates.at(-1);
  if (last === undefined) return;
  putSignals(rows, plan, gates, "learning_rate", "games");
  const known = row(gauntlets);
  if (known !== undefined && known.iteration >= last.iteration) return;
  const { iteration, strength, tier } = last;
  put(gauntlets, { iteration, strength, tier });
  emitKnobs(look, gates);
  const before = known?.tier ?? gates.at(-2)?.tier ?? 0;
  if (tier > before)
    look.emit.CURRICULUM_ADVANCED({
      config_key: configKey,
      tier: tierName(tier),
      previous_tier: tierName(before),
      reason: `its candidates stand still since iteration ${iteration}`,
    });
}

/** What the newest gate changed, each once. */
function emitKnobs({ emit, plan, configKey: config_key }: Look, gates: ReturnType<typeof judgeGates>): void {
  const { strength } = gates.at(-1)!;
  const told = [
    ...(strength === "strong" ? (["exploration"] as const) : []),
    ...(strength === "weak" ? (["learning_rate"] as const) : []),
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
