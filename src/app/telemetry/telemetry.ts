/**
 * Spans of the main process, sent to a collector where the usual variables of OpenTelemetry name one. What sends them is loaded
 * only then: nobody else pays for it.
 */
import type { Environment, Log } from "../../kernel/index.ts";
import type { Telemetry } from "./otlp.ts";

export type { Telemetry } from "./otlp.ts";

const isSet = (text: string | undefined): boolean => text !== undefined && text.trim() !== "";

/** Whether somebody asked for traces. */
export function wantsTraces(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return false;
  const exporters = (env.OTEL_TRACES_EXPORTER ?? "").split(",").map((name) => name.trim());
  if (exporters.includes("none")) return false;
  return (
    exporters.includes("otlp") ||
    isSet(env.OTEL_EXPORTER_OTLP_ENDPOINT) ||
    isSet(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
  );
}

export async function startTelemetry(env: Environment, version: string, log: Log): Promise<Telemetry | undefined> {
  if (!wantsTraces(env)) return undefined;
  return (await import("./otlp.ts")).startOtlp(env, version, log);
}
