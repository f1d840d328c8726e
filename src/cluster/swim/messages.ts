/** Messages as they travel: one line of JSON behind its signature. A node is its key, so nobody need be asked whose it is. */
import { type KeyObject, sign, verify } from "node:crypto";
import { z } from "zod";
import { nodeIdOf, nodeKeyOf } from "../nodes/identity.ts";
import type { SwimMessage } from "./swim-member.ts";

/** What passes every network in one piece. */
const MAX_DATAGRAM_BYTES = 1_400;
const SIGNATURE_BYTES = 64;
const PURPOSE = "ringrift swim v1\n";

const id = z.string().max(64);
const envelope = z.strictObject({
  key: z.string().max(64),
  to: id,
  kind: z.enum(["ping", "ack", "ask"]),
  about: id.optional(),
  seq: z.int().min(0).max(0xffff_ffff),
  news: z
    .array(
      z.strictObject({
        id,
        status: z.enum(["alive", "suspect", "dead"]),
        incarnation: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
      }),
    )
    .max(16),
});

/** How a node signs, with its public key as it goes over the wire: the raw 32 bytes in base64. */
export interface SwimKey {
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

export function encodeSwim({ publicKey, privateKey }: SwimKey, to: string, message: SwimMessage): Buffer {
  const text = Buffer.from(JSON.stringify({ key: publicKey, to, ...message }));
  return Buffer.concat([sign(null, Buffer.concat([Buffer.from(PURPOSE), text]), privateKey), text]);
}

/** Who sent it, and what; undefined for what is not for us, not sound, or not of a node that `isKnown`. */
export function decodeSwim(
  bytes: Buffer,
  self: string,
  isKnown: (nodeId: string) => boolean,
): { readonly from: string; readonly message: SwimMessage } | undefined {
  if (bytes.length <= SIGNATURE_BYTES || bytes.length > MAX_DATAGRAM_BYTES) return undefined;
  const text = bytes.subarray(SIGNATURE_BYTES);
  try {
    const { key, to, about, ...message } = envelope.parse(JSON.parse(text.toString("utf8")));
    if (to !== self || (message.kind === "ask") !== (about !== undefined)) return undefined;
    const { raw, key: publicKey } = nodeKeyOf(key);
    const from = nodeIdOf(raw);
    // Who it is costs nothing to look up; a signature does.
    if (!isKnown(from)) return undefined;
    const signed = Buffer.concat([Buffer.from(PURPOSE), text]);
    if (!verify(null, signed, publicKey, bytes.subarray(0, SIGNATURE_BYTES))) return undefined;
    return { from, message: { ...message, ...(about === undefined ? {} : { about }) } as SwimMessage };
  } catch {
    // Anybody can send anything here.
    return undefined;
  }
}
