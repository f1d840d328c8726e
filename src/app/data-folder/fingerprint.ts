import { X509Certificate } from "node:crypto";

/** The SHA-256 of a certificate in PEM, as others pin it: lower-case hex. */
export const fingerprintIn = (cert: string): string =>
  new X509Certificate(cert).fingerprint256.replaceAll(":", "").toLowerCase();
