import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { OperatingError } from "../../kernel/index.ts";

const digest = (text: string): Buffer => hash("sha256", text, "buffer");

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

const hostOf = (header: string): string => header.replace(/:\d+$/, "");

/** The way a request came in. The server that accepted it knows; the connection itself forgets it when it breaks. */
export type Door = "socket" | "port";

/**
 * Who may do what. The Unix socket is protected by its file mode and needs nothing more. On loopback any page in any
 * browser can reach the port, so the Host must be ours (no DNS rebinding), a foreign Origin is refused, and writing needs
 * the token from the data folder.
 */
export function checkAccess(request: IncomingMessage, cameBy: Door, token: string): void {
  if (cameBy === "socket") return;
  const host = request.headers.host ?? "";
  if (!LOOPBACK.has(hostOf(host)))
    throw new OperatingError("FORBIDDEN", "this server answers to 127.0.0.1 and localhost only");
  const { origin } = request.headers;
  if (origin !== undefined && !isOwnOrigin(origin, host))
    throw new OperatingError("FORBIDDEN", "requests from other origins are refused");
  const method = request.method ?? "GET";
  if (method === "GET" || method === "HEAD") return;
  const [scheme, given = ""] = (request.headers.authorization ?? "").split(" ", 2);
  if (scheme?.toLowerCase() !== "bearer" || !timingSafeEqual(digest(given), digest(token)))
    throw new OperatingError("UNAUTHORIZED", "writing over the network port needs the token", {
      hint: "Send 'Authorization: Bearer <contents of the file token in the data folder>', or use the Unix socket.",
    });
}

const isOwnOrigin = (origin: string, host: string): boolean => {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
};
