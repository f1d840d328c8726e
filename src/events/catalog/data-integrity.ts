import {
  artifactHash,
  artifactHashes,
  artifacts,
  bytesTransferred,
  count,
  dataType,
  durationSeconds,
  error,
  games,
  list,
  message,
  modelId,
  nodeId,
  retryable,
  severity,
  sourceNodeId,
  word,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

const copies = count("durable copies there are");

/** How many durable copies there are of what must not be lost. */
export const dataIntegrity = defineEvents("data_integrity", {
  REPLICATION_ALERT: {
    about: "Data on a node has fewer copies than it should.",
    class: "durable",
    orderKey: "node_id",
    dedup: "content",
    provisional: true,
    payload: {
      node_id: nodeId.describe("node that holds the data"),
      severity,
      message,
      artifacts: artifacts.describe("artifacts with too few copies"),
      copies: copies.describe("durable copies of the rarest").optional(),
      required_copies: count("durable copies there should be").optional(),
      games: games.describe("games in them").optional(),
    },
  },
  REPAIR_COMPLETED: {
    about: "Data with too few copies has one more.",
    class: "durable",
    orderKey: "node_id",
    payload: {
      node_id: nodeId.describe("node that now holds a copy"),
      artifact_hash: artifactHash,
      copies,
      source_node_id: sourceNodeId,
      duration_seconds: durationSeconds,
      data_type: dataType.optional(),
    },
  },
  REPAIR_FAILED: {
    about: "Data with too few copies could not be copied.",
    class: "durable",
    orderKey: "node_id",
    payload: {
      node_id: nodeId.describe("node that was to hold a copy"),
      artifact_hash: artifactHash,
      copies,
      error,
      retryable,
      source_node_id: sourceNodeId.optional(),
      data_type: dataType.optional(),
    },
  },
  DATA_BACKUP_COMPLETED: {
    about: "A backup to an external drive is done; its receipts are kept.",
    class: "durable",
    orderKey: "node_id",
    provisional: true,
    payload: {
      node_id: nodeId.describe("node that the drive is at"),
      data_type: dataType,
      artifacts: artifacts.describe("artifacts that were copied"),
      bytes_transferred: bytesTransferred,
      destination: word("drive, by its name"),
      artifact_hashes: artifactHashes.describe("artifacts that were copied").optional(),
      duration_seconds: durationSeconds.optional(),
    },
  },
  S3_BACKUP_COMPLETED: {
    about: "A backup to S3 is done; its receipts are kept.",
    class: "durable",
    orderKey: "node_id",
    provisional: true,
    payload: {
      node_id: nodeId.describe("node that sent it"),
      artifacts: artifacts.describe("artifacts that were copied"),
      bytes_transferred: bytesTransferred,
      bucket: word("bucket"),
      artifact_hashes: artifactHashes.describe("artifacts that were copied").optional(),
      model_ids: list("models in the backup", modelId).optional(),
      duration_seconds: durationSeconds.optional(),
    },
  },
});
