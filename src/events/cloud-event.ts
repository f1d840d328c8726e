/**
 * Events on the wire: CloudEvents 1.0, JSON format, structured mode, with W3C trace context. Where the CloudEvents
 * project documents an extension (tracing, correlation, sequence, partitioning) its attribute is used as defined there.
 */
import { hash } from "node:crypto";
import { z } from "zod";
import { defined, lazy, OperatingError } from "../kernel/index.ts";
import { boundedText } from "./bounds.ts";
import { type AnyRouterEvent, contentHash, EventSource, type EventViews } from "./envelope.ts";
import { issueText } from "./issue-text.ts";

const SOURCE_ROOT = "/ringrift/";
const LAST_SECOND = 253_402_300_799.999;

/** What CloudEvents calls a String: printable, well-formed Unicode. */
const attribute = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]+$/u, "must be printable text");

/** Unset attributes may be absent or null; both mean the same. */
const unset = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

const viewNames = ["data_bus", "stage_bus", "cross_process"] as const;
const routing = new RegExp(`^(none|(${viewNames.join("|")})(,(${viewNames.join("|")})){0,2})$`);

const MAX_TRACEPARENT = 500;
/** Version 00 is exact; later versions may append to it. Ids of all zeros mean "none" and are invalid. */
const traceparent = (() => {
  const ids = "(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}";
  return new RegExp(`^(?:00-${ids}|(?!00|ff)[0-9a-f]{2}-${ids}(?:-.*)?)$`);
})();

/** The trace and the span that a `traceparent` of W3C names; undefined for a text that is none. */
export const parseTraceparent = (text: string | undefined): { traceId: string; spanId: string } | undefined =>
  text === undefined || text.length > MAX_TRACEPARENT || !traceparent.test(text)
    ? undefined
    : { traceId: text.slice(3, 35), spanId: text.slice(36, 52) };

/** The context attributes that we write; others are tolerated and not read. */
export const attributes = lazy(() => ({
  specversion: z.literal("1.0").describe("version of CloudEvents"),
  id: attribute(200).describe("event id"),
  type: attribute(200).describe("name of the event, as in MODEL_PROMOTED"),
  source: attribute(5_000)
    .regex(/^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/, "must be a URI reference")
    .describe("node and part that published it, as in /ringrift/node-1/training_coordinator"),
  time: unset(z.iso.datetime({ offset: true })).describe("when it was published, RFC 3339"),
  datacontenttype: unset(
    z
      .string()
      .regex(/^application\/([\w.-]+\+)?json\s*(;.*)?$/i, "must be JSON")
      .max(200),
  ).describe("always application/json"),
  traceparent: unset(z.string().max(MAX_TRACEPARENT).regex(traceparent, "must be a W3C traceparent")).describe(
    "W3C trace context: the trace and this event's span in it",
  ),
  correlationid: unset(attribute(200)).describe("shared by all events of one undertaking"),
  causationid: unset(attribute(200)).describe("id of the event whose handler published this one"),
  sequence: unset(z.string().regex(/^\d{1,16}$/, "must be 1 to 16 digits")).describe(
    "place in the journal, padded so that texts sort like numbers",
  ),
  origin: unset(z.enum(EventSource)).describe("view by which the event came"),
  contenthash: unset(z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex")).describe(
    "SHA-256 of name and canonical payload",
  ),
  payloadversion: unset(z.int().min(1).max(2_147_483_647)).describe("version of the payload"),
  partitionkey: unset(attribute(200)).describe("value of the event's order key"),
  eventclass: unset(z.enum(["durable", "volatile", "process"])).describe("what is promised about its delivery"),
  routing: unset(z.string().regex(routing, "must be a list of views")).describe(
    "views whose subscribers see it: data_bus, stage_bus, cross_process, or none",
  ),
}));

const envelope = lazy(() => z.looseObject({ ...attributes(), data: z.unknown() }));

