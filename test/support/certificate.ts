import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";

const PROGRAM = "openssl";

/** A self-signed certificate with its key in a folder; undefined, loudly, where openssl is missing (under CI it must not be). */
export function selfSigned(folder: string, name = "localhost"): { cert: string; key: string } | undefined {
  const cert = join(folder, "cert.pem");
  const key = join(folder, "key.pem");
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  try {
    execFileSync(
      PROGRAM,
      [...args, "-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`, "-keyout", key, "-out", cert],
      { stdio: "pipe" },
    );
  } catch (thrown) {
    if (process.env.CI === "true") throw thrown;
    console.warn("SKIPPED: openssl made no certificate here, so TLS was not tried");
    return undefined;
  }
  chmodSync(key, 0o600);
  return { cert, key };
}
