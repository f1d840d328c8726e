import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { cloudEvent, name, time, whole } from "../http/fields.ts";
import { defineRoute } from "../http/wire.ts";

const tag = "consumers";
const base = "/v1/consumers/{consumer}/sessions";
const MAX_BODY_BYTES = 16 * 1_024 * 1_024;
const consumerParams = lazy(() => z.strictObject({ consumer: name }));
const seqs = lazy(() => z.array(z.int()));

/** One consumer, and its place in the journal. */
export const consumerRow = lazy(() =>
  z.looseObject({
    consumer: z.string(),
    kind: z.string(),
    low_water: z.int(),
    handler_version: z.string(),
    last_seen_at: time,
    expired_at: time.nullable(),
    lag: z.int().describe("Rows of the journal above its mark."),
    parked: z.int(),
    dead: z.int(),
    event_types: z.string(),
  }),
);

export const listConsumers = defineRoute("listConsumers", "GET /v1/consumers", {
  tag,
  summary: "Durable consumers, with their position in the journal.",
  about: "One row for each.",
  answer: () => z.object({ consumers: z.array(consumerRow()) }),
});

export const forgetConsumer = defineRoute("forgetConsumer", "DELETE /v1/consumers/{consumer}", {
  tag,
  summary: "Removes a consumer. The journal keeps no more events for it.",
  params: consumerParams,
  about: "The number of deliveries that are dropped.",
  answer: () => z.object({ forgiven: z.int() }),
});

const ofWorker = { tag, scope: "worker", limit: "traffic" } as const;
const ofSession = { ...ofWorker, params: () => z.strictObject({ consumer: name, session: name }) } as const;

export const openSession = defineRoute("openSession", `POST ${base}`, {
  ...ofWorker,
  summary: "Opens a session, and ends another session of the same consumer.",
  params: consumerParams,
  body: () =>
    z.strictObject({
      event_types: z.array(name).max(1_000).default([]),
      start: z.enum(["earliest", "now"]).default("now"),
      version: z.string().max(100).default("1"),
      lease_seconds: z.number().min(0.01).max(86_400).optional(),
    }),
  record: "after",
  bound: "durable consumers of a token or node: `router.max_consumers`",
  about: "The session is open.",
  answer: () => z.object({ session_id: z.string(), consumer: z.string() }),
});

const delivery = lazy(() => z.object({ attempt: z.int(), event: cloudEvent }));

export const pollSession = defineRoute("pollSession", `POST ${base}/{session}/poll`, {
  ...ofSession,
  summary: "Takes deliveries, and waits if there are none.",
  body: () =>
    z.strictObject({
      max: z.int().min(1).max(1_000).default(100),
      wait_seconds: z.number().min(0).max(60).default(0),
    }),
  record: "no",
  bound: "8 MB with one consumer at once",
  about: "The deliveries that you hold now.",
  answer: () => z.object({ deliveries: z.array(delivery()) }),
});

export const ackSession = defineRoute("ackSession", `POST ${base}/{session}/ack`, {
  ...ofSession,
  summary: "Acknowledges deliveries, and emits events in the same commit.",
  body: () =>
    z.strictObject({
      seqs: z.array(z.int().min(1)).min(1).max(10_000),
      emit: z
        .array(z.unknown())
        .max(1_000)
        .default([])
        .describe("Events that follow from these, committed with the ack."),
    }),
  maxBodyBytes: MAX_BODY_BYTES,
  // A number to find, and no event to check.
  itemCosts: { seqs: 0.1 },
  record: "after",
  about: "The deliveries that counted, and those that you no longer hold.",
  answer: () => z.object({ acked: seqs(), refused: seqs() }),
});

export const nackSession = defineRoute("nackSession", `POST ${base}/{session}/nack`, {
  ...ofSession,
  summary: "Reports that a delivery failed. This uses up one try.",
  body: () => z.strictObject({ seq: z.int().min(1), error: z.string().max(10_000) }),
  record: "after",
  about: "What happens to the delivery next.",
  answer: () => z.object({ outcome: z.enum(["retrying", "dead", "refused"]) }),
});

export const closeSession = defineRoute("closeSession", `DELETE ${base}/{session}`, {
  ...ofSession,
  summary: "Closes a session. Unacknowledged deliveries go back, and no try is used up.",
  record: "after",
  about: "The session is closed.",
  answer: () => z.object({ closed: z.literal(true) }),
});

export const streamSession = defineRoute("streamSession", `GET ${base}/{session}/stream`, {
  ...ofSession,
  summary:
    "Deliveries as they come, as JSON lines; an empty line is a sign of life. A lost connection ends the session.",
  limit: "stream",
  query: () =>
    z.strictObject({
      credit: whole(1, 10_000).default(256).describe("Unacknowledged events that may be on their way at once."),
    }),
  endless: true,
  about: "JSON lines `{attempt, event}`.",
  answer: () => z.string(),
  type: "application/x-ndjson",
});
