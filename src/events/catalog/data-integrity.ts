import { lazy } from "../../kernel/index.ts";
import { count, field, fields, list, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

const copies = lazy(() => count("durable copies there are"));

/** How many durable copies there are of what must not be lost. */
export const dataIntegrity = defineEvents("data_integrity", {
  REPLICATION_ALERT: {
    about: "Data on a node has fewer copies than it should.",
    orderKey: "node_id",
    dedup: "content",
    payload: () => ({
      ...fields("severity", "message"),
      node_id: field.node_id.describe("node that holds the data"),
      artifacts: field.artifacts.describe("artifacts with too few copies"),
      copies: copies().describe("durable copies of the rarest").optional(),
      required_copies: count("durable copies there should be").optional(),
      games: field.games.describe("games in them").optional(),
    }),
  },
  REPAIR_COMPLETED: {
    about: "Data with too few copies has one more.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("artifact_hash", "source_node_id", "duration_seconds", "data_type?"),
      node_id: field.node_id.describe("node that now holds a copy"),
      copies: copies(),
    }),
  },
  REPAIR_FAILED: {
    about: "Data with too few copies could not be copied.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("artifact_hash", "error", "retryable", "source_node_id?", "data_type?"),
      node_id: field.node_id.describe("node that was to hold a copy"),
      copies: copies(),
    }),
  },
  DATA_BACKUP_COMPLETED: {
    about: "A backup to an external drive is done; its receipts are kept.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("data_type", "bytes_transferred", "duration_seconds?"),
      node_id: field.node_id.describe("node that the drive is at"),
      artifacts: field.artifacts.describe("artifacts that were copied"),
      destination: word("drive, by its name"),
      artifact_hashes: field.artifact_hashes.describe("artifacts that were copied").optional(),
    }),
  },
  S3_BACKUP_COMPLETED: {
    about: "A backup to S3 is done; its receipts are kept.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("bytes_transferred", "duration_seconds?"),
      node_id: field.node_id.describe("node that sent it"),
      artifacts: field.artifacts.describe("artifacts that were copied"),
      bucket: word("bucket"),
      artifact_hashes: field.artifact_hashes.describe("artifacts that were copied").optional(),
      model_ids: list("models in the backup", field.model_id).optional(),
    }),
  },
});
