/** What the settings of transfers come to on a node: pure, so that it can be asked without a thread. */
import type { Settings } from "../settings.ts";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/;

/** Each is probed by every node that wants a file from here. */
const MAX_FURTHER = 8;

export interface TransferPlan {
  /** Where it listens; null where it serves through the relay alone. */
  readonly host: string | null;
  readonly port: number;
  /** How others call it; null is the address from which it calls. */
  readonly name: string | null;
  /** Further names and addresses of it, such as that of a VPN. */
  readonly further: readonly string[];
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Whether it waits at the relay too. */
  readonly relay: boolean;
  readonly maxBytesPerSecond: number | null;
  readonly stallMs: number;
  /** Transfers at once. */
  readonly atOnce: number;
}

/** Where it was told to serve; else on the loopback of a machine that has its main process too. */
export function transferPlan({ transfers }: Pick<Settings, "transfers">, main: Pick<URL, "hostname">): TransferPlan {
  const { serveHost, servePort, serveName, furtherNames, tlsCertFile, tlsKeyFile, relay, maxRate, stallMs, parallel } =
    transfers;
  const isOneMachine = LOOPBACK.test(main.hostname);
  const host = serveHost ?? (isOneMachine ? "127.0.0.1" : null);
  return {
    host,
    port: servePort,
    name: serveName ?? (host !== null && LOOPBACK.test(host) ? host : null),
    further: furtherNames.slice(0, MAX_FURTHER),
    tls:
      tlsCertFile === undefined || tlsKeyFile === undefined
        ? undefined
        : { certFile: tlsCertFile, keyFile: tlsKeyFile },
    relay: relay && !isOneMachine,
    maxBytesPerSecond: maxRate === 0 ? null : maxRate,
    stallMs,
    atOnce: parallel,
  };
}
