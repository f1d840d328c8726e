/** How a node proves who it is: each request is signed, for one run of the main process, and counts only once. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
} from "node:crypto";
import { OperatingError } from "../../kernel/index.ts";

export const NODE_HEADER = "x-ringrift-node";

export interface NodeKey {
  readonly nodeId: string;
  /** The raw 32 bytes in base64, as they go over the wire. */
  readonly publicKey: string;
  sign(text: string): string;
  /** The secret half, for the one file that keeps it. */
  toPem(): string;
}

const rawPublic = (key: KeyObject): Buffer => {
  const { x } = key.export({ format: "jwk" });
  if (x === undefined) throw new OperatingError("NODE_KEY_INVALID", "the key of this node is no Ed25519 key");
  return Buffer.from(x, "base64url");
};

/** An identity, not a name: it follows from the key, and nobody else can have it. */
export const nodeIdOf = (publicKey: Uint8Array): string => `n${hash("sha256", publicKey, "hex").slice(0, 16)}`;

const keyOf = (secret: KeyObject): NodeKey => {
  const raw = rawPublic(createPublicKey(secret));
  return {
    nodeId: nodeIdOf(raw),
    publicKey: raw.toString("base64"),
    sign: (text) => sign(null, Buffer.from(text), secret).toString("base64"),
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
    throw new OperatingError("NODE_KEY_INVALID", "the key file of this node cannot be read", {
      cause,
      hint: "Remove it and join again: the node gets a new identity.",
    });
  }
}

export interface SignedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** SHA-256 of the body in hex. */
  readonly bodyHash: string;
  readonly incarnation: number;
  readonly counter: number;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** The run of the main process that this is meant for. */
  readonly boot: string;
}

export const hashOfBody = (body: string | Uint8Array | undefined): string =>
  createHash("sha256")
    .update(body ?? "")
    .digest("hex");

export function signedHeader(key: NodeKey, request: SignedRequest): string {
  const { method, path, bodyHash, incarnation, counter, issuedAt, boot } = request;
  const text = [method, path, bodyHash, key.nodeId, incarnation, counter, issuedAt, boot].join("\n");
  const fields = { node_id: key.nodeId, incarnation, counter, issued_at: issuedAt, boot, sig: key.sign(text) };
  return `v1 ${Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ")}`;
}
