import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { NODE_HEADER, type NodeGate } from "../../cluster/index.ts";
import { isOperatingError, type Log, messageOf, OperatingError } from "../../kernel/index.ts";
import { isShared } from "../web/view-routes.ts";
import type { Limits } from "./limits.ts";
import type { Metrics } from "./metrics.ts";
import type { Caller, Route } from "./route.ts";
import { includes } from "./scope.ts";
import { PAGE_HEADER, sessionIn } from "./session-cookie.ts";
import type { Tokens } from "./tokens.ts";

/** What access must know of a route. */
type Asked = Pick<Route, "scope" | "method" | "id" | "path">;

/**
 * The way a request came in: the Unix socket, a port of loopback, a port that others reach. The server that accepted it
 * knows; the connection itself forgets it when it breaks.
 */
export type Door = "socket" | "loopback" | "network";

interface AccessOptions {
  /** The local operator's token: the text of the file `token` in the data folder. */
  readonly localToken: string;
  /** Whether reading over loopback needs no token. */
  readonly localReads: boolean;
  /** Names under which this server may be called from elsewhere; addresses always may. */
  readonly isOurName: (name: string) => boolean;
  readonly tokens: () => Tokens;
  readonly limits: Limits;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "failedLogin">;
  /** Where nodes show who they are; without it none can. */
  readonly nodes?: NodeGate | undefined;
}

export type Access = ReturnType<typeof createAccess>;

const callerAs = (actor: string, scope: Caller["scope"], from: string): Caller => ({
  actor,
  scope,
  tokenId: null,
  expiresAt: null,
  from,
});

const digest = (text: string): Buffer => hash("sha256", text, "buffer");
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);
const hostOf = (header: string): string => header.replace(/:\d+$/, "").toLowerCase();
const bare = (host: string): string => host.replace(/^\[|\]$/g, "");

const isOwnOrigin = (origin: string, host: string): boolean => {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
};

const bearerOf = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const [scheme, given = ""] = header.split(" ", 2);
  // Another scheme than ours is a wrong token, not none.
  return scheme?.toLowerCase() === "bearer" ? given : "";
};

const unauthorized = (what: string) =>
  OperatingError.denied("UNAUTHORIZED", what, {
    status: 401,
    hint: "Send 'Authorization: Bearer <token>': one of /v1/tokens, or the text of the file token in the data folder.",
  });

export const shareTooSmall = (path: string) =>
  OperatingError.denied("SHARE_TOO_SMALL", `this link shows ${path} and nothing else`, {
    hint: "Whoever shared it can share more: 'ringrift share create'.",
  });

export const tooMany = (waitSeconds: number, what: string) =>
  OperatingError.busy("TOO_MANY_REQUESTS", what, {
    status: 429,
    details: { retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)) },
  });

/**
 * Who may do what. The Unix socket is protected by its file mode and needs nothing more. On loopback any page in any
 * browser can reach the port, so the Host must be ours (no DNS rebinding), a foreign Origin is refused, reading is free
 * unless told otherwise, and writing needs a token. From elsewhere everything but a probe needs one. A token that opens
 * nothing is refused wherever it is shown, and whoever shows many is slowed down.
 */
