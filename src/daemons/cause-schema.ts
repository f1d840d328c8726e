/** A cause on the wire. It stands apart from what is said about causes, so that a command which only shows some builds no schema. */

import { z } from "zod";
import { instant } from "../events/instant.ts";
import { lazy } from "../kernel/index.ts";
import { CAUSE_LEVELS } from "./cause-levels.ts";

const step = lazy(() => z.object({ kind: z.string(), subject: z.string(), what: z.string() }));

export const cause = lazy(() =>
  z
    .object({
      code: z.string().describe("What it is, for programs; it never changes its meaning."),
      subject: z.string().describe("Where the trouble is: a config, a daemon, a job, a node by its label."),
      what: z.string().describe("The same in a sentence."),
      actual: z.union([z.string(), z.number()]).nullable(),
      required: z.union([z.string(), z.number()]).nullable(),
      since: instant.nullable(),
      level: z.enum(CAUSE_LEVELS),
      advice: z
        .object({ action: z.string(), subject: z.string() })
        .nullable()
        .describe("What to do about it; null where it goes on by itself."),
      because: z.array(step()).describe("From what was asked for down to the subject."),
      affects: z.array(z.string()).describe("Configs that stand still for it."),
    })
    .meta({ id: "Cause" }),
);
