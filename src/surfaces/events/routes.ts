import { fieldsOf } from "../../events/index.ts";
import { defined, OperatingError } from "../../kernel/index.ts";
import { type EventRouter, eventById, fromStored, pairsOfEvent, type StoredEvent } from "../../router/index.ts";
import { onTheWire } from "../http/cloud-event.ts";
import { inSlices } from "../http/in-slices.ts";
import { handle, type Route } from "../http/route.ts";
import { countEvents, seenOf, useOf } from "./event-use.ts";
import { openFollow, openTail } from "./follow.ts";
import { eventsOfBody, ingestFor } from "./ingest.ts";
import { historyPage, tracePage } from "./journal-pages.ts";
import {
  followEvents,
  getEvent,
  getEventUse,
  getTrace,
  listEvents,
  listEventUse,
  MAX_EVENTS,
  publishEvents,
  replayEvents,
  tailEvents,
} from "./wire.ts";

const find = (router: EventRouter, id: string): StoredEvent => {
  const stored = eventById(router.store, id);
  if (stored === undefined) throw OperatingError.notFound("EVENT_NOT_FOUND", `no event ${id} in the journal`);
  return stored;
};

/** Names that a journal cannot hold are refused in the same words as where one publishes. */
const canonical = (router: EventRouter, name: string | undefined): string | undefined => {
  if (name === undefined) return undefined;
  const known = router.catalog.names.resolve(name);
  if (known === undefined && router.settings.strictNames) throw router.catalog.names.unknown(name);
  return known?.name ?? name;
};

export const eventRoutes: readonly Route[] = [
  handle(publishEvents, async ({ ports, body, caller, headers }) => {
    const prepared = await inSlices(eventsOfBody(body, MAX_EVENTS), ingestFor(ports, caller, headers.traceparent));
    const published = await ports.router.publishAll(prepared);
    const events = published.map(({ eventId: event_id, eventType: event_type, seq, suppressed }) => ({
      event_id,
      event_type,
      seq,
      suppressed,
    }));
    return { events };
  }),
  handle(listEvents, async ({ ports: { router, store }, query, signal }) => {
    const { event_type, order_key, before, limit, ...rest } = query;
    const filter = { ...rest, eventType: canonical(router, event_type), orderKey: order_key };
    const { rows, nextBefore } = await historyPage(store, filter, { before, limit }, signal);
    const events = await inSlices(rows, (row) => onTheWire(fromStored(router.catalog, row)));
    return { events, next_before: nextBefore };
  }),
  handle(getEvent, ({ ports: { router }, params: { id } }) => {
    const stored = find(router, id);
    return {
      event: onTheWire(fromStored(router.catalog, stored)),
      deliveries: pairsOfEvent(router.store, stored.seq),
    };
  }),
  handle(getTrace, async ({ ports: { router, store, clock }, params: { id }, query }) => {
    const { trace_id } = find(router, id);
    const { events, nextAfter } = await tracePage(store, clock, trace_id, query);
    const notes = events.map(({ row, deliveries }) => ({
      event: onTheWire(fromStored(router.catalog, row)),
      deliveries,
    }));
    return { trace_id, events: notes, next_after: nextAfter };
  }),
  handle(getEventUse, async ({ ports: { router, store, clock, wiringOf }, params: { name } }) => {
    const event_type = canonical(router, name)!;
    const seen = await seenOf(store, router, event_type);
    // Outside of strict mode any name may come; one that nobody knows and that never came is a slip.
    if (router.catalog.names.resolve(name) === undefined && seen.length === 0) throw router.catalog.names.unknown(name);
    const { emitters, hearers } = wiringOf(event_type);
    const consumers = router
      .consumers()
      .filter(
        ({ event_types, expired_at }) =>
          expired_at === null && event_types.split(",").some((type) => type === "*" || type === event_type),
      );
    const owed = new Set(consumers.map(({ consumer }) => consumer));
    const heard = new Map(Object.entries(router.listSubscribers()));
    const listeners = [event_type, "*"].flatMap((type) => heard.get(type) ?? []).filter((who) => !owed.has(who));
    const { last_seen_at, sources, ...rates } = useOf(seen, clock.now() / 1_000);
    const inMs = (seconds: number) => seconds * 1_000;
    const row = router.catalog.row(event_type);
    return {
      event_type,
      definition:
        row === undefined
          ? null
          : {
              about: row.about,
              category: row.category,
              class: row.class,
              critical: row.critical,
              fields: fieldsOf(row),
            },
      emitters,
      sources: sources.map((each) => ({ ...each, last_seen_at: inMs(each.last_seen_at) })),
      hearers,
      consumers: consumers.map(({ consumer, kind, lag }) => ({ consumer, kind, lag })),
      listeners: [...new Set(listeners)],
      last_seen_at: last_seen_at === null ? null : inMs(last_seen_at),
      ...rates,
    };
  }),
  handle(listEventUse, async ({ ports: { router, store, clock, wiringOf }, query }) => {
    const { looked_at, since, counts } = await countEvents(store, clock.now() / 1_000, query.since);
    const consumers = router.consumers().filter(({ expired_at }) => expired_at === null);
    return {
      looked_at,
      since: since === null ? null : since * 1_000,
      event_types: counts.map(({ event_type, last_seen_at, ...rest }) => {
        const { hearers } = wiringOf(event_type);
        const owed = consumers.filter(({ event_types }) =>
          event_types.split(",").some((type) => type === "*" || type === event_type),
        );
        const names = new Set([...hearers, ...owed.map(({ consumer }) => consumer)]);
        return { event_type, ...rest, last_seen_at: last_seen_at * 1_000, hearers: [...names] };
      }),
      consumers: consumers.map(({ consumer, kind, lag, parked, dead }) => ({
        ...{ consumer, kind, lag, parked },
        dead_letters: dead,
      })),
    };
  }),
  handle(replayEvents, async ({ ports, params: { consumer }, body }) => {
    const { event_types: eventTypes, dry_run: dryRun, since, until, max } = body;
    const replayed = await ports.router.replay({
      ...{ consumer, since, eventTypes, max, dryRun },
      ...defined({ until }),
    });
    const byType = Map.groupBy(replayed.events, ({ event_type }) => event_type);
    return {
      consumer,
      dry_run: dryRun,
      events: replayed.events.length,
      more: replayed.hasMore,
      connected: replayed.isConnected,
      by_type: [...byType].map(([event_type, events]) => ({
        event_type,
        events: events.length,
        first_seq: events[0]!.seq,
        last_seq: events.at(-1)!.seq,
      })),
    };
  }),
  handle(tailEvents, ({ ports: { router, clock }, query, stream, waiting }) => {
    const tail = openTail(router, clock, query.event_type, waiting);
    return stream((out) => tail.run(out));
  }),
  handle(followEvents, ({ ports: { router, clock }, query: { after, ...filter }, stream, lastEventId, waiting }) => {
    const follow = openFollow({ router, clock, filter, after: lastEventId ?? after, waiting });
    return stream((out) => follow.run(out));
  }),
];
