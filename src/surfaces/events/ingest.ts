import { EventSource, fromCloudEvent, parseTraceparent, upcast } from "../../events/index.ts";
import { defined, OperatingError } from "../../kernel/index.ts";
import type { Prepared, PublishOptions } from "../../router/index.ts";
import { whyNodeMayNot } from "../../router/outbox/index.ts";
import { mayNameNode, ownUnits } from "../http/node-callers.ts";
import type { ControlPorts } from "../http/ports.ts";
import type { Caller } from "../http/route.ts";

type IngestPorts = Pick<ControlPorts, "router" | "clock" | "nodes" | "tokens" | "daemons">;

/**
 * What arrives on the wire becomes an event of this router: checked tolerantly, marked as having crossed processes, and under
 * the name of who sent it. A node speaks as itself; whoever works for the cluster is neither the coordinator nor one of its
 * units.
 */
export function ingestFor(ports: IngestPorts, caller: Caller, traceparent?: string): (json: unknown) => Prepared {
  const follows = parseTraceparent(traceparent);
  if (caller.scope === "operator") return (json) => read(ports, json, follows);
  const { nodeId } = caller;
  const isOurUnit = nodeId === undefined ? ownUnits(ports) : () => false;
  return (json) => {
    const prepared = read(ports, json, follows);
    const refusal = whyNodeMayNot(prepared, (named) => mayNameNode(caller, named, ports));
    if (refusal !== undefined) throw refusal;
    const { event } = prepared;
    // Under the name of one of our own units it would be taken for that unit's words, and never reach it.
    if (isOurUnit(event.source))
      throw OperatingError.denied("NOT_YOURS_TO_SAY", `'${event.source.slice(0, 100)}' is a unit of the main process`, {
        hint: "Use your own source name.",
      });
    // The node that an event is of is the one that sent it, whatever the event says.
    return nodeId === undefined ? prepared : { ...prepared, event: Object.freeze({ ...event, nodeId }) };
  };
}

function read({ router, clock }: IngestPorts, json: unknown, follows: PublishOptions["follows"]): Prepared {
  const arrived = fromCloudEvent(json, { nowMs: clock.now(), nodeId: router.nodeId, traceId: follows?.traceId });
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
    ...defined({ parentEventId: arrived.parentEventId ?? undefined, follows }),
    timestamp: arrived.timestamp,
    origin: EventSource.CROSS_PROCESS,
    routeToDataBus: arrived.views.dataBus,
    routeToStageBus: arrived.views.stageBus,
    routeToCrossProcess: arrived.views.crossProcess,
  });
}

/** One event or a list of them. */
export function eventsOfBody(body: unknown, max: number): unknown[] {
  const list = Array.isArray(body) ? body : [body];
  if (list.length === 0 || list.length > max)
    throw OperatingError.invalid("INVALID_EVENT", `a request carries 1 to ${max} events, this one ${list.length}`);
  return list;
}
