import { type KeyObject, sign, verify } from "node:crypto";
import { OperatingError } from "../../kernel/index.ts";

/** The header by which a node says who it is. */
export const NODE_HEADER = "x-ringrift-node";
/** SHA-256 of the body, for whoever wants it checked before the body has come. */
export const BODY_HASH_HEADER = "x-content-sha256";

/** What a node says about itself with every request. */
export interface NodeClaim {
  readonly nodeId: string;
  /** Grows with every start of the node. */
  readonly incarnation: number;
  /** Grows with every request. */
  readonly counter: number;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** The id of the running main process that it speaks to. */
  readonly boot: string;
}

export interface SignedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** In hex. */
  readonly bodySha256: string;
}

/** What is signed: all that the request does, and to whom and when it was said. */
const signedText = (claim: NodeClaim, { method, path, bodySha256 }: SignedRequest): string =>
  [
    method.toUpperCase(),
    path,
    bodySha256,
    claim.nodeId,
    claim.incarnation,
    claim.counter,
    claim.issuedAt,
    claim.boot,
  ].join("\n");

/** The header of a request. */
export function signRequest(claim: NodeClaim, request: SignedRequest, privateKey: KeyObject): string {
  const sig = sign(null, Buffer.from(signedText(claim, request)), privateKey).toString("base64");
  const { nodeId, incarnation, counter, issuedAt, boot } = claim;
  return `v1 node_id=${nodeId}, incarnation=${incarnation}, counter=${counter}, issued_at=${issuedAt}, boot=${boot}, sig=${sig}`;
}

const SHAPE =
  /^v1 node_id=(n[0-9a-f]{16}), ?incarnation=(\d{1,15}), ?counter=(\d{1,15}), ?issued_at=(\d{1,12}(?:\.\d{1,6})?), ?boot=([\w-]{0,64}), ?sig=([A-Za-z0-9+/]{86}={0,2})$/;

/** The claim as it was written: numbers are signed in the sender's own spelling. */
export interface ReadClaim extends NodeClaim {
  readonly sig: Buffer;
  readonly spelled: { readonly incarnation: string; readonly counter: string; readonly issuedAt: string };
}

export function readNodeHeader(header: string): ReadClaim {
  const found = SHAPE.exec(header);
  if (found === null)
    throw OperatingError.denied("BAD_SIGNATURE", `the header ${NODE_HEADER} is malformed`, {
      status: 401,
      hint: "It is: v1 node_id=..., incarnation=..., counter=..., issued_at=..., boot=..., sig=...",
    });
  const [, nodeId = "", incarnation = "", counter = "", issuedAt = "", boot = "", sig = ""] = found;
  return {
    nodeId,
    incarnation: Number(incarnation),
    counter: Number(counter),
    issuedAt: Number(issuedAt),
    boot,
    sig: Buffer.from(sig, "base64"),
    spelled: { incarnation, counter, issuedAt },
  };
}

/** Whether this node has signed this request. */
export function isSignedBy(key: KeyObject, claim: ReadClaim, { method, path, bodySha256 }: SignedRequest): boolean {
  const { incarnation, counter, issuedAt } = claim.spelled;
  const text = [method.toUpperCase(), path, bodySha256, claim.nodeId, incarnation, counter, issuedAt, claim.boot];
  return verify(null, Buffer.from(text.join("\n")), key, claim.sig);
}
