import {
  context,
  isSpanContextValid,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { spanIdOf } from "../events/index.ts";
import { createRecent, type Log } from "../kernel/index.ts";
import type { AnyEvent } from "./event.ts";

/** A span of another process, as its `traceparent` names it. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * What the next span is to be called. Spans of events have ids that follow from those of the events, so that a span knows its
 * parent's id over any number of processes and restarts; whoever makes the ids of spans looks here first.
 */
export interface SpanIds {
  next: RemoteSpan | undefined;
}

/**
 * Spans for publish and handle through the OpenTelemetry API (free while no SDK is registered), and the log lines of
 * RINGRIFT_EVENT_TRACE.
 */
export interface Tracing {
  activeTraceId(): string | undefined;
  /** The event comes from elsewhere: its span hangs under that one. */
  follows(event: AnyEvent, span: RemoteSpan): void;
  /** The event is on disk. */
  committed(event: AnyEvent): void;
  handled<T>(event: AnyEvent, consumer: string, run: () => T): T;
  delivered(event: AnyEvent, subscribers: () => readonly string[]): void;
}

/** Whether spans go anywhere: without an SDK nothing is computed for them. */
const hasSdk = (): boolean => {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(TRACER) !== undefined;
};

const TRACER = "ringrift";
/** Remote parents wait here for the commit of what follows from them. */
const REMEMBERED = { windowMs: 60_000, max: 10_000 };

const attributesOf = (event: AnyEvent) => ({
  "messaging.system": "ringrift",
  "messaging.destination.name": event.eventType,
  "messaging.message.id": event.eventId,
  "ringrift.source": event.source,
  ...(event.orderKey === null ? {} : { "ringrift.order_key": event.orderKey }),
});

const failSpan = (span: Span, thrown: unknown): void => {
  span.setStatus({ code: SpanStatusCode.ERROR, message: String(thrown) });
  span.end();
};

export function createTracing(log: Log, enabled: boolean, spanIds?: SpanIds): Tracing {
  const tracer: Tracer = trace.getTracer(TRACER);
  const loud = enabled || log.level === "debug";
  const say = enabled ? log.info : log.debug;
  const remote = createRecent<string>(REMEMBERED.windowMs, REMEMBERED.max);

  const contextUnder = (traceId: string, spanId: string | undefined) =>
    spanId === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });

  /** The span that an event's own hangs under; an SDK of another's that makes ids by itself is at least told the trace. */
  const parentOf = ({ eventId, parentEventId, timestamp }: AnyEvent): string | undefined =>
    parentEventId === null
      ? (remote.get(eventId, timestamp * 1_000) ?? (spanIds === undefined ? spanIdOf(eventId) : undefined))
      : spanIdOf(parentEventId);

  const start = (
    event: AnyEvent,
    parent: string | undefined,
    own: string | undefined,
    how: { readonly name: string; readonly kind: SpanKind; readonly consumer?: string; readonly startTime?: number },
  ): Span => {
    const { name, consumer, ...options } = how;
    const attributes = { ...attributesOf(event), ...(consumer === undefined ? {} : { "ringrift.consumer": consumer }) };
    if (spanIds !== undefined && (own !== undefined || parent === undefined))
      spanIds.next = { traceId: event.traceId, spanId: own ?? "" };
    try {
      return tracer.startSpan(name, { ...options, attributes }, contextUnder(event.traceId, parent));
    } finally {
      if (spanIds !== undefined) spanIds.next = undefined;
    }
  };

  return {
    activeTraceId() {
      const active = trace.getActiveSpan()?.spanContext();
      return active !== undefined && isSpanContextValid(active) ? active.traceId : undefined;
    },
    follows: ({ eventId, timestamp }, { spanId }) => void remote.set(eventId, spanId, timestamp * 1_000),
    committed(event) {
      if (event.eventClass !== "durable" || !hasSdk()) return;
      const how = { name: `publish ${event.eventType}`, kind: SpanKind.PRODUCER, startTime: event.timestamp * 1_000 };
      start(event, parentOf(event), spanIdOf(event.eventId), how).end();
    },
    handled(event, consumer, run) {
      if (!hasSdk()) return run();
      // What passes by has no span of its own: its handling hangs under what it follows from.
      const parent = event.eventClass === "durable" ? spanIdOf(event.eventId) : parentOf(event);
      const how = { name: `handle ${event.eventType}`, kind: SpanKind.CONSUMER, consumer };
      const span = start(event, parent, undefined, how);
      if (!span.isRecording()) return run();
      try {
        const result = context.with(trace.setSpan(context.active(), span), run);
        if (!(result instanceof Promise)) {
          span.end();
          return result;
        }
        return result.then(
          (value: unknown) => {
            span.end();
            return value;
          },
          (thrown: unknown) => {
            failSpan(span, thrown);
            throw thrown;
          },
        ) as typeof result;
      } catch (thrown) {
        failSpan(span, thrown);
        throw thrown;
      }
    },
    delivered(event, subscribers) {
      if (!loud) return;
      say(`[EventRouter] Published: ${event.eventType} (source=${event.source})`, { event_id: event.eventId });
      const names = subscribers();
      if (names.length > 0) say(`[EventRouter] Delivered to: ${names.join(", ")}`, { event_id: event.eventId });
    },
  };
}
