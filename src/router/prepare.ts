import type { z } from "zod";
import {
  boundedText,
  builtinRows,
  type Catalog,
  contentHashOfText,
  type EventRow,
  EventSource,
  issueText,
  liftKeys,
  missingFields,
} from "../events/index.ts";
import { type Clock, canonicalJson, type Ids, OperatingError } from "../kernel/index.ts";
import type { AnyEvent } from "./event.ts";
import type { RemoteSpan } from "./tracing.ts";

/** An event as the parent of others: its id, and what they inherit of it. */
export type Cause = Pick<AnyEvent, "eventId" | "traceId" | "correlationId">;

export interface PublishOptions {
  /** The component that speaks. */
  readonly source?: string;
  readonly eventId?: string;
  readonly traceId?: string;
  readonly correlationId?: string;
  /** The event that this one follows from; its trace and correlation are inherited. Null for one that begins a trace. */
  readonly parent?: Cause | null;
  readonly parentEventId?: string;
  /** The span of another process that this event follows from, where no event is its parent: it joins that trace. */
  readonly follows?: RemoteSpan;
  readonly routeToDataBus?: boolean;
  readonly routeToStageBus?: boolean;
  readonly routeToCrossProcess?: boolean;
  readonly origin?: EventSource;
  /** When it happened, in Unix seconds; now unless said. */
  readonly timestamp?: number;
}

export interface Prepared {
  readonly event: AnyEvent;
  readonly row: EventRow | undefined;
  readonly payloadText: string;
  /** Key of the content window, for rows that ask for it. */
  readonly dedupKey: string | undefined;
}

/** `strict` for our own units, `tolerant` for everybody else. */
export type Validation = "strict" | "tolerant";

export interface PrepareContext {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly nodeId: string;
  readonly strictNames: boolean;
  /** Told of an event that says less than it should. */
  readonly onIncomplete: (eventType: string, missing: readonly string[]) => void;
  /** Told of names and keys that should change. */
  readonly onDeprecated: (kind: "name" | "key" | "unknown", what: string, instead: string) => void;
}

const describeIssues = (issues: readonly z.core.$ZodIssue[]): string =>
  issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? "payload" : path.join(".")}: ${issueText(message)}`)
    .join("; ");

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isBuiltin = (row: EventRow): boolean => (builtinRows as Readonly<Record<string, EventRow>>)[row.name] === row;

const knowsAllKeys = (row: EventRow, payload: Record<string, unknown>): boolean => {
  for (const key of Object.keys(payload)) if (!Object.hasOwn(row.payload.shape, key)) return false;
  return true;
};

function validate(context: PrepareContext, row: EventRow, payload: unknown, how: Validation): Record<string, unknown> {
  let candidate = payload;
  // Only a key that the row does not know can be an old spelling of one that it does.
  if (how === "tolerant" && isPlainObject(payload) && !knowsAllKeys(row, payload)) {
    const lifted = liftKeys(row, payload);
    candidate = lifted.payload;
    for (const { from, to } of lifted.renamed) context.onDeprecated("key", `${row.name}.${from}`, to);
  }
  const parsed = how === "strict" ? row.payload.safeParse(candidate) : row.tolerant.safeParse(candidate);
  if (parsed.success) return parsed.data as Record<string, unknown>;
  // Outside publishers of our own events say what they know: such an event wakes our units, and rows decide. Those of the
  // user's own are the user's to rely on.
  if (how === "tolerant" && !context.strictNames && isPlainObject(candidate) && isBuiltin(row)) {
    const lenient = row.incomplete.safeParse(candidate);
    if (lenient.success) {
      context.onIncomplete(row.name, missingFields(row, lenient.data));
      return lenient.data;
    }
  }
  throw OperatingError.invalid("INVALID_PAYLOAD", `${row.name}: ${describeIssues(parsed.error.issues)}`, {
    hint: `'ringrift events show ${row.name}' prints its fields.`,
  });
}

/** Makes the event out of what a publisher said: name, checks, ids, trace, hash. Nothing is stored or delivered yet. */
export function prepare(
  context: PrepareContext,
  spelling: string,
  payload: unknown,
  options: PublishOptions,
  how: Validation,
): Prepared {
  const { catalog, clock, ids } = context;
  const resolved = catalog.names.resolve(spelling);
  if (resolved === undefined) {
    if (context.strictNames || !/^[\w.:-]{1,200}$/.test(spelling)) throw catalog.names.unknown(spelling);
    context.onDeprecated("unknown", spelling, catalog.names.suggest(spelling).join(", "));
  } else if (resolved.spelling === "legacy") context.onDeprecated("name", spelling, resolved.name);
  const name = resolved?.name ?? spelling;
  const row = catalog.row(name);
  if (row === undefined && !isPlainObject(payload))
    throw OperatingError.invalid("INVALID_PAYLOAD", `${name}: a payload is a JSON object`);
  const checked = row === undefined ? (payload as Record<string, unknown>) : validate(context, row, payload, how);
  // Walked through before it is written: a schema may let any value pass, and a cycle or a deep one would never end.
  const payloadText = boundedText(checked, canonicalJson);
  const hash = contentHashOfText(name, payloadText);
  const parent = options.parent;
  const eventId = options.eventId ?? ids.uuid();
  const keyValue = row === undefined || row.orderKey === null ? undefined : checked[row.orderKey];
  const event: AnyEvent = Object.freeze({
    eventType: name,
    payload: checked,
    timestamp: options.timestamp ?? clock.now() / 1_000,
    source: options.source ?? "unknown",
    origin: options.origin ?? EventSource.ROUTER,
    eventId,
    traceId: options.traceId ?? parent?.traceId ?? ids.traceId(),
    correlationId: options.correlationId ?? parent?.correlationId ?? eventId,
    parentEventId: options.parentEventId ?? parent?.eventId ?? null,
    contentHash: hash,
    seq: null,
    payloadVersion: row?.version ?? 1,
    eventClass: row?.class ?? "durable",
    orderKey: keyValue === undefined || keyValue === null ? null : String(keyValue),
    views: {
      dataBus: options.routeToDataBus ?? true,
      stageBus: (options.routeToStageBus ?? true) && row?.stage !== undefined && row.stage !== null,
      crossProcess: options.routeToCrossProcess ?? true,
    },
    nodeId: context.nodeId,
  });
  return { event, row, payloadText, dedupKey: dedupKeyOf(row, event) };
}

/** A field that is not there makes nothing the same: such an event is never taken for a repeat. */
function dedupKeyOf(row: EventRow | undefined, event: AnyEvent): string | undefined {
  if (row === undefined || row.dedup === "none") return undefined;
  if (row.dedup === "content") return `${row.name}:${event.contentHash}`;
  const values = row.dedup.map((field) => event.payload[field]);
  if (values.some((value) => value === undefined || value === null)) return undefined;
  return `${row.name}:${canonicalJson(values)}`;
}
