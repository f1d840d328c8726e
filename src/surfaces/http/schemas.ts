/** What the surface accepts, with bounds on everything, and what it answers. */
import { z } from "zod";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here.
const clean = /^[^\u0000-\u001f\u007f]*$/;

export const name = z.string().min(1).max(200).regex(clean, "control characters are not allowed");
const note = z.string().max(2_000);
const seconds = z.number().describe("Unix seconds");

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
/** A query says each thing once, or several times: both are lists here. */
const names = z
  .union([name.transform((one) => [one]), z.array(name).max(100)])
  .optional()
  .meta({ type: "array", items: { type: "string" } });

export const openSessionBody = z.strictObject({
  event_types: z.array(name).max(1_000).default([]),
  start: z.enum(["earliest", "now"]).default("now"),
  version: z.string().max(100).default("1"),
  lease_seconds: z.number().min(0.01).max(86_400).optional(),
});

export const pollBody = z.strictObject({
  max: z.int().min(1).max(1_000).default(100),
  wait_seconds: z.number().min(0).max(60).default(0),
});

export const ackBody = z.strictObject({
  seqs: z.array(z.int().min(1)).min(1).max(10_000),
  emit: z.array(z.unknown()).max(1_000).default([]).describe("Events that follow from these, committed with the ack."),
});

export const nackBody = z.strictObject({ seq: z.int().min(1), error: z.string().max(10_000) });

export const historyQuery = z.strictObject({
  event_type: name.optional(),
  origin: name.optional(),
  source: name.optional(),
  order_key: name.optional(),
  since: z.coerce.number().optional().describe("Unix seconds"),
  until: z.coerce.number().optional().describe("Unix seconds"),
  before: whole(1, Number.MAX_SAFE_INTEGER).optional().describe("Only events before this place in the journal."),
  limit: whole(1, 10_000).default(100),
});

export const traceQuery = z.strictObject({
  after: whole(0, Number.MAX_SAFE_INTEGER).default(0).describe("Only events after this place in the journal."),
  limit: whole(1, 1_000).default(1_000),
});

export const followQuery = z.strictObject({
  after: whole(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Begin after this place in the journal; with what comes from now on unless given."),
  event_type: names,
  category: names,
  config_key: names,
  node_id: names.describe("Said by this node, or about it."),
  source: names,
  order_key: names,
  class: z.enum(["durable", "volatile"]).optional(),
});

export const tailQuery = z.strictObject({ event_type: names });

export const deadLetterQuery = z.strictObject({
  id: whole(1, Number.MAX_SAFE_INTEGER).optional(),
  event_id: name.optional(),
  consumer: name.optional(),
  event_type: name.optional(),
  fingerprint: name.optional(),
  status: z.enum(["pending", "retrying", "recovered", "discarded"]).optional(),
  limit: whole(1, 10_000).default(100),
});

export const deadLetterActionBody = z.strictObject({
  id: z.int().min(1).optional(),
  event_id: name.optional(),
  consumer: name.optional(),
  event_type: name.optional(),
  fingerprint: name.optional(),
  before: z.number().optional().describe("Failed last before this time, in Unix seconds."),
  max_events: z.int().min(1).max(10_000).default(100),
  per_second: z.number().min(0.01).max(10_000).optional(),
  dry_run: z.boolean().default(false),
  actor: name.default("unknown"),
});

export const cleanupBody = z.strictObject({ older_than_hours: z.number().min(0).max(1e6) });

export const streamQuery = z.strictObject({
  credit: whole(1, 10_000).default(256).describe("Unacknowledged events that may be on their way at once."),
});

export const newTokenBody = z.strictObject({
  label: name,
  scope: z.enum(["read", "worker", "operator"]),
  expires_in_seconds: z
    .number()
    .min(1)
    .max(10 * 365 * 86_400)
    .optional(),
});

export const limitQuery = z.strictObject({ limit: whole(1, 1_000).default(100) });

export const alertQuery = z.strictObject({
  status: z.enum(["open", "acknowledged", "closed"]).optional(),
  severity: z.enum(["info", "warning", "error", "critical"]).optional(),
  limit: whole(1, 1_000).default(100),
});

export const reasonBody = z.strictObject({ reason: note.min(1) });
export const optionalReasonBody = z.strictObject({ reason: note.optional() });
export const noteBody = z.strictObject({ note: note.optional() });
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
    retryable: z.boolean(),
    hint: z.string().optional(),
    details: z.looseObject({}).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457. The code never changes its meaning." });

export const probeAnswer = z
  .object({
    status: z.enum(["ok", "failing"]),
    checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.string() })),
  })
  .meta({ id: "Probe" });

export const daemonRow = z
  .looseObject({ name: z.string(), state: z.string(), critical: z.boolean(), wanted: z.boolean() })
  .meta({ id: "Daemon" });

export const daemonOutcome = z.object({ name: z.string(), state: z.string(), ok: z.boolean(), message: z.string() });

export const unitRow = z
  .looseObject({ name: z.string(), status: z.string(), message: z.string(), subscribed: z.boolean() })
  .meta({ id: "Unit" });

export const alertRow = z
  .object({
    id: z.string(),
    key: z.string(),
    severity: z.enum(["info", "warning", "error", "critical"]),
    status: z.enum(["open", "acknowledged", "closed"]),
    title: z.string(),
    message: z.string(),
    event_type: z.string().nullable(),
    event_id: z.string().nullable(),
    subject: z.string().nullable(),
    opened_at: seconds,
    last_seen_at: seconds,
    count: z.int(),
    closed_at: seconds.nullable(),
    acknowledged_by: z.string().nullable(),
    deliveries: z.array(
      z.object({
        sink: z.string(),
        status: z.string(),
        at: seconds.nullable(),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: "Alert" });

export const healthAnswer = z
  .looseObject({
    status: z.enum(["healthy", "degraded", "unhealthy"]),
    score: z.number(),
    accepts_new_work: z.boolean(),
    reasons: z.array(z.string()),
    parts: z.array(z.looseObject({ name: z.string(), weight: z.number(), score: z.number(), message: z.string() })),
    components: z.array(z.looseObject({ component: z.string(), breaker: z.string() })),
    recoveries: z.looseObject({}),
    since: seconds.nullable(),
  })
  .meta({ id: "Health" });

export const whyAnswer = z
  .object({
    subject: z.string(),
    kind: z.string(),
    verdict: z.string(),
    since: seconds.nullable(),
    gates: z.array(
      z.object({
        gate: z.string(),
        passed: z.boolean(),
        actual: z.unknown(),
        required: z.unknown(),
        since: seconds.nullable(),
        hint: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: "Why" });

export const tokenRow = z
  .object({
    id: z.string(),
    label: z.string(),
    scope: z.enum(["read", "worker", "operator"]),
    status: z.enum(["active", "expired", "revoked"]),
    created_at: seconds,
    created_by: z.string(),
    expires_at: seconds.nullable(),
    revoked_at: seconds.nullable(),
    last_used_at: seconds.nullable(),
  })
  .meta({ id: "Token" });

export const writeRow = z.object({
  at: seconds,
  actor: z.string(),
  scope: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.int(),
  request_id: z.string(),
  from: z.string(),
});

export const deadLetterRow = z
  .looseObject({ id: z.int(), consumer: z.string(), event_id: z.string(), event_type: z.string(), status: z.string() })
  .meta({ id: "DeadLetter" });

export const deliveries = z.array(z.object({ consumer: z.string(), state: z.string() }));
export const document = z.looseObject({});
