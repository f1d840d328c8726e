/**
 * The frame of every file of the arena: 8 bytes of magic, the length of a header, a header of canonical JSON that says what the file is
 * and which columns follow, the columns in little-endian bytes, and the SHA-256 of all before it. Reading it needs nothing but the language, so that
 * a browser reads the same files; whoever reads brings the hash.
 */
import type { Json } from "../../../kernel/index.ts";
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

/** SHA-256 of bytes, as bytes. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/** What every file of the arena starts with. */
export const MAGIC_BYTES: Uint8Array = Uint8Array.from("RRARENA\n", (letter) => letter.charCodeAt(0));
export const FORMAT = "ringrift-arena";
const DIGEST_BYTES = 32;
const MAX_HEADER_BYTES = 1 << 20;
const MAX_COLUMNS = 64;

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

/** Whether the machine has numbers of that size as the file has them. */
const isNative = (size: number): boolean => size === 1 || new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** From the file's order to the machine's or back, in place. */
export function turned<B extends Uint8Array>(bytes: B, size: number): B {
  if (!isNative(size)) for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
  return bytes;
}

/** The column in these bytes: a view of them where they lie as the machine wants them, and a copy otherwise. */
export function columnFrom(bytes: Uint8Array, type: ColumnType): Column {
  const Type = TYPES[type];
  const size = Type.BYTES_PER_ELEMENT;
  const isInPlace = bytes.byteOffset % size === 0 && isNative(size);
  const { buffer, byteOffset } = isInPlace ? bytes : turned(Uint8Array.from(bytes), size);
  return new Type(buffer as ArrayBuffer, byteOffset, bytes.byteLength / size);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

const parseHeader = (bytes: Uint8Array): Record<string, unknown> => {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
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
function headerOf(file: Uint8Array) {
  if (!isEqual(file.subarray(0, MAGIC_BYTES.length), MAGIC_BYTES))
    throw corrupt("This is no file of the arena: it does not start with its mark.");
  if (file.length < MAGIC_BYTES.length + 4 + DIGEST_BYTES)
    throw fileFault("ARENA_FILE_TRUNCATED", `The file ends after ${file.length} bytes, inside its frame.`);
  const headerStart = MAGIC_BYTES.length + 4;
  const headerLength = new DataView(file.buffer, file.byteOffset).getUint32(MAGIC_BYTES.length, true);
  if (headerLength > MAX_HEADER_BYTES)
    throw fileFault("ARENA_FILE_TOO_LARGE", `A header of ${headerLength} bytes; at most ${MAX_HEADER_BYTES} are read.`);
  if (headerStart + headerLength + DIGEST_BYTES > file.length)
    throw fileFault("ARENA_FILE_TRUNCATED", "The file ends inside its header.");
  const header = parseHeader(file.subarray(headerStart, headerStart + headerLength));
  return { header, start: headerStart + headerLength };
}

/** What a file says it holds and in which version, before anything else of it is read. */
export function saidBy(bytes: Uint8Array): { readonly kind: string; readonly version: number } {
  const { header } = headerOf(bytes);
  return { kind: String(header.kind), version: Number(header.version) };
}

/** Reads a file of one kind and one version, or says in a typed error why it cannot. */
export function decodeFrame(file: Uint8Array, kind: string, version: number, sha256: Sha256): FileContent {
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
  if (!isEqual(file.subarray(end), sha256(file.subarray(0, end))))
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
