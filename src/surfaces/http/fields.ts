/** Fields that several features send or answer, with bounds on everything. */
import { z } from "zod";
import { type ErrorKind, errorKinds } from "../../kernel/index.ts";

export { instant as time } from "../../events/instant.ts";

/** What became of a published event: where it stands in the journal, or which earlier one it repeats. */
export const publishedReceipt = z.object({
  event_id: z.string(),
  event_type: z.string(),
  seq: z.int().nullable(),
  suppressed: z.enum(["event_id", "content"]).nullable(),
});
export type PublishedReceipt = z.output<typeof publishedReceipt>;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here.
const clean = /^[^\u0000-\u001f\u007f]*$/;

export const name = z.string().min(1).max(200).regex(clean, "control characters are not allowed");
/** Whether it is only asked what would change. */
export const dryRun = z.boolean().default(false);
export const note = z.string().max(2_000);
export const word = z.string().min(1).max(200);
export const nodeId = z.string().regex(/^[\w.:-]{1,200}$/, "must be 1 to 200 letters, digits or . : - _");

/** A whole number in a query. */
export const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

export const reasonBody = z.strictObject({ reason: note.min(1) });
export const optionalReasonBody = z.strictObject({ reason: note.optional() });
export const emptyBody = z.strictObject({});

export const cloudEvent = z
  .looseObject({ specversion: z.string(), id: z.string(), type: z.string(), source: z.string() })
  .meta({ id: "CloudEvent", description: "CloudEvents 1.0 in JSON; asyncapi.json has the schema of each payload." });

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().optional(),
    code: z.string(),
    kind: z.enum(Object.keys(errorKinds) as [ErrorKind]),
    retryable: z.boolean(),
    hint: z.string().optional(),
    details: z.looseObject({}).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457. The code never changes its meaning." });

const refusal = z.object({ code: z.string(), message: z.string(), retryable: z.boolean() });

/** One answer for each of many, in the order of the request: a refusal concerns its own alone. */
export const answersTo = <V extends z.ZodType>(value: V) =>
  z.object({
    answers: z.array(
      z.union([z.object({ ok: z.literal(true), value }), z.object({ ok: z.literal(false), error: refusal })]),
    ),
  });

export const offer = z
  .strictObject({
    cpu: z.number().min(0).max(65_536),
    gpu: z.number().min(0).max(4_096).default(0),
    memory_gb: z.number().min(0).max(1_000_000).default(0),
    gpu_memory_gb: z.number().min(0).max(65_536).default(0),
    tags: z.array(z.string().min(1).max(64)).max(64).default([]),
  })
  .meta({ id: "Offer", description: "What a node has free." });

export const document = z.looseObject({});
/** A document whose shape is that of a type; it is taken as it comes. */
export const documentOf = <T extends object>() => document as unknown as z.ZodType<T, T>;
