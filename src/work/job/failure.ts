import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { FAILURE_CLASSES } from "./retry-rules.ts";

/** What the holder says about a failed attempt. */
export const failureSchema = lazy(() =>
  z.strictObject({
    class: z.enum(FAILURE_CLASSES),
    error: z.string().min(1),
    error_code: z.string().min(1).max(200).optional(),
    stderr_tail: z.string().optional(),
  }),
);
export type WorkFailure = z.output<ReturnType<typeof failureSchema>>;
