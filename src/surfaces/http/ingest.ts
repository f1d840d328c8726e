import { unitNameOf } from "../../daemons/index.ts";
import { EventSource, fromCloudEvent, upcast } from "../../events/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import type { Prepared } from "../../router/index.ts";
import { whyNodeMayNot } from "../../router/outbox/index.ts";
import { mayNameNode } from "./node-callers.ts";
import type { ControlPorts } from "./ports.ts";
import type { Caller } from "./route.ts";

type IngestPorts = Pick<ControlPorts, "router" | "clock" | "nodes" | "daemons">;

/** Events under the name of one of our own units would be taken for its words, and never reach it. */
const ownUnits = ({ router, daemons }: IngestPorts): ((source: string) => boolean) => {
  const names = daemons.holds();
  return (source) => {
    const unit = unitNameOf(source);
    const place = source.slice(unit.length + 1);
    const here = place === "" || place === router.nodeId || place.startsWith(`${router.nodeId}/`);
    return here && names.has(unit);
  };
};

/**
 * What arrives on the wire becomes an event of this router: checked tolerantly, marked as having crossed processes, and under
 * the name of who sent it. A node speaks as itself; whoever works for the cluster is neither the coordinator nor one of its
 * units.
 */
export function ingestFor(ports: IngestPorts, caller: Caller): (json: unknown) => Prepared {
  if (caller.scope === "operator") return (json) => read(ports, json);
  const { nodeId } = caller;
  const isOurUnit = nodeId === undefined ? ownUnits(ports) : () => false;
  return (json) => {
    const prepared = read(ports, json);
    const refusal = whyNodeMayNot(prepared, (named) => mayNameNode(caller, named, ports));
    if (refusal !== undefined) throw refusal;
    const { event } = prepared;
    if (isOurUnit(event.source))
      throw new OperatingError("NOT_YOURS_TO_SAY", `'${event.source.slice(0, 100)}' is a unit of the main process`, {
        hint: "Publish under a source of your own.",
      });
    // The node that an event is of is the one that sent it, whatever the event says.
    return nodeId === undefined ? prepared : { ...prepared, event: Object.freeze({ ...event, nodeId }) };
  };
}

function read({ router, clock }: IngestPorts, json: unknown): Prepared {
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

/** One event or a list of them. */
export function eventsOfBody(body: unknown, most: number): unknown[] {
  const list = Array.isArray(body) ? body : [body];
  if (list.length === 0 || list.length > most)
    throw new OperatingError("INVALID_EVENT", `a request carries 1 to ${most} events, this one ${list.length}`);
  return list;
}
