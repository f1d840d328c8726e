import { lazy } from "../../kernel/index.ts";
import { count, field, fields, list, oneOf, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

const file = lazy(() => field.artifact_hash.describe("the model's file"));
const missing = lazy(() => list("nodes that still lack it", field.node_id));

/** Models: what the registry says of them, and how they reach the nodes. */
export const models = defineEvents("models", {
  REGISTRY_UPDATED: {
    about: "An entry of the model registry changed.",
    orderKey: "model_id",
    payload: () => ({
      ...fields("model_id", "config_key", "base_model_id?"),
      model_state: oneOf("state of the model", [
        "training",
        "evaluating",
        "staging",
        "production",
        "rolled_back",
        "archived",
      ]),
      artifact_hash: file().optional(),
    }),
  },
  MODEL_UPDATED: {
    about: "The description of a model changed, and the nodes should know.",
    orderKey: "model_id",
    payload: () => ({
      ...fields("model_id", "config_key"),
      artifact_hash: file(),
      changed_fields: list("what changed", word("field")).optional(),
    }),
  },
  MODEL_CORRUPTED: {
    about: "The file of a model on a node is damaged or gone.",
    orderKey: "model_id",
    dedup: ["model_id", "node_id"],
    payload: () => ({
      ...fields("model_id", "config_key?"),
      node_id: field.node_id.describe("node that holds the file"),
      artifact_hash: field.artifact_hash.describe("hash that the file should have"),
      damage: oneOf("what is wrong with it", ["missing", "truncated", "checksum", "unreadable"]),
      actual_hash: field.artifact_hash.describe("hash that the file has").optional(),
    }),
  },
  CACHE_INVALIDATED: {
    about: "Cached copies of a model must not be used any longer.",
    orderKey: "model_id",
    payload: () => ({
      ...fields("model_id", "reason"),
      node_ids: field.node_ids.describe("nodes that hold a copy"),
      artifact_hash: file().optional(),
    }),
  },
  MODEL_SYNC_REQUESTED: {
    about: "A node needs a model that it does not have.",
    orderKey: "model_id",
    dedup: ["model_id", "node_id"],
    payload: () => ({
      ...fields("model_id", "reason?", "urgency?", "config_key?"),
      node_id: field.node_id.describe("node that needs it"),
    }),
  },
  P2P_MODEL_SYNCED: {
    about: "A model arrived at a node, verified.",
    orderKey: "model_id",
    dedup: ["model_id", "node_id"],
    legacy: ["MODEL_SYNC_COMPLETE", "MODEL_SYNC_COMPLETED", "MODEL_SYNCED"],
    stage: "model_sync_complete",
    payload: () => ({
      ...fields("model_id", "config_key?", "bytes_transferred?", "duration_seconds?"),
      node_id: field.node_id.describe("node that now has it"),
      artifact_hash: file(),
    }),
  },
  MODEL_DISTRIBUTION_STARTED: {
    about: "A model is being sent to the nodes that need it.",
    orderKey: "model_id",
    payload: () => ({
      ...fields("model_id", "config_key?", "artifact_bytes?"),
      artifact_hash: file(),
      node_ids: field.node_ids.describe("nodes that should get it"),
    }),
  },
  MODEL_DISTRIBUTION_COMPLETE: {
    about: "A model is on all nodes that need it.",
    orderKey: "model_id",
    payload: () => ({
      ...fields("model_id", "duration_seconds", "config_key?"),
      artifact_hash: file(),
      node_ids: field.node_ids.describe("nodes that have it"),
    }),
  },
  MODEL_DISTRIBUTION_FAILED: {
    about: "A model did not reach all nodes that need it.",
    orderKey: "model_id",
    payload: () => ({
      ...fields("model_id", "error", "retryable", "attempts?", "config_key?"),
      missing_node_ids: missing(),
    }),
  },
  DISTRIBUTION_INCOMPLETE: {
    about: "A model is on fewer nodes than it should be.",
    orderKey: "model_id",
    dedup: ["model_id"],
    payload: () => ({
      ...fields("model_id"),
      holding_nodes: count("nodes that have the model"),
      required_nodes: count("nodes that must have it"),
      missing_node_ids: missing().optional(),
    }),
  },
});
