/** The key of a node: made where the node is, kept in one file, and never sent. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import { type NodeClaim, nodeIdOf, type SignedRequest, signRequest } from "../../cluster/index.ts";
import { OperatingError } from "../../kernel/index.ts";

export interface NodeKey {
  readonly nodeId: string;
  /** The raw 32 bytes in base64, as they go over the wire. */
  readonly publicKey: string;
  /** The header that proves a request. */
  sign(claim: Omit<NodeClaim, "nodeId">, request: SignedRequest): string;
  /** The secret half, for the one file that keeps it. */
  toPem(): string;
}

const rawPublic = (key: KeyObject): Buffer => {
  const { x } = key.export({ format: "jwk" });
  if (x === undefined) throw OperatingError.internal("NODE_KEY_INVALID", "the key of this node is no Ed25519 key");
  return Buffer.from(x, "base64url");
};

const keyOf = (secret: KeyObject): NodeKey => {
  const raw = rawPublic(createPublicKey(secret));
  const nodeId = nodeIdOf(raw);
  return {
    nodeId,
    publicKey: raw.toString("base64"),
    sign: (claim, request) => signRequest({ nodeId, ...claim }, request, secret),
    toPem: () => secret.export({ type: "pkcs8", format: "pem" }).toString(),
  };
};

export const makeNodeKey = (): NodeKey => keyOf(generateKeyPairSync("ed25519").privateKey);

export function readNodeKey(pem: string): NodeKey {
  try {
    const secret = createPrivateKey(pem);
    if (secret.asymmetricKeyType !== "ed25519") throw new Error(`it is of the type ${secret.asymmetricKeyType}`);
    return keyOf(secret);
  } catch (cause) {
    throw OperatingError.internal("NODE_KEY_INVALID", "the key file of this node cannot be read", {
      cause,
      hint: "Remove it and join again: the node gets a new identity.",
    });
  }
}

export const hashOfBody = (body: string): string => hash("sha256", body, "hex");
