import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { messageOf, OperatingError } from "../../kernel/index.ts";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Identity {
  readonly cert: string;
  readonly key: string;
  /** Whether the certificate speaks for this name. */
  readonly speaksFor: (name: string) => boolean;
  /** Changes when one of the files does. */
  readonly stamp: string;
  /** Its SHA-256, as `openssl` prints it. */
  readonly fingerprint: string;
}

export const stampOf = ({ certFile, keyFile }: TlsFiles): string =>
  [certFile, keyFile]
    .map((file) => {
      const { mtimeMs, size, ino } = statSync(file);
      return `${ino}:${size}:${mtimeMs}`;
    })
    .join(" ");

/** The certificate and its key, checked: both can be read, they belong together, and nobody else can read the key. */
export function readIdentity(files: TlsFiles): Identity {
  try {
    const mode = statSync(files.keyFile).mode & 0o777;
    if ((mode & 0o077) !== 0)
      throw OperatingError.denied(
        "TLS_KEY_EXPOSED",
        `other users can read the key of the API (mode ${mode.toString(8)})`,
        {
          hint: "chmod 600 the file in api.tls_key_file.",
        },
      );
    const stamp = stampOf(files);
    const cert = readFileSync(files.certFile, "utf8");
    const key = readFileSync(files.keyFile, "utf8");
    createSecureContext({ cert, key });
    const parsed = new X509Certificate(cert);
    const { fingerprint256: fingerprint } = parsed;
    return { cert, key, stamp, fingerprint, speaksFor: (name) => parsed.checkHost(name) !== undefined };
  } catch (cause) {
    if (cause instanceof OperatingError) throw cause;
    throw OperatingError.internal(
      "TLS_UNUSABLE",
      `certificate and key of the API cannot be used: ${messageOf(cause)}`,
      {
        cause,
        hint: "api.tls_cert_file and api.tls_key_file must be PEM files that belong together.",
      },
    );
  }
}
