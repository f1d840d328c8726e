import { hash } from "node:crypto";
import { canonicalJson } from "../kernel/index.ts";
import { type BuiltinRows, builtinRows, type EventName, type PayloadOf } from "./catalog.ts";
import type { EventClass, Rows } from "./row.ts";

/** The view by which an event came. */
export const EventSource = Object.freeze({
  DATA_BUS: "data_bus",
  STAGE_BUS: "stage_bus",
  CROSS_PROCESS: "cross_process",
  ROUTER: "router",
});
export type EventSource = (typeof EventSource)[keyof typeof EventSource];

/** Whose subscribers see an event: three views over one journal. */
export interface EventViews {
  readonly dataBus: boolean;
  readonly stageBus: boolean;
  readonly crossProcess: boolean;
}

/** An event as handlers see it. Its payload has the type of its name. */
export interface RouterEvent<N extends EventName<R>, R extends Rows = BuiltinRows> {
  /** The canonical name. */
  readonly eventType: N;
  readonly payload: PayloadOf<N, R>;
  /** When it was published, in Unix seconds. */
  readonly timestamp: number;
  /** The part of the system that published it. */
  readonly source: string;
  readonly origin: EventSource;
  readonly eventId: string;
  /** 32 hex digits, shared by all that one cause led to. */
  readonly traceId: string;
  readonly correlationId: string;
  /** The event whose handler published this one. */
  readonly parentEventId: string | null;
  readonly contentHash: string;
  /** Place in the journal; null for what is not journaled. */
  readonly seq: number | null;
  readonly payloadVersion: number;
  readonly eventClass: EventClass;
  /** Value of the row's order key. */
  readonly orderKey: string | null;
  readonly views: EventViews;
  /** The node that published it. */
  readonly nodeId: string;
}

/** An event of any name, its payload yet to be understood. */
export type AnyRouterEvent = RouterEvent<string, Rows>;

/** One of several events: the name decides the payload's type. */
export type RouterEventOf<N extends EventName<R>, R extends Rows = BuiltinRows> = N extends N
  ? RouterEvent<N, R>
  : never;

declare const named: unique symbol;

/** A wire value that remembers which event it names. */
export type WireValue<N extends string> = string & { readonly [named]: N };

/** Each event's value on the wire, by its constant. */
export const DataEventType = Object.freeze(
  Object.fromEntries(Object.entries(builtinRows).map(([name, row]) => [name, row.wire])),
) as { readonly [N in EventName]: WireValue<N> };

/** SHA-256 over the canonical name and payload: equal events have equal hashes in every process. */
export const contentHash = (name: string, payload: Readonly<Record<string, unknown>>): string =>
  contentHashOfText(name, canonicalJson(payload));

/** The same for a payload whose canonical text is known already. */
export const contentHashOfText = (name: string, canonicalText: string): string =>
  hash("sha256", `${name}:${canonicalText}`, "hex");
