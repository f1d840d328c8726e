/** What the local API accepts, with bounds on everything. */
import { z } from "zod";

const name = z.string().min(1).max(200);

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
  /** Events that follow from these, committed together with the ack. */
  emit: z.array(z.unknown()).max(1_000).default([]),
});

export const nackBody = z.strictObject({ seq: z.int().min(1), error: z.string().max(10_000) });

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

export const historyQuery = z.object({
  event_type: name.optional(),
  origin: name.optional(),
  source: name.optional(),
  order_key: name.optional(),
  since: z.coerce.number().optional(),
  until: z.coerce.number().optional(),
  limit: whole(1, 10_000).default(100),
});

export const deadLetterQuery = z.object({
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
  /** Failed last before this time, in Unix seconds. */
  before: z.number().optional(),
  max_events: z.int().min(1).max(10_000).default(100),
  per_second: z.number().min(0.01).max(10_000).optional(),
  dry_run: z.boolean().default(false),
  actor: name.default("unknown"),
});

export const streamQuery = z.object({
  /** Unacknowledged events that may be on their way at once. */
  credit: whole(1, 10_000).default(256),
});
