/**
 * How a backup is hidden from whoever has its disk or bucket.
 *
 * From the user's key comes one key for each file, by what the file holds: the same content gives the same bytes, so that what was
 * copied once need not be copied again, and no key is used for two contents. A file goes through in chunks, each sealed by
 * AES-256-GCM under its number and whether it is the last: none can be changed, left out, put elsewhere or cut off unseen,
 * and none needs more memory than itself.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, scryptSync, timingSafeEqual } from "node:crypto";
import { OperatingError } from "../../kernel/index.ts";

const MAGIC = Buffer.from("RRBK");
const VERSION = 1;
const CHECK_BYTES = 16;
const CHUNK_BYTES = 64 * 1_024;
const TAG_BYTES = 16;
export const SALT_BYTES = 32;
const HEAD_BYTES = MAGIC.length + 1 + CHECK_BYTES;

/** What the user's secret becomes at a place. */
export interface BackupKey {
  readonly salt: Buffer;
  /** Tells this key from another without saying anything of it. */
  readonly check: Buffer;
  readonly master: Buffer;
}

/** Slow on purpose: who has the disk and guesses at the secret pays for each guess. */
export function deriveKey(secret: string, salt: Buffer): BackupKey {
  const master = scryptSync(secret, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1_024 ** 2 });
  const check = createHmac("sha256", master).update("ringrift backup key check 1").digest().subarray(0, CHECK_BYTES);
  return { salt, check, master };
}

export const wrongKey = (what: string) =>
  OperatingError.denied("BACKUP_KEY_WRONG", `${what} was made with another key`, {
    hint: "Give the key that it was made with: RINGRIFT_BACKUP_KEY_FILE, or --key-file.",
  });

export const damagedBackup = (what: string, why: string) =>
  OperatingError.conflict("BACKUP_DAMAGED", `${what} is damaged: ${why}`, {
    hint: "'ringrift backup verify' tells what else is; an older backup may have a sound one.",
  });

/** Bytes that so many become. */
export const sealedBytes = (bytes: number): number =>
  HEAD_BYTES + bytes + TAG_BYTES * Math.max(1, Math.ceil(bytes / CHUNK_BYTES));

const headOf = (check: Buffer): Buffer => Buffer.concat([MAGIC, Buffer.from([VERSION]), check]);
const fileKey = ({ master }: BackupKey, context: string): Buffer =>
  Buffer.from(hkdfSync("sha256", master, Buffer.from(context), "ringrift backup file 1", 32));
const nonceOf = (chunk: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(chunk, 0, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
};

/** The bytes in pieces of one size, each with whether it is the last; nothing at all is one empty piece. */
async function* inPieces(bytes: AsyncIterable<Uint8Array>, size: number) {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    held = held.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([held, chunk]);
    // One piece is kept back: only the end tells which is the last.
    while (held.length > size) {
      yield { piece: held.subarray(0, size), isLast: false };
      held = held.subarray(size);
    }
  }
  yield { piece: held, isLast: true };
}

/** `context` is what the file is known by, so that no two contents share a key: the hash of the content. */
export async function* seal(bytes: AsyncIterable<Uint8Array>, key: BackupKey, context: string) {
  const [secret, head] = [fileKey(key, context), headOf(key.check)];
  yield head;
  let chunk = 0;
  for await (const { piece, isLast } of inPieces(bytes, CHUNK_BYTES)) {
    const cipher = createCipheriv("aes-256-gcm", secret, nonceOf(chunk, isLast)).setAAD(head);
    const sealed = cipher.update(piece);
    cipher.final();
    yield Buffer.concat([sealed, cipher.getAuthTag()]);
    chunk += 1;
  }
}

/** Whether bytes begin like something sealed here. */
export const isSealed = (bytes: Uint8Array): boolean => MAGIC.equals(bytes.subarray(0, MAGIC.length));

/** Gives nothing that was not proven: a chunk comes out when its tag is right. */
export async function* unseal(bytes: AsyncIterable<Uint8Array>, key: BackupKey, context: string, what: string) {
  const secret = fileKey(key, context);
  let head: Buffer | undefined;
  let chunk = 0;
  for await (const { piece, isLast } of inPieces(
    withoutHead(bytes, (found) => (head = found)),
    CHUNK_BYTES + TAG_BYTES,
  )) {
    if (head === undefined) throw damagedBackup(what, "it is too short");
    if (chunk === 0) checkHead(head, key, what);
    if (piece.length < TAG_BYTES) throw damagedBackup(what, "it is cut off");
    const decipher = createDecipheriv("aes-256-gcm", secret, nonceOf(chunk, isLast)).setAAD(head);
    decipher.setAuthTag(piece.subarray(piece.length - TAG_BYTES));
    const open = decipher.update(piece.subarray(0, piece.length - TAG_BYTES));
    try {
      decipher.final();
    } catch {
      throw damagedBackup(what, `chunk ${chunk} is not what was written`);
    }
    yield open;
    chunk += 1;
  }
}

function checkHead(head: Buffer, { check }: BackupKey, what: string): void {
  if (!isSealed(head)) throw damagedBackup(what, "it does not begin as it should");
  const version = head[MAGIC.length];
  if (version !== VERSION)
    throw OperatingError.invalid("BACKUP_NEWER", `${what} has version ${version}, this program knows ${VERSION}`, {
      hint: "Use the version of ringrift that made it, or a newer one.",
    });
  if (!timingSafeEqual(head.subarray(MAGIC.length + 1), check)) throw wrongKey(what);
}

async function* withoutHead(bytes: AsyncIterable<Uint8Array>, onHead: (head: Buffer) => void) {
  let held: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (held === undefined) {
      yield chunk;
      continue;
    }
    held = Buffer.concat([held, chunk]);
    if (held.length < HEAD_BYTES) continue;
    onHead(held.subarray(0, HEAD_BYTES));
    const rest: Buffer = held.subarray(HEAD_BYTES);
    held = undefined;
    if (rest.length > 0) yield rest;
  }
}
