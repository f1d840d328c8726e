import { z } from "zod";
import { field } from "../../events/fields.ts";
import { lazy } from "../../kernel/index.ts";
import { dryRun, name } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const sha256 = lazy(() => z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex"));
const count = lazy(() => z.int().min(0).max(10_000_000));
export const MAX_IMPORTED = 50;

export const importFiles = defineRoute("importFiles", "POST /v1/imports", {
  tag: "artifacts",
  limit: "heavy",
  summary:
    "Takes files of games and rows that were made elsewhere and whose bytes were sent before. Each is read again and its games are played through.",
  bound: `${MAX_IMPORTED} files of one request, read one after the other on one thread`,
  body: () =>
    z.strictObject({
      files: z
        .array(
          z.strictObject({
            sha256: sha256(),
            kind: z.enum(["games", "samples"]),
            config_key: field.config_key,
            games: count(),
            rows: count(),
            producer: name.describe("Who made it."),
            rules_version: name.nullable().describe("The rules by which its games were played through."),
            rows_of: sha256().optional().describe("For samples: the file of games that they are of."),
          }),
        )
        .min(1)
        .max(MAX_IMPORTED),
      dry_run: dryRun,
    }),
  about: "What became of each, in their order.",
  answer: () =>
    z.object({
      files: z.array(
        z.object({
          sha256: z.string(),
          state: z.enum(["imported", "new", "known", "refused"]),
          why: z.string().nullable(),
        }),
      ),
    }),
});

export type ImportVerdicts = Answer<typeof importFiles>["files"];
