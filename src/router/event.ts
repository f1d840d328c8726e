import { type AnyRouterEvent, type Catalog, type EventSource, upcast } from "../events/index.ts";
import { messageOf } from "../kernel/index.ts";
import type { EventValues, StoredEvent } from "./journal/append.ts";

/** An event of any name, as the router's inside sees it. */
export type AnyEvent = Omit<AnyRouterEvent, "payload"> & { readonly payload: Readonly<Record<string, unknown>> };

/** What `publish` resolves to: the event, and whether it repeated an earlier one. */
export type Published = AnyEvent & { readonly suppressed: "event_id" | "content" | null };

/** The views over the one journal, as bits. Everything is seen through the router itself. */
export const VIEW = { dataBus: 1, stageBus: 2, crossProcess: 4, router: 8 } as const;
export type ViewName = keyof typeof VIEW;

export const viewBits = (views: AnyEvent["views"]): number =>
  VIEW.router |
  (views.dataBus ? VIEW.dataBus : 0) |
  (views.stageBus ? VIEW.stageBus : 0) |
  (views.crossProcess ? VIEW.crossProcess : 0);

/** As the journal stores it. */
export const valuesOf = (event: AnyEvent, payloadText: string): EventValues => [
  event.eventId,
  event.eventType,
  event.orderKey,
  payloadText,
  event.payloadVersion,
  event.timestamp,
  event.source,
  event.origin,
  event.nodeId,
  event.traceId,
  event.correlationId,
  event.parentEventId,
  event.contentHash,
  viewBits(event.views),
];

const weightOf = (value: unknown): number => {
  if (typeof value === "string") return 16 + value.length;
  if (value === null || typeof value !== "object") return 16;
  let weight = 64;
  if (Array.isArray(value)) for (const each of value) weight += weightOf(each);
  else for (const key in value) weight += 16 + weightOf((value as Record<string, unknown>)[key]);
  return weight;
};

/** About how many bytes of memory an event takes. Cheap to find: no text is looked at. */
export const bytesOf = ({ payload }: Pick<AnyEvent, "payload">): number => 512 + weightOf(payload);

const WHY_UNREADABLE = Symbol("why unreadable");

/** Why the payload of a stored event could not be understood; undefined for all that could. */
export const whyUnreadable = (event: AnyEvent): string | undefined =>
  (event as { readonly [WHY_UNREADABLE]?: string })[WHY_UNREADABLE];

function payloadOf(catalog: Catalog, stored: StoredEvent) {
  try {
    const raw = JSON.parse(stored.payload) as Record<string, unknown>;
    const row = catalog.row(stored.event_type);
    return row === undefined
      ? { payload: raw, version: stored.payload_version }
      : upcast(row, raw, stored.payload_version);
  } catch (thrown) {
    const why = `event ${stored.seq} cannot be read: ${messageOf(thrown)}`;
    return { payload: {}, version: stored.payload_version, [WHY_UNREADABLE]: why };
  }
}

/**
 * A stored event in today's form: older payload versions are lifted, unknown fields kept. One that cannot be understood
 * comes without its payload and says why, so that it can be buried and what follows it goes on.
 */
export function fromStored(catalog: Catalog, stored: StoredEvent): AnyEvent {
  const { payload, version, ...unreadable } = payloadOf(catalog, stored);
  return Object.freeze({
    eventType: stored.event_type,
    payload,
    timestamp: stored.timestamp,
    source: stored.source,
    origin: stored.origin as EventSource,
    eventId: stored.event_id,
    traceId: stored.trace_id,
    correlationId: stored.correlation_id,
    parentEventId: stored.parent_event_id,
    contentHash: stored.content_hash,
    seq: stored.seq,
    payloadVersion: version,
    eventClass: "durable" as const,
    orderKey: stored.order_key,
    views: {
      dataBus: (stored.views & VIEW.dataBus) !== 0,
      stageBus: (stored.views & VIEW.stageBus) !== 0,
      crossProcess: (stored.views & VIEW.crossProcess) !== 0,
    },
    nodeId: stored.node_id,
    ...unreadable,
  });
}
