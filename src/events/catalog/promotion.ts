import { lazy } from "../../kernel/index.ts";
import { field, fields, number, oneOf } from "../fields.ts";
import { defineEvents } from "../row.ts";

const champion = lazy(() => field.model_id.describe("champion that it has to beat, if there is one"));

/** Which model is the champion, and which tier it plays in. */
export const promotion = defineEvents("promotion", {
  PROMOTION_CANDIDATE: {
    about: "A model is strong enough that its promotion should be decided.",
    orderKey: "config_key",
    dedup: ["config_key", "model_id"],
    payload: () => ({
      ...fields("config_key", "model_id", "win_rate", "elo", "win_rates?"),
      games: field.games.describe("games behind the claim"),
      artifact_hash: field.artifact_hash.describe("the model's file"),
      champion_model_id: champion().optional(),
    }),
  },
  PROMOTION_STARTED: {
    about: "The decision on a candidate is being made.",
    orderKey: "config_key",
    payload: () => ({ ...fields("config_key", "model_id"), champion_model_id: champion().optional() }),
  },
  MODEL_PROMOTED: {
    about: "A model became the champion of its config; it is sent out and played with from now on.",
    orderKey: "config_key",
    dedup: ["config_key", "model_id"],
    // PROMOTION_COMPLETED is left out on purpose: it was also published for promotions that had failed.
    legacy: ["PROMOTION_COMPLETE", "TIER_GATING_COMPLETE"],
    stage: "promotion_complete",
    payload: () => ({
      ...fields("config_key", "model_id", "elo", "previous_model_id?", "previous_elo?", "elo_change?", "win_rate?"),
      artifact_hash: field.artifact_hash.describe("the model's file"),
      games: field.games.describe("games behind the decision"),
    }),
  },
  PROMOTION_FAILED: {
    about: "The promotion of a model failed before it was decided or done.",
    orderKey: "config_key",
    payload: () => fields("config_key", "model_id", "error", "retryable", "error_code?"),
  },
  PROMOTION_REJECTED: {
    about: "A candidate did not pass a gate, with the required and the actual value.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "model_id", "reason?", "games?"),
      gate: oneOf("gate that said no", ["parity", "games", "quality", "volatility", "win_rate", "elo"]),
      actual: number("value that the candidate has"),
      required: number("value that the gate asks"),
    }),
  },
  PROMOTION_ROLLED_BACK: {
    about: "A promoted model was withdrawn and its predecessor is the champion again.",
    orderKey: "config_key",
    dedup: ["config_key", "model_id"],
    payload: () => ({
      ...fields("config_key", "reason"),
      model_id: field.model_id.describe("model that was withdrawn"),
      restored_model_id: field.model_id.describe("model that is in force again"),
      artifact_hash: field.artifact_hash.describe("the restored model's file"),
    }),
  },
  TIER_PROMOTION: {
    about: "A model rose to a harder tier.",
    orderKey: "config_key",
    dedup: ["config_key", "model_id"],
    payload: () => ({
      ...fields("config_key", "model_id", "tier", "previous_tier", "win_rate?", "elo?"),
      games: field.games.describe("games behind the decision"),
    }),
  },
  CROSSBOARD_PROMOTION: {
    about: "A model that a gate promoted on one board is what another config begins with.",
    orderKey: "model_id",
    dedup: ["model_id"],
    payload: () => ({
      model_id: field.model_id.describe("model that the other config begins with"),
      config_keys: field.config_keys.describe("the config that the model comes from, and the one that begins with it"),
      elo: field.elo.describe("what it gained at its gate, in Elo"),
      min_elo: number("lower end of the 95 % interval of that"),
      games: field.games.describe("games behind the decision"),
    }),
  },
});
