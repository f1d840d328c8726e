import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { OperatingError } from "../../kernel/index.ts";

const RAW_BYTES = 32;
/** What stands before the raw bytes of an Ed25519 key in its DER form (RFC 8410). */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** The public key of a node, from the raw 32 bytes in base64. */
export function nodeKeyOf(base64: string): { readonly key: KeyObject; readonly raw: Buffer } {
  const raw = Buffer.from(base64, "base64");
  if (raw.length !== RAW_BYTES || raw.toString("base64").replace(/=+$/, "") !== base64.replace(/=+$/, ""))
    throw OperatingError.invalid(
      "INVALID_REQUEST",
      `public_key: not the ${RAW_BYTES} bytes of an Ed25519 key in base64`,
    );
  try {
    return { raw, key: createPublicKey({ key: Buffer.concat([SPKI, raw]), format: "der", type: "spki" }) };
  } catch (cause) {
    throw OperatingError.invalid("INVALID_REQUEST", "public_key: not an Ed25519 key", { cause });
  }
}

/** A node is its key: whoever holds another key is another node, whatever it calls itself. */
export const nodeIdOf = (raw: Uint8Array): string => `n${hash("sha256", raw, "hex").slice(0, 16)}`;
