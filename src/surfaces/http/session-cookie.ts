/** The cookie in which a browser keeps its session: a token that no script can read and no other site can send. */
import type { IncomingMessage } from "node:http";

/** Sent by our page with each request: a foreign page would have to ask first, and is refused. */
export const PAGE_HEADER = "x-ringrift-page";

type Asked = Pick<IncomingMessage, "headers" | "socket">;

const isSecure = ({ socket }: Asked): boolean => "encrypted" in socket && socket.encrypted === true;

/** Cookies know no ports: two processes on one machine must not take each other's. */
const nameFor = (request: Asked): string =>
  `${isSecure(request) ? "__Host-" : ""}ringrift-${request.socket.localPort ?? 0}`;

/** What the browser shows, if it has a session here. */
export function sessionIn(request: Asked): string | undefined {
  const wanted = `${nameFor(request)}=`;
  const found = (request.headers.cookie ?? "").split(";").find((part) => part.trimStart().startsWith(wanted));
  return found?.trimStart().slice(wanted.length);
}

/** The header that lets a browser keep a session for so long; 0 ends it there. */
export const sessionCookie = (request: Asked, token: string, seconds: number): string =>
  [
    `${nameFor(request)}=${token}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${Math.floor(seconds)}`,
    ...(isSecure(request) ? ["Secure"] : []),
  ].join("; ");
