/**
 * The container of every file of the arena: 8 bytes of magic, the length of a header, a header of canonical JSON that
 * says what the file is and which columns follow, the columns in little-endian bytes, and the SHA-256 of all before it.
 *
 * A file never changes once it is written. Its name for the rest of the world is the SHA-256 of the whole file, the
 * one that `sha256sum` prints. The same content gives the same bytes on every machine.
 */
import { hash } from "node:crypto";
import { endianness } from "node:os";
import { canonicalJson, type Json } from "../../../kernel/index.ts";
import { corrupt, fileFault } from "./errors.ts";

export type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array;
export type ColumnType = "u8" | "u16" | "u32" | "i32" | "f32";

export interface NamedColumn {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Column;
}

export interface FileContent {
  readonly kind: string;
  readonly version: number;
  /** What the columns do not say: the game, the origin, whatever a reader needs. */
  readonly about: { readonly [key: string]: Json };
  readonly columns: readonly NamedColumn[];
}

export interface EncodedFile {
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, in hex; computed when it is asked for. */
  readonly hash: string;
}

/** What every file of the arena starts with. */
export const MAGIC = Buffer.from("RRARENA\n", "latin1");
const FORMAT = "ringrift-arena";
const DIGEST_BYTES = 32;
const MAX_HEADER_BYTES = 1 << 20;
const MAX_COLUMNS = 64;

/** Files above this are refused before they are read, unless the caller says otherwise. */
export const MAX_FILE_BYTES = 1 << 30;

const TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
} as const;

export const typeOf = (data: Column): ColumnType =>
  (Object.keys(TYPES) as ColumnType[]).find((type) => data instanceof TYPES[type])!;

export const bytesOf = (type: ColumnType): number => TYPES[type].BYTES_PER_ELEMENT;

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

/** Whether the machine has numbers of that size as the file has them. */
const isNative = (size: number): boolean => endianness() === "LE" || size === 1;

/** From the file's order to the machine's or back, in place. */
const turned = (bytes: Buffer, size: number): Buffer =>
  isNative(size) ? bytes : size === 2 ? bytes.swap16() : bytes.swap32();

/** Column bytes in the file's order; a copy, so that views into shared memory are settled. */
export const columnBytes = ({ buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }: Column): Buffer =>
  turned(Buffer.from(new Uint8Array(buffer, byteOffset, byteLength)), BYTES_PER_ELEMENT);

/** The column in these bytes: a view of them where they lie as the machine wants them, and a copy otherwise. */
export function columnFrom(bytes: Uint8Array, type: ColumnType): Column {
  const Type = TYPES[type];
  const size = Type.BYTES_PER_ELEMENT;
  const isInPlace = bytes.byteOffset % size === 0 && isNative(size);
  const { buffer, byteOffset } = isInPlace ? bytes : turned(Buffer.from(Uint8Array.from(bytes).buffer), size);
  return new Type(buffer as ArrayBuffer, byteOffset, bytes.byteLength / size);
}

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

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const parseHeader = (bytes: Buffer): Record<string, unknown> => {
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw corrupt("The header is no JSON.", cause);
  }
  if (!isRecord(header) || header.format !== FORMAT) throw corrupt(`The header does not say "${FORMAT}".`);
  return header;
};

const columnSpec = (value: unknown) => {
  if (!isRecord(value) || typeof value.name !== "string" || !Array.isArray(value.shape))
    throw corrupt("The header describes a column without a name or a shape.");
  const { name, shape, type } = value as { name: string; shape: unknown[]; type: unknown };
  if (typeof type !== "string" || !Object.hasOwn(TYPES, type)) throw corrupt(`Column "${name}" has an unknown type.`);
  const sides = shape.map((side) => (typeof side === "number" && side >= 0 ? side : Number.NaN));
  const elements = sides.reduce((product, side) => product * side, 1);
  if (![...sides, elements].every(Number.isSafeInteger)) throw corrupt(`Column "${name}" has an impossible shape.`);
  return { name, shape: sides, type: type as ColumnType, elements };
};

