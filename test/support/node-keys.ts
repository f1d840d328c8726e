import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { nodeIdOf } from "../../src/cluster/index.ts";

const bearerOf = (publicKey: KeyObject, privateKey: KeyObject) => {
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return { nodeId: nodeIdOf(raw), publicKey: raw.toString("base64"), privateKey };
};

/** The key of a node that was never there before. */
export function nodeKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return bearerOf(publicKey, privateKey);
}

/** The same node in another process. */
export const readBearer = (pem: string) => bearerOf(createPublicKey(pem), createPrivateKey(pem));
