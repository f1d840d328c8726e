import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { cloudEvent, dryRun, name, publishedReceipt, note as remark, time, whole } from "../http/fields.ts";
import { defineRoute } from "../http/wire.ts";

const tag = "events";
/** Events that one request may carry. */
export const MAX_EVENTS = 1_000;
const MAX_BODY_BYTES = 16 * 1_024 * 1_024;
const params = lazy(() => z.strictObject({ id: name }));
const place = lazy(() => whole(0, Number.MAX_SAFE_INTEGER));

/** A query says each thing once, or several times: both are lists here. */
const names = lazy(() =>
  z
    .union([name.transform((one) => [one]), z.array(name).max(100)])
    .optional()
    .meta({ type: "array", items: { type: "string" } }),
);

const ref = { $ref: "#/components/schemas/CloudEvent" };
const note = lazy(() =>
  z.object({
    event: cloudEvent,
    deliveries: z.array(z.object({ consumer: z.string(), state: z.string() })),
  }),
);

export const publishEvents = defineRoute("publishEvents", "POST /v1/events", {
  tag,
  summary: "Publishes one event or a list of them, all or nothing.",
  scope: "worker",
  limit: "traffic",
  // What an event must be is said by the catalog, in better words than a schema has.
  body: () => z.unknown().meta({ anyOf: [ref, { type: "array", items: ref, minItems: 1, maxItems: MAX_EVENTS }] }),
  maxBodyBytes: MAX_BODY_BYTES,
  record: "after",
  about: "The events are on disk.",
  answer: () =>
    z.object({
      events: z.array(publishedReceipt),
    }),
});

export const listEvents = defineRoute("listEvents", "GET /v1/events", {
  tag,
  summary: "The newest matching events, oldest first. A page has at most 8 MB.",
  limit: "heavy",
  query: () =>
    z.strictObject({
      event_type: name.optional(),
      origin: name.optional(),
      source: name.optional(),
      order_key: name.optional(),
      // The times of events are seconds inside, too: they come from publishers.
      since: z.coerce.number().optional().describe("Unix seconds"),
      until: z.coerce.number().optional().describe("Unix seconds"),
      before: whole(1, Number.MAX_SAFE_INTEGER).optional().describe("Only events before this place in the journal."),
      limit: whole(1, 10_000).default(100),
    }),
  about: "A page; `next_before` leads to the page before it.",
  answer: () => z.object({ events: z.array(cloudEvent), next_before: z.int().nullable() }),
});

export const getEvent = defineRoute("getEvent", "GET /v1/events/{id}", {
  tag,
  summary: "One event, and its state at each consumer.",
  params,
  about: "The event.",
  answer: note,
});

export const getTrace = defineRoute("getTrace", "GET /v1/events/{id}/trace", {
  tag,
  summary: "All events with the same trace, oldest first. A page has at most 8 MB.",
  limit: "heavy",
  params,
  query: () =>
    z.strictObject({
      after: place().default(0).describe("Only events after this place in the journal."),
      limit: whole(1, 1_000).default(1_000),
    }),
  about: "A page; `next_after` leads to the next one.",
  answer: () => z.object({ trace_id: z.string(), events: z.array(note()), next_after: z.int().nullable() }),
});

export const getEventUse = defineRoute("getEventUse", "GET /v1/event-types/{name}", {
  tag,
  summary: "Who publishes an event and who consumes it, how often it comes, and when it came last.",
  limit: "heavy",
  params: () => z.strictObject({ name }),
  about: "By declaration, and by what was seen.",
  answer: () =>
    z.object({
      event_type: z.string(),
      definition: z
        .object({
          about: z.string(),
          category: z.string(),
          class: z.string(),
          critical: z.boolean(),
          fields: z.array(z.object({ name: z.string(), type: z.string(), required: z.boolean(), meaning: z.string() })),
        })
        .nullish()
        .describe("What the catalog says of it; null for a name that is not in it."),
      emitters: z.array(z.string()).describe("Units and parts that declare to emit it."),
      sources: z
        .array(z.object({ source: z.string(), events: z.int(), last_seen_at: time }))
        .describe("Who published the newest of them."),
      hearers: z.array(z.string()).describe("Units that declare to hear it."),
      consumers: z
        .array(z.object({ consumer: z.string(), kind: z.string(), lag: z.int() }))
        .describe("Durable consumers that are owed it."),
      listeners: z.array(z.string()).describe("Who else hears it in the main process now."),
      last_seen_at: time.nullable(),
      last_hour: z.int(),
      per_hour: z.number().describe("Over the last day, or over the newest 5,000 where they are younger."),
    }),
});

