import { lazy } from "../../kernel/index.ts";
import { details, field, fields, number, numbers, oneOf, seconds, some, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

const evaluations = lazy(() => some("candidates that were tried"));
const population = lazy(() => some("members of the population"));

/** Searches for better parameters and networks, and what is applied of them. */
export const optimization = defineEvents("optimization", {
  PLATEAU_DETECTED: {
    about: "A measure of a config stopped improving.",
    orderKey: "config_key",
    dedup: ["config_key", "metric_name"],
    payload: () => ({
      ...fields("config_key"),
      metric_name: oneOf("measure that stands still", ["loss", "elo", "win_rate"]),
      value: number("value now"),
      best_value: number("best value so far"),
      plateau_seconds: seconds("time since the best value"),
      plateau_games: some("games since the best value").optional(),
      recommended_search: oneOf("search that may help", ["cmaes", "nas", "pbt"]).optional(),
    }),
  },
  HYPERPARAMETER_UPDATED: {
    about: "One hyperparameter of a config has a new value.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason"),
      parameter: word("parameter, by its name"),
      value: number("value now"),
      previous_value: number("value before"),
    }),
  },
  ADAPTIVE_PARAMS_CHANGED: {
    about: "Parameters of a config were adapted while it trains and plays.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "parameters", "reason"),
      previous_parameters: numbers("parameters before, by name").optional(),
    }),
  },
  CMAES_TRIGGERED: {
    about: "Somebody asks for a CMA-ES search for better parameters.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "run_id", "reason"),
      parameters: field.parameters.describe("parameters to start from, by name"),
    }),
  },
  CMAES_COMPLETED: {
    about: "A CMA-ES search ended, with the best that it found.",
    orderKey: "config_key",
    stage: "cmaes_complete",
    payload: () => ({
      ...fields("config_key", "run_id", "best_score", "best_parameters", "generations?", "duration_seconds?"),
      evaluations: evaluations(),
    }),
  },
  PBT_STARTED: {
    about: "Population-based training began.",
    orderKey: "run_id",
    dedup: ["run_id"],
    payload: () => ({
      ...fields("run_id", "config_key"),
      population: population(),
      generations: field.generations.describe("generations planned"),
    }),
  },
  PBT_GENERATION_COMPLETE: {
    about: "Population-based training finished one generation.",
    orderKey: "run_id",
    dedup: ["run_id", "generation"],
    stage: "pbt_complete",
    payload: () => fields("run_id", "generation", "best_score", "config_key?"),
  },
  PBT_COMPLETED: {
    about: "Population-based training ended, with the best that it found.",
    orderKey: "run_id",
    dedup: ["run_id"],
    payload: () => ({
      ...fields("run_id", "config_key", "best_score", "best_parameters", "generations", "duration_seconds?"),
      model_id: field.model_id.describe("best model").optional(),
    }),
  },
  NAS_TRIGGERED: {
    about: "Somebody asks for a search for a better network architecture.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "run_id", "reason"),
      search_space: details("what may be varied").optional(),
    }),
  },
  NAS_STARTED: {
    about: "A search for a better network architecture began.",
    orderKey: "run_id",
    dedup: ["run_id"],
    payload: () => ({
      ...fields("run_id", "config_key"),
      population: population(),
      generations: field.generations.describe("generations planned"),
    }),
  },
  NAS_GENERATION_COMPLETE: {
    about: "The architecture search finished one generation.",
    orderKey: "run_id",
    dedup: ["run_id", "generation"],
    payload: () => fields("run_id", "generation", "best_score", "config_key?"),
  },
  NAS_BEST_ARCHITECTURE: {
    about: "The architecture search found a network better than all before.",
    orderKey: "run_id",
    payload: () => ({
      ...fields("run_id", "config_key", "architecture", "best_score"),
      architecture_spec: details("the architecture in full"),
    }),
  },
  NAS_COMPLETED: {
    about: "The architecture search ended, with the best that it found.",
    orderKey: "run_id",
    dedup: ["run_id"],
    stage: "nas_complete",
    payload: () => ({
      ...fields("run_id", "config_key", "architecture", "best_score", "generations", "duration_seconds?"),
      evaluations: evaluations(),
    }),
  },
});
