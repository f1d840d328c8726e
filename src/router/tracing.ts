import {
  context,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { Log } from "../kernel/index.ts";
import type { AnyEvent } from "./event.ts";

/**
 * Spans for publish and handle through the OpenTelemetry API (free while no SDK is registered), and the log lines of
 * RINGRIFT_EVENT_TRACE.
 */
export interface Tracing {
  activeTraceId(): string | undefined;
  published<T>(event: AnyEvent, run: () => Promise<T>): Promise<T>;
  handled<T>(event: AnyEvent, consumer: string, run: () => T): T;
  delivered(event: AnyEvent, subscribers: () => readonly string[]): void;
}

/** A span id that all processes derive alike from the event's id. */
const spanIdOf = (eventId: string): string => {
  const hex = eventId
    .replace(/[^0-9a-f]/gi, "")
    .toLowerCase()
    .padStart(16, "0")
    .slice(-16);
  return /^0+$/.test(hex) ? "0000000000000001" : hex;
};

const contextOf = (event: AnyEvent) =>
  trace.setSpanContext(context.active(), {
    traceId: event.traceId,
    spanId: spanIdOf(event.parentEventId ?? event.eventId),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });

const attributesOf = (event: AnyEvent) => ({
  "messaging.system": "ringrift",
  "messaging.destination.name": event.eventType,
  "messaging.message.id": event.eventId,
  "ringrift.source": event.source,
});

export function createTracing(log: Log, enabled: boolean): Tracing {
  const tracer: Tracer = trace.getTracer("ringrift");
  const loud = enabled || log.level === "debug";
  const say = enabled ? log.info : log.debug;

  const inSpan = <T>(
    name: string,
    kind: SpanKind,
    event: AnyEvent,
    attributes: Record<string, string>,
    run: () => T,
  ): T => {
    const span = tracer.startSpan(
      name,
      { kind, attributes: { ...attributesOf(event), ...attributes } },
      contextOf(event),
    );
    if (!span.isRecording()) return run();
    const fail = (thrown: unknown) => {
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(thrown) });
      span.end();
    };
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
          fail(thrown);
          throw thrown;
        },
      ) as T;
    } catch (thrown) {
      fail(thrown);
      throw thrown;
    }
  };

  return {
    activeTraceId() {
      const active = trace.getActiveSpan()?.spanContext();
      return active !== undefined && isSpanContextValid(active) ? active.traceId : undefined;
    },
    published: (event, run) => inSpan(`publish ${event.eventType}`, SpanKind.PRODUCER, event, {}, run),
    handled: (event, consumer, run) =>
      inSpan(`handle ${event.eventType}`, SpanKind.CONSUMER, event, { "ringrift.consumer": consumer }, run),
    delivered(event, subscribers) {
      if (!loud) return;
      say(`[EventRouter] Published: ${event.eventType} (source=${event.source})`, { event_id: event.eventId });
      const names = subscribers();
      if (names.length > 0) say(`[EventRouter] Delivered to: ${names.join(", ")}`, { event_id: event.eventId });
    },
  };
}