export const listEventUse = defineRoute("listEventUse", "GET /v1/event-types", {
  tag,
  summary:
    "Every durable event that came lately: how often, when last, who publishes and who hears it; and all durable consumers.",
  limit: "heavy",
  // The times of events are seconds inside, too: they come from publishers.
  query: () => z.strictObject({ since: z.coerce.number().min(0).default(0).describe("Unix seconds") }),
  about: "From the newest 50,000 events of the journal.",
  answer: () =>
    z.object({
      looked_at: z.int().describe("Events that were counted."),
      since: time.nullable().describe("When the oldest of them was published."),
      event_types: z.array(
        z.object({
          event_type: z.string(),
          events: z.int(),
          last_hour: z.int(),
          per_hour: z.number().describe("Over the time that was looked at."),
          last_seen_at: time,
          sources: z.array(z.string()).describe("Who published them."),
          hearers: z.array(z.string()).describe("Units that declare to hear it, and consumers of other programs."),
        }),
      ),
      consumers: z.array(
        z.object({ consumer: z.string(), kind: z.string(), lag: z.int(), parked: z.int(), dead_letters: z.int() }),
      ),
    }),
});

export const replayEvents = defineRoute("replayEvents", "POST /v1/consumers/{consumer}/replay", {
  tag: "consumers",
  summary: "Delivers events to a consumer again that it had before, oldest first.",
  params: () => z.strictObject({ consumer: name }),
  limit: "heavy",
  body: () =>
    z.strictObject({
      // The times of events are seconds inside, too: they come from publishers.
      since: z.number().min(0).describe("Unix seconds: events that were published then or later."),
      until: z.number().min(0).optional().describe("Unix seconds: events that were published before."),
      event_types: z.array(name).max(100).default([]).describe("All that it has asked for unless given."),
      max: z.int().min(1).max(10_000).default(1_000),
      reason: remark.optional(),
      dry_run: dryRun,
    }),
  about: "The events that are delivered again, or would be.",
  answer: () =>
    z.object({
      consumer: z.string(),
      dry_run: z.boolean(),
      events: z.int(),
      more: z.boolean().describe("There are more than max."),
      connected: z.boolean().describe("Somebody consumes under the name now; otherwise they wait for it."),
      by_type: z.array(z.object({ event_type: z.string(), events: z.int(), first_seq: z.int(), last_seq: z.int() })),
    }),
});

export const tailEvents = defineRoute("tailEvents", "GET /v1/stream", {
  tag,
  summary: "New events, as JSON lines. An empty line only shows that the connection is alive.",
  limit: "stream",
  query: () => z.strictObject({ event_type: names() }),
  endless: true,
  about:
    "JSON lines: `{event}`, `{missed}` for a reader that is too slow, and `{ended}` with the reason if it is cut off.",
  answer: () => z.string(),
  type: "application/x-ndjson",
});

export const followEvents = defineRoute("followEvents", "GET /events", {
  tag,
  summary: "Server-sent events: the journal from any position on, then new events.",
  limit: "stream",
  query: () =>
    z.strictObject({
      after: place()
        .optional()
        .describe("Begin after this place in the journal; with what comes from now on unless given."),
      event_type: names(),
      category: names(),
      config_key: names(),
      node_id: names().describe("Said by this node, or about it."),
      source: names(),
      order_key: names(),
      class: z.enum(["durable", "volatile"]).optional(),
    }),
  endless: true,
  about: "Messages with the event as data and its position in the journal as id. `Last-Event-ID` continues from there.",
  answer: () => z.string(),
  type: "text/event-stream",
});
