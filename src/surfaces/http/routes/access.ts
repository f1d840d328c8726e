import { z } from "zod";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "access";

export const accessRoutes: readonly Route[] = [
  route({
    id: "listTokens",
    method: "GET",
    path: "/v1/tokens",
    tag,
    summary: "Tokens, without their secrets, newest first.",
    scope: "operator",
    limit: "read",
    answers: { 200: { about: "One row for each.", schema: z.object({ tokens: z.array(schema.tokenRow) }) } },
    handle: ({ ports }) => ({ tokens: ports.tokens.list() }),
  }),
  route({
    id: "createToken",
    method: "POST",
    path: "/v1/tokens",
    tag,
    summary: "Makes a token.",
    scope: "operator",
    limit: "write",
    body: schema.newTokenBody,
    answers: {
      201: {
        about: "With its secret, which is shown this once.",
        schema: schema.tokenRow.extend({ token: z.string() }),
      },
    },
    handle: ({ ports, body: { label, scope, expires_in_seconds }, caller: { actor } }) =>
      ports.tokens.issue({ label, scope, expiresInSeconds: expires_in_seconds }, actor),
  }),
  route({
    id: "revokeToken",
    method: "DELETE",
    path: "/v1/tokens/{id}",
    tag,
    summary: "Revokes a token at once; what is open under it ends.",
    scope: "operator",
    limit: "write",
    params: z.strictObject({ id: schema.name }),
    answers: { 200: { about: "The token as it is now.", schema: schema.tokenRow } },
    handle: ({ ports, params: { id }, caller: { actor } }) => ports.tokens.revoke(id, actor),
  }),
  route({
    id: "listWrites",
    method: "GET",
    path: "/v1/writes",
    tag,
    summary: "What was changed through this surface, and by whom; newest first.",
    scope: "read",
    limit: "read",
    query: schema.limitQuery,
    answers: { 200: { about: "One row for each.", schema: z.object({ writes: z.array(schema.writeRow) }) } },
    handle: ({ ports, query: { limit } }) => ({ writes: ports.writes.list(limit) }),
  }),
];
