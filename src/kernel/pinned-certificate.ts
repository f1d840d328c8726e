import type { ClientRequest } from "node:http";
import type { TLSSocket } from "node:tls";

const plain = (fingerprint: string): string => fingerprint.replace(/[^0-9a-f]/gi, "").toLowerCase();

/**
 * Looks at the certificate of a request's connection before anything is said over it; `then` runs once it is the one that is known. A connection that
 * ended meanwhile shows none: that is a line that was cut, and nobody in between.
 */
export function whenPinned(
  outgoing: ClientRequest,
  fingerprint: string,
  refusal: (found: string) => Error,
  then: () => void = () => undefined,
): void {
  outgoing.once("socket", (socket) => {
    const check = () => {
      const shown = (socket as TLSSocket).getPeerCertificate() as { readonly fingerprint256?: string } | null;
      const found = plain(shown?.fingerprint256 ?? "");
      if (found === plain(fingerprint)) then();
      else if (shown === null) outgoing.destroy(new Error("the connection ended before its certificate was seen"));
      else outgoing.destroy(refusal(found || "none"));
    };
    if (socket.connecting) socket.prependOnceListener("secureConnect", check);
    else check();
  });
}
