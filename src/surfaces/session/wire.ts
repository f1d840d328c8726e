/** The door of people who look with a browser. */

import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { emptyBody, name, time } from "../http/fields.ts";
import { defineRoute } from "../http/wire.ts";

const tag = "access";
const scopes = ["read", "worker", "operator"] as const;

export const makeSessionCode = defineRoute("makeSessionCode", "POST /v1/session/codes", {
  tag,
  summary: "Makes a code that begins one session in a browser.",
  bound: "1,000 codes, sessions and tokens that open something",
  body: () =>
    z.strictObject({
      scope: z.enum(scopes).default("operator"),
      label: name.default("browser").describe("Who the record of writes will name."),
    }),
  about: "It is good once, for 5 minutes, and shown this once.",
  answer: () =>
    z.object({
      code: z.string(),
      url: z
        .string()
        .describe("Opens the page and begins the session: the code is behind the #, which no server sees."),
      scope: z.enum(scopes),
      expires_at: time,
    }),
  status: 201,
});

const session = lazy(() =>
  z
    .object({
      actor: z.string().describe("As the record of writes names it."),
      scope: z.enum(scopes),
      expires_at: time.nullable(),
      path: z
        .string()
        .nullable()
        .default(null)
        .describe(
          "Of a link that was shared: only views whose addresses begin with it are shown; null shows them all.",
        ),
      is_browser: z.boolean().describe("It is a session of a browser, which can be ended."),
    })
    .meta({ id: "Session" }),
);

export const beginSession = defineRoute("beginSession", "POST /v1/session", {
  tag,
  summary: "Swaps the code or token of the Authorization header for a cookie that no script can read.",
  scope: "read",
  bound: "1,000 codes, sessions and tokens that open something",
  body: () => emptyBody,
  about: "The session, with its cookie.",
  answer: session,
});

export const getSession = defineRoute("getSession", "GET /v1/session", {
  tag,
  summary: "Who asks, and what that one may do.",
  about: "As this request is taken.",
  answer: session,
});

export const endSession = defineRoute("endSession", "DELETE /v1/session", {
  tag,
  summary: "Ends the session of this browser.",
  scope: "read",
  about: "Whether there was one.",
  answer: () => z.object({ ended: z.boolean() }),
});
