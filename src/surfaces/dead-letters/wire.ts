import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { name, time, whole } from "../http/fields.ts";
import { defineRoute } from "../http/wire.ts";

const tag = "dead letters";
const status = lazy(() => z.enum(["pending", "retrying", "recovered", "discarded"]));

const filter = lazy(() => ({
  event_id: name.optional(),
  consumer: name.optional(),
  event_type: name.optional(),
  fingerprint: name.optional(),
}));

const failed = lazy(() => ({
  consumer: z.string(),
  event_type: z.string(),
  fingerprint: z.string(),
  error: z.string(),
  first_failed_at: time,
  last_failed_at: time,
}));

export const letter = lazy(() =>
  z
    .looseObject({
      ...failed(),
      id: z.int(),
      event_id: z.string(),
      seq: z.int(),
      lane: z.string(),
      attempts: z.int(),
      handler_version: z.string(),
      status: status(),
      retry_count: z.int(),
      resolved_at: time.nullable(),
      resolved_by: z.string().nullable(),
    })
    .meta({ id: "DeadLetter" }),
);

export const letters = lazy(() => z.object({ dead_letters: z.array(letter()) }));
export const letterGroups = lazy(() => z.object({ groups: z.array(z.looseObject({ ...failed(), letters: z.int() })) }));

export const listDeadLetters = defineRoute("listDeadLetters", "GET /v1/dead-letters", {
  tag,
  summary: "Deliveries without a try left. A page has at most 8 MB.",
  limit: "heavy",
  query: () =>
    z.strictObject({
      ...filter(),
      id: whole(1, Number.MAX_SAFE_INTEGER).optional(),
      status: status().optional(),
      limit: whole(1, 10_000).default(100),
    }),
  about: "Oldest first.",
  answer: letters,
});

export const summarizeDeadLetters = defineRoute("summarizeDeadLetters", "GET /v1/dead-letters/summary", {
  tag,
  summary: "Dead letters by status, grouped by cause.",
  limit: "heavy",
  about: "Counts, and groups of the pending letters.",
  answer: () => letterGroups().extend({ counts: z.record(status(), z.int()) }),
});

const order = {
  tag,
  body: () =>
    z.strictObject({
      ...filter(),
      id: z.int().min(1).optional(),
      before: time.optional().describe("Failed last before this time, in Unix seconds."),
      max_events: z.int().min(1).max(10_000).default(100),
      per_second: z.number().min(0.01).max(10_000).optional(),
      dry_run: z.boolean().default(false),
      actor: name.default("unknown"),
    }),
  about: "The letters that were selected.",
  answer: () => letters().extend({ dry_run: z.boolean() }),
} as const;

export const retryDeadLetters = defineRoute("retryDeadLetters", "POST /v1/dead-letters/retry", {
  ...order,
  summary: "Sends letters back to the consumer that failed, and to no other.",
});

export const discardDeadLetters = defineRoute("discardDeadLetters", "POST /v1/dead-letters/discard", {
  ...order,
  summary: "Discards letters for good, and records it.",
});

export const cleanUpDeadLetters = defineRoute("cleanUpDeadLetters", "POST /v1/dead-letters/cleanup", {
  tag,
  summary: "Deletes letters that were resolved long ago. Unresolved letters stay.",
  body: () => z.strictObject({ older_than_hours: z.number().min(0).max(1e6) }),
  about: "The number of deleted letters.",
  answer: () => z.object({ deleted: z.int() }),
});
