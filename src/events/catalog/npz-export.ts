import { field, fields, flag, numbers, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Games become training files, and files become one. */
export const npzExport = defineEvents("npz_export", {
  EXPORT_TRIGGERED: {
    about: "Somebody asks to export the games of a config into a training file now.",
    orderKey: "config_key",
    payload: () => ({ ...fields("config_key", "reason"), games: field.games.describe("games that wait").optional() }),
  },
  NPZ_EXPORT_STARTED: {
    about: "Games of a config are being turned into a training file.",
    orderKey: "config_key",
    payload: () => ({ ...fields("config_key", "job_id"), games: field.games.describe("games to export") }),
  },
  NPZ_EXPORT_COMPLETE: {
    about: "A training file is ready.",
    orderKey: "config_key",
    dedup: ["config_key", "artifact_hash"],
    legacy: ["NPZ_EXPORT_COMPLETED", "EXPORT_COMPLETE"],
    payload: () => ({
      ...fields("config_key", "job_id", "samples", "duration_seconds?", "artifact_bytes?"),
      artifact_hash: field.artifact_hash.describe("the training file"),
      games: field.games.describe("games in the file"),
      encoder_version: word("encoding of positions").optional(),
      node_id: field.node_id.describe("node that holds the file").optional(),
    }),
  },
  NPZ_COMBINATION_STARTED: {
    about: "Training files of a config are being blended by quality and age.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id"),
      artifact_hashes: field.artifact_hashes.describe("files to blend"),
    }),
  },
  NPZ_COMBINATION_COMPLETE: {
    about: "A blended training file is ready.",
    orderKey: "config_key",
    dedup: ["config_key", "artifact_hash"],
    payload: () => ({
      ...fields("config_key", "job_id", "samples", "duration_seconds?"),
      artifact_hash: field.artifact_hash.describe("the blended file"),
      artifact_hashes: field.artifact_hashes.describe("files that went in"),
      quality_weighted: flag("whether better games count more").optional(),
      samples_by_source: numbers("samples taken, by file").optional(),
    }),
  },
  NPZ_COMBINATION_FAILED: {
    about: "Blending failed; the plain export is used instead.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "error", "retryable"),
      artifact_hashes: field.artifact_hashes.describe("files that were to be blended").optional(),
    }),
  },
});
