/**
 * Curves as TensorBoard reads them: a file of records, each an `Event` of TensorFlow as a protocol buffer. Only the few fields that
 * a number needs are written, so that no library is carried along for them.
 *
 * A record is its length (8 bytes), a checksum of the length, the bytes, and a checksum of the bytes; a checksum is a CRC-32C,
 * turned and shifted so that it is not mistaken for one of the content.
 */
import type { CurvePoint } from "./curves.ts";

const CASTAGNOLI = 0x82f6_3b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ CASTAGNOLI : crc >>> 1;
  return crc;
});

/** As in RFC 3720. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff]!;
  return (crc ^ 0xffff_ffff) >>> 0;
}

const MASK_DELTA = 0xa282_ead8;
const masked = (bytes: Uint8Array): Buffer => {
  const crc = crc32c(bytes);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE((((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0);
  return checksum;
};

const record = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, masked(length), bytes, masked(bytes)]);
};

/** How a field of a protocol buffer lies in its bytes. */
const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const varint = (value: bigint): Buffer => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
};

const field = (number: number, wire: keyof typeof WIRE, content: Buffer): Buffer =>
  Buffer.concat([varint(BigInt((number << 3) | WIRE[wire])), content]);

const nested = (number: number, content: Buffer): Buffer =>
  field(number, "bytes", Buffer.concat([varint(BigInt(content.length)), content]));

const text = (number: number, value: string): Buffer => nested(number, Buffer.from(value));

const double = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
};

const float = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
};

/** `Event`: wall_time 1, step 2, file_version 3, summary 5. `Summary`: value 1. `Summary.Value`: tag 1, simple_value 2. */
const event = (at: number, ...rest: readonly Buffer[]): Buffer =>
  record(Buffer.concat([field(1, "fixed64", double(at / 1_000)), ...rest]));

/** A whole event file; its steps are iterations. */
export const eventFile = (points: readonly CurvePoint[], startedAt: number): Buffer =>
  Buffer.concat([
    event(startedAt, text(3, "brain.Event:2")),
    ...points.map(({ name, iteration, at, value }) =>
      event(
        at,
        field(2, "varint", varint(BigInt(iteration))),
        nested(5, nested(1, Buffer.concat([text(1, name), field(2, "fixed32", float(value))]))),
      ),
    ),
  ]);

/** TensorBoard takes a folder's files for its curves whose names begin so. */
export const eventFileName = (startedAt: number): string =>
  `events.out.tfevents.${Math.floor(startedAt / 1_000)}.ringrift`;
