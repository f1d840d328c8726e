import { z } from "zod";
import { field } from "../../events/fields.ts";
import { lazy } from "../../kernel/index.ts";
import { time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";
import { whereItRuns } from "../pipeline/wire.ts";

const segment = lazy(() =>
  z
    .object({
      sha256: z.string(),
      seq: z.int().optional().describe("Its place among all files, in the order they were recorded."),
      config_key: z.string().nullable(),
      games: z.int(),
      iteration: z.int().nullable(),
      producer: z.string(),
      node: z.string().optional().describe("What people call the producer."),
      work_id: z.string().nullable(),
      state: z.string(),
      created_at: time,
    })
    .meta({ id: "Segment", description: "A file of played games." }),
);

export const listRecords = defineRoute("listRecords", "GET /v1/records", {
  ...whereItRuns,
  summary: "Files of played games, newest first.",
  query: () =>
    z.strictObject({
      config_key: field.config_key.optional(),
      before: whole(1, Number.MAX_SAFE_INTEGER).optional().describe("Only files before this `seq`."),
      limit: whole(1, 1_000).default(20),
    }),
  about: "The matching ones.",
  answer: () => z.object({ segments: z.array(segment()) }),
});

export const getRecord = defineRoute("getRecord", "GET /v1/records/{id}", {
  ...whereItRuns,
  summary: "The file of games whose hash starts with `id`.",
  params: () =>
    z.strictObject({
      id: z.string().regex(/^[0-9a-f]{6,64}$/, "must be a SHA-256 in hex, or its first 6 digits"),
    }),
  about: "The file.",
  answer: segment,
});

export type Segment = Answer<typeof getRecord>;
