import { z } from "zod";
import { cause } from "../../daemons/cause-schema.ts";
import { name, time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

export const getWhy = defineRoute("why", "GET /v1/why/{subject}", {
  tag: "system",
  summary: "Why a subject does not work: every gate with its actual and its required value.",
  params: () => z.strictObject({ subject: name }),
  about: "The gates, in the order they are asked.",
  answer: () =>
    z
      .object({
        subject: z.string(),
        label: z.string().optional().describe("What people call it, where that is something else."),
        kind: z.string(),
        verdict: z.string(),
        since: time.nullable(),
        cause: cause().nullish().describe("The root of it; null where nothing stands in the way."),
        gates: z.array(
          z.object({
            gate: z.string(),
            passed: z.boolean(),
            actual: z.unknown(),
            required: z.unknown(),
            since: time.nullable(),
            in_progress: z.boolean().optional().describe("It has not passed yet, and is on its way: no refusal."),
            hint: z.string().nullable(),
            advice: z
              .object({ action: z.string(), subject: z.string() })
              .nullish()
              .describe("The hint as data, where it is something to do or to ask."),
          }),
        ),
      })
      .meta({ id: "Why" }),
});

export type Why = Answer<typeof getWhy>;
