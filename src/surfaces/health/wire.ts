import { z } from "zod";
import { cause } from "../../daemons/cause-schema.ts";
import { time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

export const getHealth = defineRoute("getHealth", "GET /health", {
  tag: "system",
  summary: "The health of the system, with the reasons.",
  about: "The verdict and its reasons.",
  answer: () =>
    z
      .looseObject({
        status: z.enum(["healthy", "degraded", "unhealthy"]),
        score: z.number(),
        accepts_new_work: z.boolean(),
        reasons: z.array(z.string()),
        parts: z.array(z.looseObject({ name: z.string(), weight: z.number(), score: z.number(), message: z.string() })),
        components: z.array(
          z.looseObject({
            component: z.string(),
            breaker: z.string(),
            errors: z.int(),
            last_error: z.string().nullable(),
            last_error_at: time.nullable(),
          }),
        ),
        recoveries: z.looseObject({}),
        since: time.nullable(),
        causes: z.array(cause()).describe("What is wrong, each root once, worst first; the same as in the status."),
      })
      .meta({ id: "Health" }),
});

export type Health = Answer<typeof getHealth>;
