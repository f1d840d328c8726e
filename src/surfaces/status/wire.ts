import { z } from "zod";
import { cause } from "../../daemons/cause-schema.ts";
import { lazy } from "../../kernel/index.ts";
import { consumerRow } from "../consumers/wire.ts";
import { daemonRow } from "../daemons/wire.ts";
import { time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";
import { unit } from "../system/wire.ts";

const fault = lazy(() => z.looseObject({ code: z.string(), message: z.string(), since: time }).nullable());

export const getStatus = defineRoute("getStatus", "GET /status", {
  tag: "system",
  summary: "The state of the process.",
  about: "Router, journal, subscriptions, dead letters, units, daemons.",
  answer: () =>
    z
      .looseObject({
        version: z.string(),
        pid: z.int(),
        node_id: z.string(),
        started_at: time,
        uptime_seconds: z.number(),
        degraded: z.boolean(),
        fault: fault(),
        router: z.looseObject({
          total_events: z.int(),
          handler_failures: z.int(),
          fault: fault(),
          open_breakers: z.array(z.looseObject({ consumer: z.string(), event_type: z.string() })),
        }),
        journal: z.looseObject({ head: z.int(), bytes: z.int(), consumers: z.array(consumerRow()) }),
        dead_letters: z.object({
          pending: z.int(),
          retrying: z.int(),
          recovered: z.int(),
          discarded: z.int(),
        }),
        readiness: z.looseObject({
          ready: z.boolean(),
          unsubscribed: z.array(z.string()),
          subscriptions: z.array(z.looseObject({ event: z.string(), missing: z.array(z.string()) })),
        }),
        units: z.array(unit()),
        daemons: z.array(daemonRow()),
        causes: z.array(cause()).describe("What is wrong, each root once, worst first."),
      })
      .meta({ id: "Status" }),
});

export type Status = Answer<typeof getStatus>;

export const getOverview = defineRoute("getOverview", "GET /v1/overview", {
  tag: "system",
  summary: "How all is, in a few figures.",
  about: "What one screen shows: counts in place of the lists of `GET /status`, and what is wrong.",
  answer: () =>
    z
      .looseObject({
        version: z.string(),
        pid: z.int(),
        node_id: z.string(),
        uptime_seconds: z.number(),
        daemons: z.object({ running: z.int(), wanted: z.int(), all: z.int() }),
        events: z.object({ since_start: z.int(), head: z.int(), bytes: z.int() }),
        consumers: z.object({
          present: z.int(),
          last: z
            .object({ consumer: z.string(), lag: z.int() })
            .nullable()
            .describe("The one that is furthest behind."),
        }),
        dead_letters: z.object({ pending: z.int(), retrying: z.int() }),
        copies: z.string().describe("How many files have their copies; empty where nobody counts them."),
        alerts: z.object({ critical: z.int(), error: z.int(), warning: z.int() }).describe("Those that are open."),
        causes: z.array(cause()).describe("What is wrong, each root once, worst first."),
      })
      .meta({ id: "Overview" }),
});

export type Overview = Answer<typeof getOverview>;