/** An event in JSON, as it travels. */
export interface CloudEvent {
  readonly specversion: "1.0";
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly time: string;
  readonly datacontenttype: "application/json";
  readonly traceparent: string;
  readonly correlationid: string;
  readonly causationid?: string;
  readonly sequence?: string;
  readonly origin: EventSource;
  readonly contenthash: string;
  readonly payloadversion: number;
  readonly partitionkey?: string;
  readonly eventclass: AnyRouterEvent["eventClass"];
  readonly routing: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The span of an event within its trace: the same in every process that sees the event. */
export const spanIdOf = (eventId: string): string => {
  const span = hash("sha256", eventId, "hex").slice(0, 16);
  // W3C reserves the span of all zeros for "none".
  return span === "0000000000000000" ? "0000000000000001" : span;
};

/** An event as what others follow from, in the words of W3C. */
export const traceparentOf = ({ traceId, eventId }: Pick<AnyRouterEvent, "traceId" | "eventId">): string =>
  `00-${traceId}-${spanIdOf(eventId)}-01`;

const writeRouting = (views: EventViews): string => {
  const on = [views.dataBus, views.stageBus, views.crossProcess];
  return viewNames.filter((_, i) => on[i]).join(",") || "none";
};

const readRouting = (text: string): EventViews => {
  const on = new Set(text.split(","));
  return { dataBus: on.has("data_bus"), stageBus: on.has("stage_bus"), crossProcess: on.has("cross_process") };
};

/** Half a surrogate pair has no place in a URI. */
const segment = (name: string): string => encodeURIComponent(name.toWellFormed());

export function toCloudEvent(event: AnyRouterEvent): CloudEvent {
  return {
    specversion: "1.0",
    id: event.eventId,
    type: event.eventType,
    source: `${SOURCE_ROOT}${segment(event.nodeId)}/${segment(event.source)}`,
    time: new Date(Math.round(event.timestamp * 1000)).toISOString(),
    datacontenttype: "application/json",
    traceparent: traceparentOf(event),
    correlationid: event.correlationId,
    ...defined({ causationid: event.parentEventId ?? undefined }),
    ...(event.seq === null ? {} : { sequence: String(event.seq).padStart(16, "0") }),
    origin: event.origin,
    contenthash: event.contentHash,
    payloadversion: event.payloadVersion,
    ...defined({ partitionkey: event.orderKey ?? undefined }),
    eventclass: event.eventClass,
    routing: writeRouting(event.views),
    data: event.payload,
  };
}

/** What the receiver knows, for what a foreign publisher leaves out. */
export interface Arrival {
  readonly nowMs: number;
  readonly nodeId: string;
  /** The trace of the request, for an event that names none. */
  readonly traceId?: string | undefined;
}

/**
 * Reads an event from the wire, or throws INVALID_EVENT with the path of what is wrong. CloudEvents asks only for id,
 * type and source: what else is missing is filled in the same way each time, so that an event sent twice stays one event.
 * A content hash that is given is believed: the payload may have been brought to a newer version since it was made.
 */
export function fromCloudEvent(json: unknown, arrival?: Arrival): AnyRouterEvent {
  const read = envelope().safeParse(json);
  if (!read.success) {
    const issue = read.error.issues[0];
    throw invalid(
      issue?.path.map(String).join(".") || "event",
      issue === undefined ? "is not a CloudEvent" : issueText(issue.message),
    );
  }
  const from = read.data;
  const payload = from.data as Readonly<Record<string, unknown>>;
  boundedText(payload);
  const { nodeId, source } = readSource(from.source, arrival);
  return {
    eventType: from.type,
    payload,
    timestamp: readTime(from.time, arrival),
    source,
    origin: from.origin ?? EventSource.CROSS_PROCESS,
    eventId: from.id,
    traceId:
      from.traceparent?.slice(3, 35) ??
      arrival?.traceId ??
      hash("sha256", `${from.source}\n${from.id}`, "hex").slice(0, 32),
    correlationId: from.correlationid ?? from.id,
    parentEventId: from.causationid ?? null,
    contentHash: from.contenthash ?? contentHash(from.type, payload),
    seq: readSequence(from.sequence),
    payloadVersion: from.payloadversion ?? 1,
    eventClass: from.eventclass ?? "durable",
    orderKey: from.partitionkey ?? null,
    views: readRouting(from.routing ?? viewNames.join(",")),
    nodeId,
  };
}

const invalid = (path: string, message: string) =>
  OperatingError.invalid("INVALID_EVENT", `${path}: ${message}`, {
    details: { path },
    hint: "An event on the wire is a CloudEvents 1.0 JSON object whose data is the payload.",
  });

function readTime(time: string | undefined, arrival: Arrival | undefined): number {
  if (time === undefined && arrival === undefined) throw invalid("time", "is missing");
  const seconds = (time === undefined ? arrival!.nowMs : Date.parse(time)) / 1000;
  if (!(seconds >= 0 && seconds <= LAST_SECOND)) throw invalid("time", "must lie between 1970 and 9999");
  return seconds;
}

function readSequence(sequence: string | undefined): number | null {
  if (sequence === undefined) return null;
  const seq = Number(sequence);
  if (!Number.isSafeInteger(seq)) throw invalid("sequence", "is too large");
  return seq;
}

function readSource(uri: string, arrival: Arrival | undefined): { nodeId: string; source: string } {
  const [node, part, ...more] = uri.startsWith(SOURCE_ROOT) ? uri.slice(SOURCE_ROOT.length).split("/") : [];
  if (node !== undefined && part !== undefined && more.length === 0) {
    try {
      return { nodeId: decodeURIComponent(node), source: decodeURIComponent(part) };
    } catch (cause) {
      throw OperatingError.invalid("INVALID_EVENT", "source: holds no valid UTF-8", {
        cause,
        details: { path: "source" },
      });
    }
  }
  if (arrival === undefined) throw invalid("source", `must be ${SOURCE_ROOT}<node>/<part>`);
  return { nodeId: arrival.nodeId, source: uri };
}
