import { lazy } from "../../kernel/index.ts";
import { field, fields, flag, list, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

const carrier = lazy(() => field.node_id.describe("node that carries out the transfer"));
const freshness = lazy(() => ({
  ...fields("config_key", "data_age_seconds", "max_age_seconds"),
  node_id: field.node_id.describe("training node that was asked about").optional(),
}));

/** Transfers of games, models and training files between nodes. */
export const dataSync = defineEvents("data_sync", {
  DATA_SYNC_STARTED: {
    about: "A transfer run began.",
    orderKey: "node_id",
    dedup: ["sync_id"],
    wire: "sync_started",
    critical: true,
    payload: () => ({
      ...fields("sync_id", "data_type", "source_node_id?", "target_node_ids?", "config_key?"),
      node_id: carrier(),
    }),
  },
  DATA_SYNC_COMPLETED: {
    about: "A transfer run finished and its bytes are verified; export and training may use them.",
    orderKey: "node_id",
    dedup: ["sync_id"],
    wire: "sync_completed",
    legacy: ["SYNC_COMPLETED", "SYNC_COMPLETE", "CLUSTER_SYNC_COMPLETE"],
    stage: "sync_complete",
    critical: true,
    payload: () => ({
      ...fields(
        "sync_id",
        "data_type",
        "bytes_transferred",
        "duration_seconds",
        "config_key?",
        "source_node_id?",
        "target_node_ids?",
        "transport?",
      ),
      node_id: carrier(),
      artifacts: field.artifacts.describe("artifacts that arrived"),
      games: field.games.describe("games that arrived, if any").optional(),
    }),
  },
  DATA_SYNC_FAILED: {
    about: "A transfer run failed; it is tried again or another way.",
    orderKey: "node_id",
    dedup: ["sync_id"],
    wire: "sync_failed",
    payload: () => ({
      ...fields(
        "sync_id",
        "data_type",
        "error",
        "retryable",
        "attempts?",
        "transport?",
        "source_node_id?",
        "target_node_ids?",
      ),
      node_id: carrier(),
    }),
  },
  GAME_SYNCED: {
    about: "A verified copy of a game segment now lies on one more node.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("artifact_hash", "games", "source_node_id", "config_key?"),
      node_id: field.node_id.describe("node that now holds the copy"),
      ephemeral: flag("whether that node may vanish at any time"),
    }),
  },
  DATA_STALE: {
    about: "The data of a config is older than training accepts.",
    orderKey: "config_key",
    payload: freshness,
  },
  DATA_FRESH: {
    about: "The data of a config is young enough to train on.",
    orderKey: "config_key",
    payload: freshness,
  },
  SYNC_TRIGGERED: {
    about: "Data of a config is wanted at once, because it is stale or about to be lost.",
    orderKey: "config_key",
    dedup: "content",
    payload: () => fields("config_key", "reason", "urgency", "data_type?", "source_node_id?", "target_node_id?"),
  },
  SYNC_REQUEST: {
    about: "A node is told to carry out one transfer.",
    orderKey: "node_id",
    payload: () => ({
      ...fields(
        "sync_id",
        "data_type",
        "target_node_ids",
        "reason",
        "urgency?",
        "source_node_id?",
        "config_key?",
        "artifact_hashes?",
      ),
      node_id: carrier(),
    }),
  },
  SYNC_STALLED: {
    about: "A transfer stopped moving; the next way of transfer is tried.",
    orderKey: "node_id",
    payload: () => ({
      ...fields(
        "sync_id",
        "data_type",
        "transport",
        "idle_seconds",
        "bytes_transferred?",
        "attempts?",
        "source_node_id?",
        "target_node_id?",
      ),
      node_id: carrier(),
    }),
  },
  SYNC_CHECKSUM_FAILED: {
    about: "What arrived is not what it should be, in its bytes or in its structure; it is set aside and not used.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("sync_id?", "data_type?", "source_node_id?", "transport?", "error?"),
      node_id: field.node_id.describe("node that received them"),
      artifact_hash: field.artifact_hash.describe("hash that was promised"),
      actual_hash: field.artifact_hash.describe("hash of what arrived"),
    }),
  },
  SYNC_NODE_UNREACHABLE: {
    about: "A node could not be reached for a transfer.",
    orderKey: "node_id",
    dedup: ["node_id"],
    payload: () => ({
      ...fields("error", "transport?", "sync_id?"),
      node_id: field.node_id.describe("node that does not answer"),
    }),
  },
  SYNC_FAILURE_CRITICAL: {
    about: "Transfers of a node failed too often in a row; data is at risk. With severity info: it is over.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("error", "severity?", "data_type?", "last_success_at?"),
      consecutive_failures: field.consecutive_failures
        .describe("failures in a row; missing when it is over")
        .optional(),
      node_id: field.node_id.describe("node whose transfers fail"),
    }),
  },
  SYNC_RETRY_REQUESTED: {
    about: "A stalled transfer should be tried again by another way.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("sync_id", "data_type", "target_node_id?"),
      node_id: carrier(),
      transport: field.transport.describe("way to try next"),
      failed_transports: list("ways that failed", word("way of transfer")),
    }),
  },
  PRIORITY_SYNC_COMPLETED: {
    about: "An urgent transfer that somebody waits for arrived, verified.",
    orderKey: "config_key",
    dedup: ["sync_id"],
    payload: () => ({
      ...fields(
        "sync_id",
        "config_key",
        "data_type",
        "bytes_transferred",
        "duration_seconds",
        "source_node_id?",
        "reason?",
      ),
      games: field.games.describe("games that arrived, if any").optional(),
    }),
  },
  PRIORITY_SYNC_FAILED: {
    about: "An urgent transfer that somebody waits for did not arrive.",
    orderKey: "config_key",
    dedup: ["sync_id"],
    payload: () => fields("sync_id", "config_key", "data_type", "error", "retryable", "source_node_id?", "reason?"),
  },
});
