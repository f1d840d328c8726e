import { lazy, OperatingError } from "../../kernel/index.ts";
import { encoderOf } from "../http/encode.ts";
import { type Call, handle, type Route } from "../http/route.ts";
import { sessionCookie } from "../http/session-cookie.ts";
import { beginSession, endSession, getSession, makeSessionCode } from "./wire.ts";

const CODE_SECONDS = 300;
/** A page stays open for days; whoever comes back after a week asks for a new code. */
const SESSION_SECONDS = 7 * 86_400;

const sessionOf = ({ caller: { actor, scope, expiresAt, isBrowser, sharedPath } }: Pick<Call, "caller">) => ({
  actor,
  scope: scope === "probe" ? ("read" as const) : scope,
  expires_at: expiresAt,
  is_browser: isBrowser === true,
  path: sharedPath ?? null,
});

const toJson = lazy(() => encoderOf(beginSession.answer));

/** A code becomes a session of its own; a token that was given to somebody stays the one that it is. */
async function cookieFor({ ports, caller, headers }: Call): Promise<{ token: string; expiresAt: number | null }> {
  const { tokenId, kind, actor } = caller;
  const given = headers.authorization?.split(" ", 2)[1];
  if (given === undefined)
    throw OperatingError.invalid("NO_CODE", "there is no code in the Authorization header", {
      hint: "'ringrift open' prints an address with one.",
    });
  if (kind !== undefined && kind !== "code") return { token: given, expiresAt: caller.expiresAt };
  if (kind === "code" && !(await ports.tokens.spend(tokenId!, actor)))
    throw OperatingError.denied("UNAUTHORIZED", "this code was used before", {
      status: 401,
      hint: "Each code begins one session; 'ringrift open' prints another.",
    });
  const label = kind === "code" ? actor : "browser";
  const wanted = { label, scope: sessionOf({ caller }).scope, expiresInSeconds: SESSION_SECONDS };
  const { token, expires_at: expiresAt } = await ports.tokens.issue({ ...wanted, kind: "session" }, actor);
  return { token, expiresAt };
}

export const sessionRoutes: readonly Route[] = [
  handle(makeSessionCode, async ({ ports, body: { scope, label }, caller: { actor } }) => {
    const wanted = { label, scope, expiresInSeconds: CODE_SECONDS, kind: "code" } as const;
    const { token, expires_at } = await ports.tokens.issue(wanted, actor);
    return { code: token, url: `${ports.address().url}/#code=${token}`, scope, expires_at: expires_at! };
  }),
  handle(beginSession, async (call) => {
    const { token, expiresAt } = await cookieFor(call as Call);
    const now = call.ports.clock.now();
    const seconds = expiresAt === null ? SESSION_SECONDS : (expiresAt - now) / 1_000;
    const session = { ...sessionOf(call), expires_at: expiresAt, is_browser: true };
    return Response.json(toJson()?.(session) ?? session, {
      headers: { "set-cookie": sessionCookie(call.request, token, seconds) },
    });
  }),
  handle(getSession, (call) => sessionOf(call)),
  handle(endSession, async ({ ports, caller: { tokenId, actor, kind, isBrowser }, request }) => {
    if (kind === "session" && tokenId !== null) await ports.tokens.revoke(tokenId, actor);
    return Response.json({ ended: isBrowser === true }, { headers: { "set-cookie": sessionCookie(request, "", 0) } });
  }),
];
