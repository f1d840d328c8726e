/**
 * A pack as a file: the stream as it came (`pack.ts`), and behind its end mark its index: the heads once more with their hash, one byte for each file
 * that says whether it is gone, and how many there are.
 */
import { hash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { Wanted } from "../transport.port.ts";
import { PACKED_BYTES } from "./limits.ts";
import { PACK_END_NAME, PACK_HEAD_BYTES, packEnd, packHeads, readPackHead } from "./pack.ts";

const MAGIC = Buffer.from("RRPACK1\n", "latin1");
const TAIL_BYTES = 16;
const SUM_BYTES = 32;
const GONE = Buffer.of(1);

const sumOf = (heads: Uint8Array): Buffer => hash("sha256", heads, "buffer");

export function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

/** False if the file ends before. */
export function readAll(file: number, bytes: Uint8Array, at: number): boolean {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, at + done);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

/** What stands behind the files of a pack. */
export function footerOf(files: readonly Wanted[]): Buffer {
  const heads = packHeads(files);
  const tail = Buffer.alloc(TAIL_BYTES);
  tail.set(MAGIC);
  tail.writeBigUInt64BE(BigInt(files.length), MAGIC.length);
  return Buffer.concat([packEnd(files.length), heads, sumOf(heads), Buffer.alloc(files.length), tail]);
}

export interface PackIndex {
  readonly files: readonly Wanted[];
  /** For each file a byte, which is 0 while it is there; and where they stand. */
  readonly marks: Uint8Array;
  readonly marksAt: number;
  /** Of the whole pack. */
  readonly bytes: number;
}

/** The index of a pack; undefined if it is not whole, or not that of these bytes. */
export function readIndex(file: number): PackIndex | undefined {
  const bytes = fstatSync(file).size;
  const tail = Buffer.alloc(TAIL_BYTES);
  if (bytes < TAIL_BYTES || !readAll(file, tail, bytes - TAIL_BYTES)) return undefined;
  if (!tail.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const count = Number(tail.readBigUInt64BE(MAGIC.length));
  const length = count * (PACK_HEAD_BYTES + 1) + SUM_BYTES;
  const from = bytes - TAIL_BYTES - length;
  if (from < 0) return undefined;
  const index = Buffer.allocUnsafe(length);
  if (!readAll(file, index, from)) return undefined;
  const heads = index.subarray(0, count * PACK_HEAD_BYTES);
  const marks = index.subarray(heads.length + SUM_BYTES);
  if (!sumOf(heads).equals(index.subarray(heads.length, heads.length + SUM_BYTES))) return undefined;
  const files: Wanted[] = [];
  let end = 0;
  for (let at = 0; at < heads.length; at += PACK_HEAD_BYTES) {
    const one = readPackHead(heads, at);
    files.push(one);
    end += PACK_HEAD_BYTES + one.bytes;
  }
  if (end + PACK_HEAD_BYTES !== from) return undefined;
  return { files, marks, marksAt: bytes - TAIL_BYTES - count, bytes };
}

/** All files of a pack without an index, as far as one follows the other. */
export function* walk(file: number): Iterable<{ readonly sha256: string; readonly content: Buffer }> {
  const head = Buffer.alloc(PACK_HEAD_BYTES);
  for (let at = 0; readAll(file, head, at); ) {
    const { sha256, bytes } = readPackHead(head);
    if (sha256 === PACK_END_NAME || bytes > PACKED_BYTES) return;
    const content = Buffer.allocUnsafe(bytes);
    at += PACK_HEAD_BYTES;
    if (!readAll(file, content, at)) return;
    yield { sha256, content };
    at += bytes;
  }
}

/** The index of a pack that was written just now. */
export function newIndex(files: readonly Wanted[], bytes: number): PackIndex {
  return { files, marks: new Uint8Array(files.length), marksAt: bytes - TAIL_BYTES - files.length, bytes };
}

/** Says of these that they are gone. Each is one byte, which is written or is not. */
export function markGone(path: string, marksAt: number, places: readonly number[]): void {
  if (places.length === 0) return;
  const file = openSync(path, "r+");
  try {
    for (const place of places) writeAll(file, GONE, marksAt + place);
  } finally {
    closeSync(file);
  }
}
