import { field, fields, numbers, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** What each config is worth playing, and how hard. */
export const curriculum = defineEvents("curriculum", {
  CURRICULUM_REBALANCED: {
    about: "The scheduler has new weights for all configs.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("reason", "trigger?"),
      config_key: field.config_key.describe("config whose change set it off"),
      weights: numbers("curriculum weight, by config"),
      previous_weights: numbers("curriculum weight before, by config").optional(),
    }),
  },
  CURRICULUM_UPDATED: {
    about: "The plan for one config changed.",
    orderKey: "config_key",
    payload: () => fields("config_key", "weight", "reason", "tier?", "trigger?"),
  },
  CURRICULUM_ADVANCED: {
    about: "A config moved to a harder tier.",
    orderKey: "config_key",
    payload: () => fields("config_key", "tier", "previous_tier", "reason", "win_rate?", "games?", "elo?"),
  },
  CURRICULUM_ADVANCEMENT_NEEDED: {
    about: "A config makes no progress and should move to a harder tier.",
    orderKey: "config_key",
    dedup: ["config_key"],
    payload: () => fields("config_key", "reason", "tier?", "elo_per_day?"),
  },
  WEIGHT_UPDATED: {
    about: "The weight of one config changed, with the reason.",
    orderKey: "config_key",
    payload: () => fields("config_key", "weight", "previous_weight", "reason", "trigger?"),
  },
  OPPONENT_MASTERED: {
    about: "A config beats an opponent reliably.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "win_rate", "games", "model_id?"),
      opponent: word("opponent: a baseline or a model"),
    }),
  },
  ARCHITECTURE_WEIGHTS_UPDATED: {
    about: "Each network architecture has a new share of the work.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason?"),
      architecture_weights: numbers("share of the work, by architecture"),
    }),
  },
});
