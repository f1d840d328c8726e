import { fields, oneOf, positive, some, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** How boldly a config plays against itself. */
export const exploration = defineEvents("exploration", {
  SCHEDULER_REGISTERED: {
    about: "A config now has a scheduler for its temperature.",
    class: "process",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key"),
      scheduler: word("scheduler, by its name"),
      temperature: positive("temperature it starts with").optional(),
    }),
  },
  EXPLORATION_BOOST: {
    about: "A config should explore more for a limited time.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason", "expires_at?"),
      boost_factor: positive("factor on exploration"),
      boost_games: some("games after which it has faded").optional(),
    }),
  },
  EXPLORATION_ADJUSTED: {
    about: "The exploration of a config was tuned to the quality of its data.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "quality_score", "trend"),
      position_difficulty: oneOf("how hard the starting positions should be", ["normal", "medium-hard", "hard"]),
      mcts_budget_multiplier: positive("factor on the search budget"),
      exploration_temp_boost: positive("factor on the temperature"),
    }),
  },
});
