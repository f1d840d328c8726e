/** Where a process is reached: what a node is told to join, and what people are told. */
export interface SurfaceAddress {
  readonly url: string;
  /** SHA-256 of the certificate, as `openssl` prints it; null over plain HTTP. */
  readonly fingerprint: string | null;
  /** Other machines cannot reach it. */
  readonly loopback: boolean;
}

export const LOOPBACK_HOSTS: readonly string[] = ["127.0.0.1", "localhost", "::1"];
const ANY_HOSTS: readonly string[] = ["0.0.0.0", "::"];

export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly fingerprint: string | null;
}

const urlOf = (secure: boolean, name: string, port: number): string =>
  `${secure ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;

interface Names {
  readonly serverName: string | undefined;
  readonly hostname: string;
}

/** The name that an operator gave comes first; an address that means all of them is called by the name of the machine. */
export const surfaceUrl = (
  { host, port, secure }: { readonly host: string; readonly port: number; readonly secure: boolean },
  { serverName, hostname }: Names,
): string => urlOf(secure, serverName ?? (ANY_HOSTS.includes(host) ? hostname : host), port);

export const addressOf = ({ host, port, fingerprint }: Listening, names: Names): SurfaceAddress => ({
  url: surfaceUrl({ host, port, secure: fingerprint !== null }, names),
  fingerprint,
  loopback: LOOPBACK_HOSTS.includes(host),
});

/** Where it listens, in words. */
export function listeningWords({ host, port, secure }: { host: string; port: number; secure: boolean }): string {
  const who = LOOPBACK_HOSTS.includes(host)
    ? "this machine only"
    : ANY_HOSTS.includes(host)
      ? "all networks of this machine"
      : "this address";
  return `${urlOf(secure, host, port)}, for ${who}`;
}
