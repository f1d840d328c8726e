import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { document, optionalReasonBody, time } from "../http/fields.ts";
import { configReport } from "../http/settings-report.ts";
import { defineRoute } from "../http/wire.ts";

const tag = "system";

export const unit = lazy(() =>
  z
    .looseObject({
      name: z.string(),
      status: z.string(),
      message: z.string(),
      subscribed: z.boolean(),
      last_tick_at: time.nullable(),
    })
    .meta({ id: "Unit" }),
);

export const getMetrics = defineRoute("getMetrics", "GET /metrics", {
  tag,
  summary: "Metrics for Prometheus.",
  about: "The text format.",
  answer: () => z.string(),
  type: "text/plain",
});

export const getOpenApi = defineRoute("getOpenApi", "GET /openapi.json", {
  tag,
  summary: "This API as an OpenAPI 3.1 document.",
  limit: "heavy",
  about: "The routes that are mounted here.",
  answer: () => document,
});

export const listUnits = defineRoute("listUnits", "GET /v1/units", {
  tag,
  summary: "The units of this process, with the health of each.",
  about: "One row for each.",
  answer: () => z.object({ units: z.array(unit()) }),
});

export const getBootstrap = defineRoute("getBootstrap", "GET /v1/bootstrap", {
  tag,
  summary: "The steps of the start of this process.",
  about: "Coordinators and daemons: started or not, with the reason.",
  answer: () => document,
});

export const getSettings = defineRoute("getSettings", "GET /v1/settings", {
  tag,
  summary: "The settings of this process, each value with its origin.",
  scope: "operator",
  about: "All settings. A secret only shows that it is set.",
  answer: () => configReport(),
});

export const shutDown = defineRoute("shutDown", "POST /v1/shutdown", {
  tag,
  summary: "Stops the process cleanly.",
  body: () => optionalReasonBody,
  status: 202,
  about: "The process begins to stop.",
  answer: () => z.object({ status: z.literal("stopping") }),
});
