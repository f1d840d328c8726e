import { ROOT_CONTEXT, SpanKind } from "@opentelemetry/api";
import { SamplingDecision, type SpanExporter } from "@opentelemetry/sdk-trace-node";
import { describe, expect, it } from "vitest";
import { saidOnce, samplerOf } from "./otlp.ts";
import { wantsTraces } from "./telemetry.ts";

const ENDPOINT = "http://127.0.0.1:4318";

describe("traces", () => {
  it.each([
    [{}, false],
    [{ OTEL_SERVICE_NAME: "x", OTEL_TRACES_SAMPLER: "always_on" }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT }, true],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }, false],
  ])("with %o are sent: %s", (env, wanted) => {
    expect(wantsTraces(env)).toBe(wanted);
  });

  it.each([
    [{}, 100],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, 0],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, 0],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, 0],
    [{ OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" }, 25],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "nonsense" }, 100],
  ])("are sampled by %o whole or not at all", (env, share) => {
    const sampler = samplerOf(env);
    const isKept = (traceId: string) =>
      sampler.shouldSample(ROOT_CONTEXT, traceId, "x", SpanKind.PRODUCER, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED;
    // Ids that are spread evenly; one of zeros alone is none.
    const ids = Array.from({ length: 100 }, (_, i) =>
      Math.floor(((i + 0.5) / 100) * 2 ** 32)
        .toString(16)
        .padStart(8, "0")
        .padEnd(32, "0"),
    );
    expect(ids.filter(isKept)).toHaveLength(share);
    expect(ids.filter(isKept)).toEqual(ids.filter(isKept));
  });

  it("that do not arrive are told of once, and once that they do again", () => {
    const told: string[] = [];
    const log = { warn: (text: string) => void told.push(text), info: (text: string) => void told.push(text) };
    let code = 1;
    const inner: SpanExporter = { export: (_, done) => done({ code }), shutdown: async () => {} };
    const exporter = saidOnce(inner, log);
    const answers: number[] = [];
    const send = () => exporter.export([], (result) => answers.push(result.code));
    for (let i = 0; i < 5; i += 1) send();
    code = 0;
    for (let i = 0; i < 5; i += 1) send();
    expect(told).toEqual([expect.stringMatching(/do not reach/), expect.stringMatching(/reach the collector again/)]);
    // Whoever gave them has nothing to complain of.
    expect(new Set(answers)).toEqual(new Set([0]));
  });
});
