import { z } from "zod";
import { count, field, fields, list, oneOf, some, text } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Games as they enter the books: written, found, merged. */
export const dataCollection = defineEvents("data_collection", {
  NEW_GAMES_AVAILABLE: {
    about: "Fresh games of a config are in the books and may be exported, synced and trained on.",
    orderKey: "config_key",
    wire: "new_games",
    legacy: ["NEW_GAMES"],
    stage: "selfplay_complete",
    payload: () => ({
      ...fields("config_key", "total_games", "quality_score?"),
      new_games: some("games added"),
      artifact_hash: field.artifact_hash.describe("game segment that holds them").optional(),
      node_id: field.node_id.describe("node that holds them").optional(),
    }),
  },
  DATABASE_CREATED: {
    about: "A new segment of games exists on a node and enters the books at once.",
    orderKey: "config_key",
    dedup: ["artifact_hash"],
    payload: () => ({
      ...fields("config_key", "artifact_hash", "games", "artifact_bytes"),
      node_id: field.node_id.describe("node that holds it"),
    }),
  },
  CONSOLIDATION_STARTED: {
    about: "The scattered game segments of a config are being merged into one set.",
    orderKey: "config_key",
    payload: () => ({ ...fields("config_key", "job_id"), artifacts: field.artifacts.describe("segments to merge") }),
  },
  CONSOLIDATION_COMPLETE: {
    about: "The game segments of a config are merged into one set without duplicates; export may run.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "duration_seconds?"),
      artifact_hash: field.artifact_hash.describe("the merged set"),
      games: field.games.describe("games in the merged set"),
      artifacts: field.artifacts.describe("segments that were merged"),
      duplicate_games: count("games that were there more than once"),
      new_games: some("games that the set did not have before; missing where there are none").optional(),
    }),
  },
  ORPHAN_GAMES_DETECTED: {
    about: "Game files were found on a node that no manifest knows.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("artifact_hashes", "config_keys?"),
      games: field.games.describe("games in them, as far as they can be read; missing where there are none").optional(),
      node_id: field.node_id.describe("node that holds them"),
      artifact_bytes: field.artifact_bytes.describe("size of all of them, in bytes").optional(),
      orphans: list(
        "each of them, and what becomes of it",
        z.object({
          artifact_hash: field.artifact_hash,
          config_key: field.config_key.nullable(),
          games: count("games in it"),
          artifact_bytes: field.artifact_bytes,
          place: text("where it lies on its node"),
          rule: oneOf("what becomes of it", ["adopt", "quarantine", "offer", "leave"]),
          reason: field.reason,
        }),
      ).optional(),
    }),
  },
  ORPHAN_GAMES_REGISTERED: {
    about: "Games that no manifest knew are in the books now.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("games", "artifact_hashes", "config_keys?"),
      node_id: field.node_id.describe("node that holds them"),
    }),
  },
});
