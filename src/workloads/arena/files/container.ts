/**
 * Files of the arena as a process writes and reads them; `frame.ts` says how they are made.
 *
 * A file never changes once it is written. Its name for the rest of the world is the SHA-256 of the whole file, the
 * one that `sha256sum` prints. The same content gives the same bytes on every machine.
 */
import { hash } from "node:crypto";
import { canonicalJson } from "../../../kernel/index.ts";
import { type Column, decodeFrame, type FileContent, FORMAT, MAGIC_BYTES, turned, typeOf } from "./frame.ts";

export interface EncodedFile {
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, in hex; computed when it is asked for. */
  readonly hash: string;
}

/** What every file of the arena starts with. */
export const MAGIC = Buffer.from(MAGIC_BYTES);

/** Files above this are refused before they are read, unless the caller says otherwise. */
export const MAX_FILE_BYTES = 1 << 30;

export const hashOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

/** Bytes and their name. Whoever passes them on hashes them once more by itself, so the hash waits until it is wanted. */
export function encodedFile(bytes: Uint8Array): EncodedFile {
  let known: string | undefined;
  return {
    bytes,
    get hash() {
      known ??= hashOf(bytes);
      return known;
    },
  };
}

/** Column bytes in the file's order; a copy, so that views into shared memory are settled. */
export const columnBytes = ({ buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }: Column): Buffer =>
  turned(Buffer.from(new Uint8Array(buffer, byteOffset, byteLength)), BYTES_PER_ELEMENT);

export function encodeFile(content: FileContent): EncodedFile {
  const header = Buffer.from(
    canonicalJson({
      format: FORMAT,
      kind: content.kind,
      version: content.version,
      about: content.about,
      columns: content.columns.map(({ name, shape, data }) => ({ name, shape, type: typeOf(data) })),
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  const body = Buffer.concat([MAGIC, length, header, ...content.columns.map(({ data }) => columnBytes(data))]);
  return encodedFile(Buffer.concat([body, hash("sha256", body, "buffer")]));
}

/** Reads a file of one kind and one version, or says in a typed error why it cannot. */
export const decodeFile = (bytes: Uint8Array, kind: string, version: number): FileContent =>
  decodeFrame(bytes, kind, version, (part) => hash("sha256", part, "buffer"));
