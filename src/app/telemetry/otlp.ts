/** The exporter of OpenTelemetry, set up from its own variables; see docs/28-monitoring.md for those that count. */
import { trace } from "@opentelemetry/api";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  NodeTracerProvider,
  RandomIdGenerator,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-node";
import type { Environment, Log } from "../../kernel/index.ts";
import type { SpanIds } from "../../router/index.ts";

export interface Telemetry {
  readonly spanIds: SpanIds;
  /** Sends what waits, within a short time, and stops. */
  close(): Promise<void>;
}

type Exported = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

const SENT: Exported["code"] = 0;
/** A collector that is away or slow holds no shutdown up for longer. */
const CLOSE_MS = 2_000;
const DEFAULT_PROTOCOL = "http/protobuf";

/** The parts that speak a protocol, by its name in the variables. */
const exporters: Readonly<Record<string, () => Promise<SpanExporter>>> = {
  "http/protobuf": async () => new (await import("@opentelemetry/exporter-trace-otlp-proto")).OTLPTraceExporter(),
  "http/json": async () => new (await import("@opentelemetry/exporter-trace-otlp-http")).OTLPTraceExporter(),
};

/** Ids of spans: those that were decided, and random ones for the others. */
function idsOf(spanIds: SpanIds): IdGenerator {
  const random = new RandomIdGenerator();
  return {
    generateTraceId: () => spanIds.next?.traceId ?? random.generateTraceId(),
    generateSpanId: () => spanIds.next?.spanId || random.generateSpanId(),
  };
}

/**
 * Which traces are kept. It is decided by the id of the trace, alike for all its spans and in every process: their parents are
 * often made by another one, or earlier, so `parentbased_` decides as the rest of its name says.
 */
export function samplerOf({ OTEL_TRACES_SAMPLER: given = "", OTEL_TRACES_SAMPLER_ARG: arg }: Environment): Sampler {
  const name = given.trim().replace(/^parentbased_/, "");
  if (name === "always_off") return new AlwaysOffSampler();
  const ratio = arg === undefined || arg.trim() === "" ? 1 : Number(arg);
  if (name === "traceidratio" && ratio >= 0 && ratio <= 1) return new TraceIdRatioBasedSampler(ratio);
  return new AlwaysOnSampler();
}

/** Says once that spans do not arrive, and once that they do again; whatever happens, nobody else hears of it. */
export function saidOnce(inner: SpanExporter, log: Pick<Log, "warn" | "info">): SpanExporter {
  let isAway = false;
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        const failed = result.code !== SENT;
        if (failed && !isAway)
          log.warn("spans do not reach the collector of OTEL_EXPORTER_OTLP_ENDPOINT; they are dropped until they do", {
            error: String(result.error?.message ?? "no reason was given"),
          });
        if (!failed && isAway) log.info("spans reach the collector again");
        isAway = failed;
        done({ code: SENT });
      });
    },
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => inner.shutdown(),
  };
}

export async function startOtlp(env: Environment, version: string, log: Log): Promise<Telemetry | undefined> {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || DEFAULT_PROTOCOL;
  const open = Object.hasOwn(exporters, protocol) ? exporters[protocol] : undefined;
  if (open === undefined) {
    log.warn(`OTEL_EXPORTER_OTLP_PROTOCOL is '${protocol}'; spans are not sent`, { known: Object.keys(exporters) });
    return undefined;
  }
  const spanIds: SpanIds = { next: undefined };
  const own = resourceFromAttributes({ "service.name": "ringrift", "service.version": version });
  const given = detectResources({ detectors: [envDetector] });
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(own).merge(given),
    sampler: samplerOf(env),
    idGenerator: idsOf(spanIds),
    // Its queue is bounded (OTEL_BSP_MAX_QUEUE_SIZE); what does not fit is dropped, and nobody waits.
    spanProcessors: [new BatchSpanProcessor(saidOnce(await open(), log))],
  });
  provider.register();
  return {
    spanIds,
    async close() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      trace.disable();
    },
  };
}
