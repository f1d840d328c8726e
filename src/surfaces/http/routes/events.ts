import { z } from "zod";
import { OperatingError } from "../../../kernel/index.ts";
import { type EventRouter, eventById, fromStored, pairsOfEvent, type StoredEvent } from "../../../router/index.ts";
import { followEvents, tailEvents } from "../follow.ts";
import { eventsOfBody, ingestFor } from "../ingest.ts";
import { historyPage, tracePage } from "../journal-pages.ts";
import { onTheWire } from "../on-the-wire.ts";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "events";
const MOST_EVENTS = 1_000;
const MOST_BODY_BYTES = 16 * 1_024 * 1_024;
const params = z.strictObject({ id: schema.name });

const find = (router: EventRouter, id: string): StoredEvent => {
  const stored = eventById(router.store, id);
  if (stored === undefined) throw new OperatingError("EVENT_NOT_FOUND", `no event ${id} in the journal`);
  return stored;
};

const ref = { $ref: "#/components/schemas/CloudEvent" };
/** What an event must be is said by the catalog, in better words than a schema has. */
const published = z.unknown().meta({ anyOf: [ref, { type: "array", items: ref, minItems: 1, maxItems: MOST_EVENTS }] });

const note = z.object({ event: schema.cloudEvent, deliveries: schema.deliveries });

/** Names that a journal cannot hold are refused in the same words as where one publishes. */
const canonical = (router: EventRouter, name: string | undefined): string | undefined => {
  if (name === undefined) return undefined;
  const known = router.catalog.names.resolve(name);
  if (known === undefined && router.settings.strictNames) throw router.catalog.names.unknown(name);
  return known?.name ?? name;
};

export const eventRoutes: readonly Route[] = [
  route({
    id: "publishEvents",
    method: "POST",
    path: "/v1/events",
    tag,
    summary: "Publishes one event or a list of them, all or nothing.",
    scope: "worker",
    limit: "traffic",
    body: published,
    mostBodyBytes: MOST_BODY_BYTES,
    answers: {
      200: {
        about: "They are on disk.",
        schema: z.object({
          events: z.array(
            z.object({
              event_id: z.string(),
              event_type: z.string(),
              seq: z.int().nullable(),
              suppressed: z.enum(["event_id", "content"]).nullable(),
            }),
          ),
        }),
      },
    },
    record: "after",
    async handle({ ports, body, caller }) {
      const prepared = eventsOfBody(body, MOST_EVENTS).map(ingestFor(ports, caller));
      const published = await ports.router.publishAll(prepared);
      return {
        events: published.map(({ eventId, eventType, seq, suppressed }) => ({
          event_id: eventId,
          event_type: eventType,
          seq,
          suppressed,
        })),
      };
    },
  }),
  route({
    id: "listEvents",
    method: "GET",
    path: "/v1/events",
    tag,
    summary: "The newest events that fit, oldest first; a page has at most 8 MB.",
    scope: "read",
    limit: "heavy",
    query: schema.historyQuery,
    answers: {
      200: {
        about: "A page; next_before leads to the one before it.",
        schema: z.object({ events: z.array(schema.cloudEvent), next_before: z.int().nullable() }),
      },
    },
    async handle({ ports: { router, store, clock }, query }) {
      const { event_type, order_key, before, limit, ...rest } = query;
      const filter = { ...rest, eventType: canonical(router, event_type), orderKey: order_key };
      const { rows, nextBefore } = await historyPage(store, clock, filter, { before, limit });
      return { events: rows.map((row) => onTheWire(fromStored(router.catalog, row))), next_before: nextBefore };
    },
  }),
  route({
    id: "getEvent",
    method: "GET",
    path: "/v1/events/{id}",
    tag,
    summary: "One event, and what became of it at each consumer.",
    scope: "read",
    limit: "read",
    params,
    answers: { 200: { about: "The event.", schema: note } },
    handle({ ports: { router }, params: { id } }) {
      const stored = find(router, id);
      return {
        event: onTheWire(fromStored(router.catalog, stored)),
        deliveries: pairsOfEvent(router.store, stored.seq),
      };
    },
  }),
  route({
    id: "getTrace",
    method: "GET",
    path: "/v1/events/{id}/trace",
    tag,
    summary: "All that belongs to the trace of an event, oldest first; a page has at most 8 MB.",
    scope: "read",
    limit: "heavy",
    params,
    query: schema.traceQuery,
    answers: {
      200: {
        about: "A page; next_after leads to the next one.",
        schema: z.object({ trace_id: z.string(), events: z.array(note), next_after: z.int().nullable() }),
      },
    },
    async handle({ ports: { router, store, clock }, params: { id }, query }) {
      const { trace_id } = find(router, id);
      const { events, nextAfter } = await tracePage(store, clock, trace_id, query);
      return {
        trace_id,
        events: events.map(({ row, deliveries }) => ({
          event: onTheWire(fromStored(router.catalog, row)),
          deliveries,
        })),
        next_after: nextAfter,
      };
    },
  }),
  route({
    id: "tailEvents",
    method: "GET",
    path: "/v1/stream",
    tag,
    summary: "What happens from now on, as JSON lines; an empty line is a sign of life.",
    scope: "read",
    limit: "stream",
    query: schema.tailQuery,
    answers: {
      200: {
        about: "JSON lines `{event}`, and `{missed}` for a reader that is too slow.",
        schema: z.string(),
        type: "application/x-ndjson",
      },
    },
    endless: true,
    handle({ ports: { router, clock }, query, stream, waiting }) {
      const tail = tailEvents(router, clock, query.event_type, waiting);
      return stream((out) => tail.run(out));
    },
  }),
  route({
    id: "followEvents",
    method: "GET",
    path: "/events",
    tag,
    summary: "Server-sent events: the journal from any place on, and then what happens.",
    scope: "read",
    limit: "stream",
    query: schema.followQuery,
    answers: {
      200: {
        about:
          "Messages with an event as data and its place in the journal as id; `Last-Event-ID` reads on from there.",
        schema: z.string(),
        type: "text/event-stream",
      },
    },
    endless: true,
    handle({ ports: { router, clock }, query: { after, ...filter }, stream, lastEventId, waiting }) {
      const follow = followEvents({ router, clock, filter, after: lastEventId ?? after, waiting });
      return stream((out) => follow.run(out));
    },
  }),
];
