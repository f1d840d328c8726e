/** Who comes with a ticket proves that it is the node it was made out to: a node is its key, so nobody need be asked. */
import { type KeyObject, sign, verify } from "node:crypto";
import { nodeIdOf, nodeKeyOf } from "../../../cluster/nodes/identity.ts";
import { OperatingError } from "../../../kernel/index.ts";

export const TICKET_HEADER = "x-ringrift-ticket";
export const PROOF_HEADER = "x-ringrift-bearer";
/** Asks for a file that may still be on its way to whoever is asked. */
export const COMING = "coming";

const textOf = (ticket: string, method: string, path: string): Buffer =>
  Buffer.from(["ringrift bearer v1", ticket, method, path].join("\n"));

/** How a node signs, with its public key as it goes over the wire. */
export interface Bearer {
  /** The raw 32 bytes in base64. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

export const proofOf = (bearer: Bearer, ticket: string, method: string, path: string): string =>
  `v1 key=${bearer.publicKey}, sig=${sign(null, textOf(ticket, method, path), bearer.privateKey).toString("base64")}`;

const SHAPE = /^v1 key=([A-Za-z0-9+/]{43}={0,1}), ?sig=([A-Za-z0-9+/]{86}={0,2})$/;

const refused = (message: string) =>
  OperatingError.denied("BAD_SIGNATURE", message, { status: 401, hint: "Sign with the key of the node." });

/** The node that has signed this. */
export function bearerOf(header: string | undefined, ticket: string, method: string, path: string): string {
  const [, publicKey = "", sig = ""] = SHAPE.exec(header ?? "") ?? [];
  if (sig === "") throw refused("nobody has signed this");
  const { key, raw } = nodeKeyOf(publicKey);
  if (!verify(null, textOf(ticket, method, path), key, Buffer.from(sig, "base64")))
    throw refused(`node ${nodeIdOf(raw)} has not signed this`);
  return nodeIdOf(raw);
}
