/** Links with which somebody looks at a part of the page, and changes nothing. */

import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { name, time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "access";
const LONGEST_SECONDS = 365 * 86_400;
const DEFAULT_SECONDS = 7 * 86_400;

const share = lazy(() =>
  z
    .object({
      id: z.string(),
      label: z.string(),
      path: z.string().describe("It shows the views whose addresses begin with this."),
      status: z.enum(["active", "expired", "revoked"]),
      created_at: time,
      created_by: z.string(),
      expires_at: time.nullable(),
      last_used_at: time.nullable(),
    })
    .meta({ id: "Share" }),
);

export const createShare = defineRoute("createShare", "POST /v1/shares", {
  tag,
  summary: "Makes a link that shows a part of the page to whoever has it, and lets nobody change anything.",
  bound: "1,000 codes, sessions and tokens that open something",
  body: () =>
    z.strictObject({
      path: z.string().min(1).max(300).default("/").describe("The address of a view, or the start of several."),
      label: name.default("share").describe("For whom it is; the record of writes names it."),
      expires_in_seconds: z.number().min(1).max(LONGEST_SECONDS).default(DEFAULT_SECONDS),
    }),
  about: "The share with its link, which is shown only this once.",
  answer: () =>
    share().extend({
      url: z.string().describe("Opens the view: its secret is behind the #, which no server sees."),
    }),
  status: 201,
});

export const listShares = defineRoute("listShares", "GET /v1/shares", {
  tag,
  summary: "Links that were shared, without their secrets, newest first.",
  scope: "operator",
  about: "One row for each.",
  answer: () => z.object({ shares: z.array(share()) }),
});

export const revokeShare = defineRoute("revokeShare", "DELETE /v1/shares/{id}", {
  tag,
  summary: "Ends a shared link at once, for everybody who has it.",
  params: () => z.strictObject({ id: name }),
  about: "The share as it is now.",
  answer: share,
});

export type Share = Answer<typeof revokeShare>;
