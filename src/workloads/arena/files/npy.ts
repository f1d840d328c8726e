/** NumPy's array format, version 1.0, for the column types of the arena: a small header in Python syntax, then the bytes. */
import { columnBytes } from "./container.ts";
import { corrupt, fileFault } from "./errors.ts";
import { bytesOf, type Column, type ColumnType, columnFrom, typeOf } from "./frame.ts";

const MAGIC = Buffer.from("\x93NUMPY", "latin1");
const MAX_HEADER_BYTES = 4096;
const MAX_SIDES = 8;

const DESCRIPTIONS: Readonly<Record<ColumnType, string>> = {
  u8: "|u1",
  u16: "<u2",
  u32: "<u4",
  i32: "<i4",
  f32: "<f4",
};

export function encodeNpy(data: Column, shape: readonly number[]): Buffer {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${DESCRIPTIONS[typeOf(data)]}', 'fortran_order': False, 'shape': (${sides}), }`;
  // The data starts at a multiple of 64, and the header ends with a line feed: both are part of the format.
  const unpadded = MAGIC.length + 4 + text.length + 1;
  const header = `${text}${" ".repeat((64 - (unpadded % 64)) % 64)}\n`;
  const prefix = Buffer.from([...MAGIC, 1, 0, header.length & 0xff, header.length >> 8]);
  return Buffer.concat([prefix, Buffer.from(header, "latin1"), columnBytes(data)]);
}

const HEADER =
  /^\{\s*'descr':\s*'([<|>=]?[a-z]\d{1,2})',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([\d, ]*)\),?\s*\}\s*$/;

export function decodeNpy(bytes: Buffer, name: string): { readonly shape: number[]; readonly data: Column } {
  if (bytes.length < MAGIC.length + 4 || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw corrupt(`"${name}" is no NumPy array.`);
  const major = bytes[MAGIC.length]!;
  if (major !== 1 && major !== 2)
    throw fileFault("ARENA_FILE_VERSION", `"${name}" has NumPy format version ${major}; 1 and 2 are read.`);
  const lengthBytes = major === 1 ? 2 : 4;
  const start = MAGIC.length + 2 + lengthBytes;
  if (bytes.length < start) throw fileFault("ARENA_FILE_TRUNCATED", `"${name}" ends inside its header.`);
  const length = bytes.readUIntLE(MAGIC.length + 2, lengthBytes);
  if (length > MAX_HEADER_BYTES)
    throw fileFault(
      "ARENA_FILE_TOO_LARGE",
      `"${name}" has a header of ${length} bytes; at most ${MAX_HEADER_BYTES} are read.`,
    );
  if (bytes.length < start + length) throw fileFault("ARENA_FILE_TRUNCATED", `"${name}" ends inside its header.`);
  const match = HEADER.exec(bytes.toString("latin1", start, start + length));
  if (!match) throw corrupt(`"${name}" has a header that cannot be read.`);
  const type = (Object.keys(DESCRIPTIONS) as ColumnType[]).find((key) => DESCRIPTIONS[key] === match[1]);
  if (!type)
    throw fileFault(
      "ARENA_FILE_KIND",
      `"${name}" has type ${match[1]}; ${Object.values(DESCRIPTIONS).join(", ")} are read.`,
    );
  if (match[2] === "True")
    throw fileFault("ARENA_FILE_KIND", `"${name}" is stored by columns; store it by rows (C order).`);
  const shape = match[3]!
    .split(",")
    .filter((side) => side.trim() !== "")
    .map(Number);
  const elements = shape.reduce((product, side) => product * side, 1);
  if (shape.length > MAX_SIDES || !Number.isSafeInteger(elements)) throw corrupt(`"${name}" has an impossible shape.`);
  const data = bytes.subarray(start + length);
  const expected = elements * bytesOf(type);
  if (data.length < expected)
    throw fileFault("ARENA_FILE_TRUNCATED", `"${name}" has ${data.length} of its ${expected} bytes.`);
  if (data.length > expected) throw corrupt(`"${name}" has ${data.length - expected} bytes too many.`);
  return { shape, data: columnFrom(data, type) };
}
