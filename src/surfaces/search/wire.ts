import { z } from "zod";
import { name } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const KINDS = [
  "config",
  "job",
  "model",
  "games",
  "file",
  "node",
  "daemon",
  "unit",
  "event",
  "event type",
  "alert",
  "dead letter",
] as const;

export const findAnything = defineRoute("findAnything", "GET /v1/search", {
  tag: "system",
  summary: "Whatever has this name or id, or one that begins or ends so.",
  limit: "heavy",
  query: () => z.strictObject({ text: name }),
  about: "At most 20, those with exactly this name first.",
  answer: () =>
    z.object({
      found: z.array(
        z.object({
          kind: z.enum(KINDS),
          id: z.string().describe("As its own route takes it."),
          label: z.string().describe("What people call it, with what tells it from others."),
          exact: z.boolean().describe("It has just this name."),
        }),
      ),
    }),
});

export type Found = Answer<typeof findAnything>["found"][number];
