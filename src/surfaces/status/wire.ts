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
