import { EventSource, fromCloudEvent, toCloudEvent, upcast } from "../../events/index.ts";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { AnyEvent, EventRouter, Prepared } from "../../router/index.ts";

/** What arrives on the wire becomes an event of this router: checked tolerantly, marked as having crossed processes. */
export function ingest(router: EventRouter, clock: Clock, json: unknown): Prepared {
  const arrived = fromCloudEvent(json, { nowMs: clock.now(), nodeId: router.nodeId });
  const resolved = router.catalog.names.resolve(arrived.eventType);
  const row = resolved === undefined ? undefined : router.catalog.row(resolved.name);
  const payload =
    row === undefined || arrived.payloadVersion >= row.version
      ? arrived.payload
      : upcast(row, arrived.payload, arrived.payloadVersion).payload;
  return router.prepare(arrived.eventType, payload, {
    source: arrived.source,
    eventId: arrived.eventId,
    traceId: arrived.traceId,
    correlationId: arrived.correlationId,
    ...(arrived.parentEventId === null ? {} : { parentEventId: arrived.parentEventId }),
    timestamp: arrived.timestamp,
    origin: EventSource.CROSS_PROCESS,
    routeToDataBus: arrived.views.dataBus,
    routeToStageBus: arrived.views.stageBus,
    routeToCrossProcess: arrived.views.crossProcess,
  });
}

export const onTheWire = (event: AnyEvent) => toCloudEvent(event as Parameters<typeof toCloudEvent>[0]);

/** One event or a list of them. */
export function eventsOfBody(body: unknown, most: number): unknown[] {
  const list = Array.isArray(body) ? body : [body];
  if (list.length === 0 || list.length > most)
    throw new OperatingError("INVALID_EVENT", `a request carries 1 to ${most} events, this one ${list.length}`);
  return list;
}
