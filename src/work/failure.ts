import { z } from "zod";
import { FAILURE_CLASSES } from "./retry-rules.ts";

/** What the holder says about a failed attempt. */
export const failureSchema = z.strictObject({
  class: z.enum(FAILURE_CLASSES),
  error: z.string().min(1),
  error_code: z.string().min(1).max(200).optional(),
  stderr_tail: z.string().optional(),
});
export type WorkFailure = z.output<typeof failureSchema>;
