import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { name, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "access";

export const TOKEN_SCOPES = ["read", "worker", "operator"] as const;

const token = lazy(() =>
  z
    .object({
      id: z.string(),
      label: z.string(),
      scope: z.enum(TOKEN_SCOPES),
      status: z.enum(["active", "expired", "revoked"]),
      created_at: time,
      created_by: z.string(),
      expires_at: time.nullable(),
      revoked_at: time.nullable(),
      last_used_at: time.nullable(),
      join_uses: z
        .int()
        .nullable()
        .describe("Nodes that may join with it, and nothing else; null for one of its whole scope."),
      kind: z
        .enum(["token", "code", "session", "share"])
        .default("token")
        .describe("For programs; the start of one session in a browser; such a session; a link that was shared."),
      path: z.string().nullable().default(null).describe("Of a share: the start of the addresses that it shows."),
    })
    .meta({ id: "Token" }),
);

/** In the record of writes `local:` stands for who needs no token. */
const label = lazy(() =>
  name.refine((text) => !text.toLowerCase().startsWith("local:"), "labels do not begin with 'local:'"),
);
const LONGEST_SECONDS = 10 * 365 * 86_400;

const joinAddress = lazy(() =>
  z
    .object({
      url: z.string(),
      fingerprint: z.string().nullable().describe("SHA-256 of the certificate; null over plain HTTP."),
      loopback: z.boolean().describe("Other machines cannot reach it."),
    })
    .meta({ id: "JoinAddress" }),
);

export const listTokens = defineRoute("listTokens", "GET /v1/tokens", {
  tag,
  summary: "Tokens, without their secrets, newest first.",
  scope: "operator",
  about: "One row for each.",
  answer: () => z.object({ tokens: z.array(token()) }),
});

export const createToken = defineRoute("createToken", "POST /v1/tokens", {
  tag,
  summary: "Makes a token.",
  bound: "1,000 that open something",
  body: () =>
    z.strictObject({
      label: label(),
      scope: z.enum(TOKEN_SCOPES),
      expires_in_seconds: z.number().min(1).max(LONGEST_SECONDS).optional(),
      join_uses: z.int().min(1).max(10_000).optional().describe("Of scope worker: so many nodes may join with it."),
    }),
  about: "The token with its secret, which is shown only this once.",
  answer: () =>
    token().extend({
      token: z.string(),
      join: joinAddress()
        .nullish()
        .describe("Of one that nodes join with: where, and which certificate they shall trust."),
    }),
  status: 201,
});

export const revokeToken = defineRoute("revokeToken", "DELETE /v1/tokens/{id}", {
  tag,
  summary: "Revokes a token at once, and ends its open connections.",
  params: () => z.strictObject({ id: name }),
  about: "The token as it is now.",
  answer: token,
});

export const listWrites = defineRoute("listWrites", "GET /v1/writes", {
  tag,
  summary: "Changes that were made through this API, and by whom, newest first.",
  query: () =>
    z.strictObject({
      before: whole(1, Number.MAX_SAFE_INTEGER).optional().describe("Only writes before the one with this `id`."),
      limit: whole(1, 1_000).default(100),
    }),
  about: "One row for each.",
  answer: () =>
    z.object({
      writes: z.array(
        z.object({
          id: z.int().optional(),
          at: time,
          actor: z.string(),
          scope: z.string(),
          method: z.string(),
          path: z.string(),
          status: z.int(),
          request_id: z.string(),
          from: z.string(),
          dry_run: z.boolean().default(false).describe("Nothing was changed: it was only asked what would be."),
          reason: z.string().nullable().default(null),
        }),
      ),
    }),
});

export type Token = Answer<typeof revokeToken>;
export type JoinAddress = z.output<ReturnType<typeof joinAddress>>;
