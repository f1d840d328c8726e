/** Connections over TLS to whom we know. */
import type { ClientRequest, Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { defined, OperatingError, whenPinned } from "../../kernel/index.ts";
import { https } from "./node-http.ts";

export interface TlsTrust {
  /** Certificates in PEM that are trusted instead of the system's. */
  readonly ca?: string;
  /** SHA-256 of the one certificate that is right, in hex; who signed it does not matter then. */
  readonly fingerprint?: string;
}

/** Who is there instead of whom we know: nothing was said to it. */
const another = (found: string): Error =>
  OperatingError.denied("WRONG_CERTIFICATE", `the main process shows another certificate (${found})`, {
    hint: "If it has a new certificate, join again with its --fingerprint. Otherwise somebody may be intercepting the connection.",
  });

/** Looks at the certificate of a request's connection; `then` runs once it is the right one. */
export const afterCheck = (outgoing: ClientRequest, fingerprint: string, then: () => void): void =>
  whenPinned(outgoing, fingerprint, another, then);

/** Host and port of an address. */
export const placeOf = (url: string): { readonly host: string; readonly port: string | undefined } => {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port || undefined };
};

/** How an address is reached over TLS; undefined for one that is plain. */
export function secureAgent(
  { url, ca, fingerprint }: { readonly url: string } & TlsTrust,
  settings: ConstructorParameters<typeof HttpAgent>[0],
): HttpsAgent | undefined {
  if (new URL(url).protocol !== "https:") return undefined;
  return new (https().Agent)({
    ...settings,
    // A session that is resumed shows no certificate that could be looked at.
    maxCachedSessions: 0,
    ...defined({ ca }),
    ...(fingerprint === undefined ? {} : { rejectUnauthorized: false }),
  });
}
