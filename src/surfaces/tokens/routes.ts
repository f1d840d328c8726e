import { handle, type Route } from "../http/route.ts";
import { createToken, listTokens, listWrites, revokeToken } from "./wire.ts";

export const tokenRoutes: readonly Route[] = [
  handle(listTokens, ({ ports }) => ({ tokens: ports.tokens.list() })),
  handle(createToken, async ({ ports, body: { label, scope, expires_in_seconds, join_uses }, caller: { actor } }) => {
    const order = { label, scope, expiresInSeconds: expires_in_seconds, joinUses: join_uses };
    const made = await ports.tokens.issue(order, actor);
    return { ...made, join: join_uses === undefined ? null : ports.address() };
  }),
  handle(revokeToken, ({ ports, params: { id }, caller: { actor } }) => ports.tokens.revoke(id, actor)),
  handle(listWrites, ({ ports, query: { limit, before } }) => ({ writes: ports.writes.list(limit, before) })),
];