/** The header of a file, within its bounds, and where the columns begin. */
function headerOf(file: Buffer) {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC))
    throw corrupt("This is no file of the arena: it does not start with its mark.");
  if (file.length < MAGIC.length + 4 + DIGEST_BYTES)
    throw fileFault("ARENA_FILE_TRUNCATED", `The file ends after ${file.length} bytes, inside its frame.`);
  const headerStart = MAGIC.length + 4;
  const headerLength = file.readUInt32LE(MAGIC.length);
  if (headerLength > MAX_HEADER_BYTES)
    throw fileFault("ARENA_FILE_TOO_LARGE", `A header of ${headerLength} bytes; at most ${MAX_HEADER_BYTES} are read.`);
  if (headerStart + headerLength + DIGEST_BYTES > file.length)
    throw fileFault("ARENA_FILE_TRUNCATED", "The file ends inside its header.");
  const header = parseHeader(file.subarray(headerStart, headerStart + headerLength));
  return { header, start: headerStart + headerLength };
}

/** What a file says it holds and in which version, before anything else of it is read. */
export function saidBy(bytes: Uint8Array): { readonly kind: string; readonly version: number } {
  const { header } = headerOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { kind: String(header.kind), version: Number(header.version) };
}

/** Reads a file of one kind and one version, or says in a typed error why it cannot. */
export function decodeFile(bytes: Uint8Array, kind: string, version: number): FileContent {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { header, start } = headerOf(file);

  if (typeof header.version !== "number") throw fileFault("ARENA_FILE_VERSION", "The file does not say its version.");
  if (header.kind !== kind)
    throw fileFault("ARENA_FILE_KIND", `The file holds "${String(header.kind)}", not "${kind}".`);
  if (header.version !== version)
    throw fileFault(
      "ARENA_FILE_VERSION",
      `The file has version ${header.version}; this program reads version ${version}.`,
    );
  if (!isRecord(header.about) || !Array.isArray(header.columns) || header.columns.length > MAX_COLUMNS)
    throw corrupt("The header does not describe its columns.");

  const specs = header.columns.map(columnSpec);
  const payload = specs.reduce((sum, { elements, type }) => sum + elements * bytesOf(type), 0);
  const expected = start + payload + DIGEST_BYTES;
  if (file.length < expected)
    throw fileFault("ARENA_FILE_TRUNCATED", `The file has ${file.length} of its ${expected} bytes.`);
  if (file.length > expected) throw corrupt(`The file has ${file.length - expected} bytes too many.`);
  const end = file.length - DIGEST_BYTES;
  if (!file.subarray(end).equals(hash("sha256", file.subarray(0, end), "buffer")))
    throw corrupt("The bytes do not match the file's own SHA-256.");

  let at = start;
  const columns = specs.map(({ name, shape, type, elements }) => {
    const size = elements * bytesOf(type);
    const data = columnFrom(file.subarray(at, at + size), type);
    at += size;
    return { name, shape, data };
  });
  return { kind, version, about: header.about as { readonly [key: string]: Json }, columns };
}

/** A column by name, type and shape; anything else is a corrupt file. */
export function columnOf<T extends Column>(
  columns: readonly NamedColumn[],
  name: string,
  type: abstract new (...args: never[]) => T,
  shape: readonly number[],
): T {
  const column = columns.find((candidate) => candidate.name === name);
  if (!column) throw corrupt(`The file has no column "${name}".`);
  if (!(column.data instanceof type)) throw corrupt(`Column "${name}" has another type than ${type.name}.`);
  if (column.shape.length !== shape.length || column.shape.some((side, i) => side !== shape[i]))
    throw corrupt(`Column "${name}" has shape (${column.shape}), not (${shape}).`);
  return column.data;
}

/** A column of weights or the like: what is no finite number would spoil all that is computed with it. */
export function finiteColumn(columns: readonly NamedColumn[], name: string, length: number): Float32Array {
  const column = columnOf(columns, name, Float32Array, [length]);
  if (!column.every(Number.isFinite)) throw corrupt(`"${name}" holds what is no finite number.`);
  return column;
}