export function createAccess(options: AccessOptions) {
  const { limits, log, metrics } = options;
  const local = digest(options.localToken);
  const owner = `local:${process.getuid?.() ?? "owner"}`;

  const checkHost = (request: IncomingMessage, cameBy: Door) => {
    const header = request.headers.host ?? "";
    const host = hostOf(header);
    const ours =
      LOOPBACK.has(host) || (cameBy === "network" && (isIP(bare(host)) !== 0 || options.isOurName(bare(host))));
    if (!ours)
      throw OperatingError.denied("FORBIDDEN", `this server does not have the name '${host.slice(0, 100)}'`, {
        hint: "Use 127.0.0.1 or localhost; from other machines use its address or the name in api.server_name.",
      });
    const { origin } = request.headers;
    if (origin !== undefined && !isOwnOrigin(origin, header))
      throw OperatingError.denied("FORBIDDEN", "requests from other origins are refused");
  };

  const refuse = (from: string) => {
    metrics.failedLogin();
    const wait = limits.take(from, "login");
    if (wait > 0) throw tooMany(wait, "too many tokens that open nothing came from here");
    log.warn("a request came with an invalid token", { from });
    throw unauthorized("this token is not valid: it is wrong, revoked or expired");
  };

  const bearer = (request: IncomingMessage, from: string): Caller | undefined => {
    const given = bearerOf(request.headers.authorization);
    if (given === undefined) return undefined;
    if (timingSafeEqual(digest(given), local)) return callerAs(owner, "operator", from);
    return bearing(given, from);
  };

  const bearing = (given: string, from: string): Caller => {
    const known = options.tokens().verify(given);
    if (known === undefined) return refuse(from);
    const { id: tokenId, label, scope, expiresAt, onlyJoins, kind, path } = known;
    const caller = { ...callerAs(label, scope, from), tokenId, expiresAt, onlyJoins, kind };
    return path === null ? caller : { ...caller, sharedPath: path };
  };

  /**
   * A browser sends its cookie with whatever any page asks of it. So a write needs to come from our own page: its Origin says
   * so, and a header that no foreign page can send without asking first.
   */
  const cookie = (request: IncomingMessage, from: string, isRead: boolean): Caller | undefined => {
    const given = sessionIn(request);
    if (given === undefined) return undefined;
    const caller = bearing(given, from);
    if (!isRead && (request.headers.origin === undefined || request.headers[PAGE_HEADER] === undefined))
      throw OperatingError.denied("FORBIDDEN", "a browser may only write from our own page", {
        hint: `Programs send 'Authorization: Bearer <token>' and no cookie.`,
      });
    return { ...caller, isBrowser: true };
  };

  /** Who is refused as a node is slowed down like somebody who tries tokens. */
  const asNode = <T>(from: string, run: () => T): T => {
    try {
      return run();
    } catch (thrown) {
      if (isOperatingError(thrown, "NODE_SESSION_STALE")) throw thrown;
      const wait = limits.take(`node ${from}`, "login");
      if (wait > 0) throw tooMany(wait, "too many requests that no node has signed came from here");
      log.warn("a node was refused", { from, error: messageOf(thrown) });
      throw thrown;
    }
  };
  const node = (request: IncomingMessage, from: string): Caller | undefined => {
    const header = request.headers[NODE_HEADER];
    if (header === undefined || options.nodes === undefined) return undefined;
    const { nodes } = options;
    const unproven = asNode(from, () => nodes.open(String(header)));
    return {
      ...callerAs(`node:${unproven.nodeId}`, "worker", from),
      nodeId: unproven.nodeId,
      prove: (bodySha256) =>
        asNode(from, () => unproven.prove({ method: request.method!, path: request.url!, bodySha256 })),
    };
  };

  return {
    /** Who this is, if it may call the route at all; an operating error otherwise. */
    check(request: IncomingMessage, cameBy: Door, route: Asked | undefined): Caller {
      if (cameBy === "socket") return callerAs("local:socket", "operator", "socket");
      checkHost(request, cameBy);
      const from = request.socket.remoteAddress ?? "gone";
      const nobody = callerAs("nobody", "probe", from);
      const scope = route?.scope ?? "read";
      if (scope === "probe") return nobody;
      const free = cameBy === "loopback" && options.localReads && (route === undefined || route.method === "GET");
      const isRead = route === undefined || route.method === "GET";
      const caller =
        node(request, from) ??
        bearer(request, from) ??
        cookie(request, from, isRead) ??
        (free ? callerAs("local:reader", "read", from) : nobody);
      if (caller.kind === "code" && route?.id !== "beginSession")
        throw OperatingError.denied("TOKEN_ONLY_BEGINS", "this code can only be used to begin a session in a browser");
      if (caller.onlyJoins === true && route?.id !== "joinNode")
        throw OperatingError.denied("TOKEN_ONLY_JOINS", "this token can only be used to join a node");
      if (includes(caller.scope, scope)) {
        const { sharedPath } = caller;
        if (sharedPath === undefined || route === undefined || isShared(sharedPath, route, request.url ?? ""))
          return caller;
        throw shareTooSmall(sharedPath);
      }
      if (caller.scope === "probe" || caller.actor === "local:reader")
        throw unauthorized(
          scope === "read" ? "reading needs a token here" : `this needs a token with the scope ${scope}`,
        );
      throw OperatingError.denied("SCOPE_TOO_SMALL", `this needs a token with the scope ${scope}, not ${caller.scope}`);
    },
  };
}
