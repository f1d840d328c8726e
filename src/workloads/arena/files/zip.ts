/**
 * As much of the ZIP format as NumPy archives need: plain and deflated members, no encryption, no 64-bit sizes.
 * Reading goes by the central directory and trusts none of it: offsets, overlaps, sizes and checksums are checked,
 * and nothing is inflated beyond what was declared and allowed.
 */
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { corrupt, fileFault } from "./errors.ts";

export interface ZipMember {
  readonly name: string;
  readonly data: Buffer;
}

export interface ZipLimits {
  readonly members: number;
  /** Of all members together, inflated. */
  readonly bytes: number;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const MAX_COMMENT = 0xffff;
const STORED = 0;
const DEFLATED = 8;
/** 1 January 1980, midnight: the same content gives the same bytes. */
const DOS_DATE = 0x21;
/** Plain members start at multiples of this, so that an array inside can be read where it lies. */
const ALIGNMENT = 64;
/** The extra field for alignment: its id, its length, the alignment, then nothing. */
const ALIGNMENT_FIELD = 0xd935;
const ALIGNMENT_MIN = 6;

/** Fills a local header up so that what follows it is aligned. */
const paddingAfter = (offset: number): Buffer => {
  const length = ALIGNMENT_MIN + ((ALIGNMENT - ((offset + ALIGNMENT_MIN) % ALIGNMENT)) % ALIGNMENT);
  const field = Buffer.alloc(length);
  field.writeUInt16LE(ALIGNMENT_FIELD, 0);
  field.writeUInt16LE(length - 4, 2);
  field.writeUInt16LE(ALIGNMENT, 4);
  return field;
};

export function encodeZip(members: readonly ZipMember[], compress: boolean): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data } of members) {
    const body = compress ? deflateRawSync(data) : data;
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(compress ? DEFLATED : STORED, 4);
    fields.writeUInt16LE(DOS_DATE, 8);
    fields.writeUInt32LE(crc32(data), 10);
    fields.writeUInt32LE(body.length, 14);
    fields.writeUInt32LE(data.length, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.alloc(LOCAL_BYTES);
    local.writeUInt32LE(LOCAL);
    fields.copy(local, 4);
    const nameBytes = Buffer.from(name);
    const padding = compress ? Buffer.alloc(0) : paddingAfter(offset + LOCAL_BYTES + nameBytes.length);
    local.writeUInt16LE(padding.length, 28);
    parts.push(local, nameBytes, padding, body);

    const entry = Buffer.alloc(CENTRAL_BYTES);
    entry.writeUInt32LE(CENTRAL, 0);
    entry.writeUInt16LE(20, 4);
    fields.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, nameBytes);
    offset += LOCAL_BYTES + nameBytes.length + padding.length + body.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}

const findEnd = (file: Buffer): number => {
  const first = Math.max(0, file.length - END_BYTES - MAX_COMMENT);
  for (let at = file.length - END_BYTES; at >= first; at -= 1)
    if (file.readUInt32LE(at) === END && at + END_BYTES + file.readUInt16LE(at + 20) === file.length) return at;
  throw fileFault("ARENA_FILE_TRUNCATED", "The archive has no end record: it is no ZIP, or it was cut off.");
};

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly size: number;
  readonly start: number;
}

function readEntry(file: Buffer, at: number, directoryStart: number): { readonly entry: Entry; readonly next: number } {
  if (at + CENTRAL_BYTES > file.length || file.readUInt32LE(at) !== CENTRAL)
    throw corrupt("The archive's directory is damaged.");
  const nameLength = file.readUInt16LE(at + 28);
  const next = at + CENTRAL_BYTES + nameLength + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  const name = file.toString("utf8", at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameLength);
  const flags = file.readUInt16LE(at + 8);
  const method = file.readUInt16LE(at + 10);
  const packed = file.readUInt32LE(at + 20);
  const size = file.readUInt32LE(at + 24);
  const offset = file.readUInt32LE(at + 42);
  if ((flags & 1) !== 0) throw fileFault("ARENA_FILE_KIND", `"${name}" is encrypted.`);
  if (method !== STORED && method !== DEFLATED)
    throw fileFault("ARENA_FILE_KIND", `"${name}" is packed by method ${method}; plain and deflated members are read.`);
  if (packed === 0xffffffff || size === 0xffffffff || offset === 0xffffffff)
    throw fileFault("ARENA_FILE_TOO_LARGE", `"${name}" has 64-bit sizes.`);
  if (offset + LOCAL_BYTES > directoryStart || file.readUInt32LE(offset) !== LOCAL)
    throw corrupt(`"${name}" does not start where the directory says.`);
  const start = offset + LOCAL_BYTES + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28);
  if (start + packed > directoryStart) throw fileFault("ARENA_FILE_TRUNCATED", `"${name}" runs into the directory.`);
  if (method === STORED && packed !== size) throw corrupt(`"${name}" is plain but has two different sizes.`);
  return { entry: { name, method, checksum: file.readUInt32LE(at + 16), packed, size, start }, next };
}

function unpack(file: Buffer, { name, method, checksum, packed, size, start }: Entry): ZipMember {
  const body = file.subarray(start, start + packed);
  let data = body;
  if (method === DEFLATED) {
    try {
      data = inflateRawSync(body, { maxOutputLength: Math.max(1, size) });
    } catch (cause) {
      throw corrupt(`"${name}" does not inflate to its ${size} bytes.`, cause);
    }
  }
  if (data.length !== size) throw corrupt(`"${name}" inflates to ${data.length} bytes instead of ${size}.`);
  if (crc32(data) !== checksum) throw corrupt(`"${name}" does not match its checksum.`);
  return { name, data };
}

export function decodeZip(bytes: Uint8Array, limits: ZipLimits): ZipMember[] {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < END_BYTES) throw fileFault("ARENA_FILE_TRUNCATED", "The archive is shorter than an empty one.");
  const end = findEnd(file);
  const count = file.readUInt16LE(end + 10);
  if (count > limits.members)
    throw fileFault("ARENA_FILE_TOO_LARGE", `The archive has ${count} members; at most ${limits.members} are read.`);
  const directoryStart = file.readUInt32LE(end + 16);
  if (directoryStart + file.readUInt32LE(end + 12) !== end || file.readUInt16LE(end + 8) !== count)
    throw corrupt("The archive's directory is not where its end record says.");
  const entries: Entry[] = [];
  let at = directoryStart;
  for (let i = 0; i < count; i += 1) {
    const { entry, next } = readEntry(file, at, directoryStart);
    entries.push(entry);
    at = next;
  }
  if (at !== end) throw corrupt("The archive's directory has another length than it says.");
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  if (total > limits.bytes)
    throw fileFault(
      "ARENA_FILE_TOO_LARGE",
      `The archive would inflate to ${total} bytes; at most ${limits.bytes} are read.`,
    );
  // Members that share their bytes are how a small archive pretends to be a huge one.
  const byStart = [...entries].sort((a, b) => a.start - b.start);
  byStart.forEach((entry, i) => {
    const before = byStart[i - 1];
    if (before && before.start + before.packed > entry.start)
      throw corrupt(`"${before.name}" and "${entry.name}" overlap.`);
  });
  if (new Set(entries.map(({ name }) => name)).size !== count) throw corrupt("Two members have the same name.");
  return entries.map((entry) => unpack(file, entry));
}
