import { z } from "zod";
import { ALERT_SEVERITIES, ALERT_STATUSES } from "../../cluster/alerts/alert.ts";
import { lazy } from "../../kernel/index.ts";
import { dryRun, name, note, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "alerts";
const params = lazy(() => z.strictObject({ id: name }));
const severity = lazy(() => z.enum(ALERT_SEVERITIES));
const status = lazy(() => z.enum(ALERT_STATUSES));

const alert = lazy(() =>
  z
    .object({
      id: z.string(),
      key: z.string(),
      severity: severity(),
      status: status(),
      title: z.string(),
      message: z.string(),
      event_type: z.string().nullable(),
      event_id: z.string().nullable(),
      subject: z.string().nullable(),
      opened_at: time,
      last_seen_at: time,
      count: z.int(),
      closed_at: time.nullable(),
      acknowledged_by: z.string().nullable(),
      deliveries: z.array(
        z.object({ sink: z.string(), status: z.string(), at: time.nullable(), error: z.string().nullable() }),
      ),
    })
    .meta({ id: "Alert" }),
);

/** A time in which nothing is sent. */
const mute = lazy(() =>
  z
    .object({
      since: time,
      until: time,
      actor: z.string(),
      reason: z.string().nullable(),
      waiting: z.int().describe("Messages that wait for its end."),
    })
    .meta({ id: "Mute" }),
);

export const listAlerts = defineRoute("listAlerts", "GET /v1/alerts", {
  tag,
  summary: "Alerts, newest first.",
  query: () =>
    z.strictObject({
      status: status().optional(),
      severity: severity().optional(),
      limit: whole(1, 1_000).default(100),
    }),
  about: "The matching ones.",
  answer: () =>
    z.object({ alerts: z.array(alert()), mute: mute().nullish().describe("Null while alerts are sent as usual.") }),
});

const muteAnswer = lazy(() => z.object({ mute: mute().nullable(), applied: z.boolean() }));

export const muteAlerts = defineRoute("muteAlerts", "POST /v1/alerts/mute", {
  tag,
  summary: "Sends no alerts for some time. They are recorded, and summed up at its end.",
  body: () =>
    z.strictObject({
      seconds: z.number().min(1).max(604_800).describe("From now on; at most a week."),
      reason: note.optional(),
      dry_run: dryRun,
    }),
  about: "From when to when, or what it would be.",
  answer: muteAnswer,
});

export const unmuteAlerts = defineRoute("unmuteAlerts", "POST /v1/alerts/unmute", {
  tag,
  summary: "Sends alerts again, and a summary of those that were held back.",
  body: () => z.strictObject({ reason: note.optional(), dry_run: dryRun }),
  about: "What was ended; null if alerts were not muted.",
  answer: muteAnswer,
});

const one = { tag, params, about: "The alert as it is now.", answer: alert } as const;
const decision = { ...one, body: () => z.strictObject({ note: note.optional() }) } as const;

export const getAlert = defineRoute("getAlert", "GET /v1/alerts/{id}", {
  ...one,
  summary: "One alert.",
});

export const acknowledgeAlert = defineRoute("acknowledgeAlert", "POST /v1/alerts/{id}/acknowledge", {
  ...decision,
  summary: "Records that somebody takes care of an alert.",
});

export const closeAlert = defineRoute("closeAlert", "POST /v1/alerts/{id}/close", {
  ...decision,
  summary: "Closes an alert.",
});

export type Alert = Answer<typeof getAlert>;
export type Mute = NonNullable<Answer<typeof listAlerts>["mute"]>;
