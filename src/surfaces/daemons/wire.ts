import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { emptyBody, name, reasonBody, time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "daemons";
const params = lazy(() => z.strictObject({ name }));

export const daemonRow = lazy(() =>
  z
    .looseObject({
      name: z.string(),
      state: z.string(),
      critical: z.boolean(),
      wanted: z.boolean(),
      depends_on: z.array(z.string()),
      paused: z.string().nullable().describe("Why it is kept from running although it is wanted."),
      waits_for: z.string().nullish().describe("The daemon at the root of it, where it waits for another one."),
      holds: z.array(z.looseObject({ hold: z.string(), reason: z.string(), actor: z.string(), since: time })),
      started_at: time.nullable(),
      uptime_seconds: z.number(),
      restarts: z.int().describe("Those that count at the moment."),
      max_restarts: z.int(),
      restart_at: time.nullable().describe("When it is started again, while it is restarting."),
      last_error: z.string().nullable(),
      permanently_failed: z.string().nullable(),
      health: z.object({ status: z.string(), message: z.string() }),
      conditions: z.array(
        z.looseObject({
          type: z.string(),
          status: z.string(),
          reason: z.string(),
          message: z.string(),
          last_transition_at: time,
        }),
      ),
    })
    .meta({ id: "Daemon" }),
);

export const listDaemons = defineRoute("listDaemons", "GET /v1/daemons", {
  tag,
  summary: "All daemons under supervision.",
  about: "One row for each.",
  answer: () => z.object({ daemons: z.array(daemonRow()) }),
});

export const getDaemon = defineRoute("getDaemon", "GET /v1/daemons/{name}", {
  tag,
  summary: "One daemon.",
  params,
  about: "Its row.",
  answer: daemonRow,
});

export const listDaemonActions = defineRoute("listDaemonActions", "GET /v1/daemon-actions", {
  tag,
  summary: "What was done to daemons, by whom and why, oldest first.",
  query: () => z.strictObject({ daemon: name.optional().describe("Only what was done to this one.") }),
  about: "The last 1,000 actions.",
  answer: () =>
    z.object({
      actions: z.array(
        z.looseObject({
          at: time,
          daemon: z.string(),
          action: z.string(),
          reason: z.string(),
          cause: z.string().nullable(),
          actor: z.string(),
        }),
      ),
    }),
});

const orderWith = <const Verb extends string, B extends z.ZodType>(verb: Verb, summary: string, body: () => B) =>
  defineRoute(`${verb}Daemon`, `POST /v1/daemons/{name}/${verb}`, {
    tag,
    summary,
    params,
    body,
    about: "The daemon as it is now; `ok` says whether the order was carried out.",
    answer: () => z.object({ name: z.string(), state: z.string(), ok: z.boolean(), message: z.string() }),
  });

const order = <const Verb extends string>(verb: Verb, summary: string) => orderWith(verb, summary, () => emptyBody);

/** What one may do to a daemon. */
export const daemonOrders = {
  start: order("start", "Starts a daemon."),
  stop: order("stop", "Stops a daemon, after the daemons that depend on it."),
  restart: order("restart", "Stops a daemon and starts it again."),
  reset: order("reset", "Gives a daemon all its restarts back, so that the supervisor starts it again."),
  resume: order("resume", "Ends the pause of an operator. Other holds on the daemon stay."),
};

export const pauseDaemon = orderWith("pause", "Keeps a daemon from running until it is resumed.", () => reasonBody);

export type Daemon = Answer<typeof getDaemon>;
export type DaemonAction = Answer<typeof listDaemonActions>["actions"][number];
