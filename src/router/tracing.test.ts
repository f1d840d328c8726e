import { trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routerOver } from "../../test/support/router.ts";
import { builtinRows } from "../events/index.ts";
import type { Log } from "../kernel/index.ts";
import { createTracing } from "./tracing.ts";

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
beforeAll(() => provider.register());
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
});

const games = { config_key: "hex8_2p", new_games: 3, total_games: 3 } as never;

test("publish and handle are spans of the trace that the event names", async () => {
  const { router } = routerOver(builtinRows);
  await router.consume({ consumer: "listener", handlers: { NEW_GAMES_AVAILABLE: () => {} } });
  const event = await router.publish("NEW_GAMES_AVAILABLE", games, { source: "test" });
  await router.settled(event);
  const spans = exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === event.traceId);
  expect(spans.map(({ name }) => name).sort()).toEqual(["handle NEW_GAMES_AVAILABLE", "publish NEW_GAMES_AVAILABLE"]);
  expect(spans.find(({ name }) => name.startsWith("handle"))?.attributes).toMatchObject({
    "ringrift.consumer": "listener",
    "messaging.message.id": event.eventId,
  });
  await router.stop();
});

test("an event published inside a span joins its trace", async () => {
  const { router } = routerOver(builtinRows);
  const event = await trace.getTracer("test").startActiveSpan("outer", async (span) => {
    const published = await router.publish("NEW_GAMES_AVAILABLE", games);
    span.end();
    return { published, traceId: span.spanContext().traceId };
  });
  expect(event.published.traceId).toBe(event.traceId);
  await router.stop();
});

test("a failing handler marks its span", async () => {
  const { router } = routerOver(builtinRows, { maxAttempts: 1 });
  await router.consume({
    consumer: "broken",
    handlers: {
      NEW_GAMES_AVAILABLE: async () => {
        throw new Error("no");
      },
    },
  });
  const event = await router.publish("NEW_GAMES_AVAILABLE", games);
  await router.settled(event);
  const span = exporter
    .getFinishedSpans()
    .find((one) => one.attributes["messaging.message.id"] === event.eventId && one.name.startsWith("handle"));
  expect(span?.status.code).toBe(2);
  await router.stop();
});

const recorder = (level: string) => {
  const lines: string[] = [];
  const note = (kind: string) => (message: string) => void lines.push(`${kind} ${message}`);
  const log: Log = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
    child: () => log,
    level,
  };
  return { lines, log };
};

test.each([
  ["RINGRIFT_EVENT_TRACE", "info", true, "info"],
  ["RINGRIFT_LOG_LEVEL=DEBUG", "debug", false, "debug"],
])("%s logs every publish and who it was delivered to", async (_name, level, enabled, kind) => {
  const { lines, log } = recorder(level);
  const { router } = routerOver(builtinRows);
  const event = await router.publish("NEW_GAMES_AVAILABLE", games, { source: "SelfplayRunner" });
  createTracing(log, enabled).delivered(event as never, () => ["A", "B"]);
  expect(lines).toEqual([
    `${kind} [EventRouter] Published: NEW_GAMES_AVAILABLE (source=SelfplayRunner)`,
    `${kind} [EventRouter] Delivered to: A, B`,
  ]);
  await router.stop();
});

test("without either nothing is logged", async () => {
  const { lines, log } = recorder("info");
  createTracing(log, false).delivered({} as never, () => ["A"]);
  expect(lines).toEqual([]);
});
