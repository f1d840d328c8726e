/**
 * Models and checkpoints of other programs. What they mean is theirs; that a file is what it says it is can be seen: it is not empty,
 * its size is within what was declared, its frame is that of its format, and its numbers are numbers. It may come from anybody: all
 * that is read is bounded, and what this program does not understand is no fault of the file.
 */
import { isOperatingError } from "../../../kernel/index.ts";
import { MAX_FILE_BYTES } from "./container.ts";
import { decodeZip } from "./zip.ts";

export const MODEL_FORMATS = ["npz", "npy", "safetensors", "onnx", "json", "zip", "any"] as const;
export type ModelFormat = (typeof MODEL_FORMATS)[number];

/** What a file with this end of its name says that it is. */
const SUFFIXES: Readonly<Record<string, ModelFormat>> = {
  npz: "npz",
  npy: "npy",
  safetensors: "safetensors",
  onnx: "onnx",
  json: "json",
};
export const formatOfName = (name: string): ModelFormat =>
  SUFFIXES[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "any";

const ARCHIVE = { members: 10_000, bytes: MAX_FILE_BYTES };
/** What no writer of archives makes. Anything else that we cannot read may be a newer or larger one. */
const BROKEN: ReadonlySet<string> = new Set(["ARENA_FILE_CORRUPT", "ARENA_FILE_TRUNCATED", "ARENA_FILE_TOO_LARGE"]);

/** What is wrong, in words that follow the name of the file; undefined where nothing is. */
type Fault = string | undefined;

/** Floating point numbers of this width, as they lie in the file; the others are whole, and always numbers. */
function firstUnreal(bytes: Buffer, width: number, isBrain = false): boolean {
  if (width === 2) {
    const exponent = isBrain ? 0x7f80 : 0x7c00;
    for (let at = 0; at + 2 <= bytes.length; at += 2) if ((bytes.readUInt16LE(at) & exponent) === exponent) return true;
    return false;
  }
  for (let at = 0; at + width <= bytes.length; at += width)
    if (!Number.isFinite(width === 4 ? bytes.readFloatLE(at) : bytes.readDoubleLE(at))) return true;
  return false;
}

const NPY = Buffer.from("\x93NUMPY", "latin1");

function npyFault(bytes: Buffer, name: string): Fault {
  if (!bytes.subarray(0, NPY.length).equals(NPY)) return `is no NumPy array${name}`;
  const wide = bytes[NPY.length]! > 1;
  const start = NPY.length + (wide ? 6 : 4);
  if (bytes.length < start) return `ends inside its header${name}`;
  const data = start + (wide ? bytes.readUInt32LE(start - 4) : bytes.readUInt16LE(start - 2));
  if (bytes.length < data) return `ends inside its header${name}`;
  const header = bytes.toString("latin1", start, Math.min(data, start + 65_536));
  const type = /'descr':\s*'([<>|=]?)([fiub])(\d{1,2})'/.exec(header);
  const shape = /'shape':\s*\(([\d, ]*)\)/.exec(header);
  // Arrays of texts, objects or records are read by those who wrote them.
  if (type === null || shape === null) return undefined;
  const [, order, letter, digits] = type;
  const width = Number(digits);
  const sides = shape[1]!.split(",").filter((side) => side.trim() !== "");
  const expected = sides.reduce((product, side) => product * Number(side), width);
  const found = bytes.length - data;
  if (found < expected) return `has ${found} of the ${expected} bytes of its numbers${name}`;
  const isReadable = letter === "f" && order !== ">" && (width === 2 || width === 4 || width === 8);
  return isReadable && firstUnreal(bytes.subarray(data, data + expected), width)
    ? `holds numbers that are not finite${name}`
    : undefined;
}

function npzFault(bytes: Buffer): Fault {
  if (bytes.readUInt32LE(0) !== 0x04034b50) return "is no NumPy archive";
  let hasArray = false;
  for (const { name, data } of decodeZip(bytes, ARCHIVE)) {
    if (!name.endsWith(".npy")) continue;
    hasArray = true;
    const fault = npyFault(data, ` ("${name.slice(0, 60)}")`);
    if (fault !== undefined) return fault;
  }
  return hasArray ? undefined : "holds no array";
}

const MAX_HEADER = 100 * 1_024 * 1_024;
/** Bytes of one number. */
const WIDTHS: Readonly<Record<string, number>> = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
};

function tensorFault(name: string, tensor: unknown, body: Buffer): Fault {
  const about = ` ("${name.slice(0, 60)}")`;
  const { dtype, shape, data_offsets: place } = (tensor ?? {}) as Record<string, unknown>;
  if (typeof dtype !== "string" || !Array.isArray(shape) || !Array.isArray(place))
    return `has a tensor without a frame${about}`;
  const [from, to] = place as [unknown, unknown];
  const isPlace = Number.isSafeInteger(from) && Number.isSafeInteger(to) && (from as number) >= 0;
  if (!isPlace || (from as number) > (to as number) || (to as number) > body.length)
    return `has a tensor outside of its bytes${about}`;
  const width = WIDTHS[dtype];
  if (width === undefined) return undefined;
  const numbers = body.subarray(from as number, to as number);
  const expected = shape.reduce((product: number, side) => product * Number(side), width);
  if (numbers.length !== expected) return `has a tensor of ${numbers.length} instead of ${expected} bytes${about}`;
  const isFloat = dtype.startsWith("F") || dtype === "BF16";
  return isFloat && firstUnreal(numbers, width, dtype === "BF16")
    ? `holds numbers that are not finite${about}`
    : undefined;
}

function safetensorsFault(bytes: Buffer): Fault {
  if (bytes.length < 10) return "is too short for safetensors";
  const length = bytes.readBigUInt64LE(0);
  if (length > BigInt(MAX_HEADER) || length > BigInt(bytes.length - 8)) return "is no safetensors file";
  const end = 8 + Number(length);
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString("utf8", 8, end));
  } catch {
    return "is no safetensors file";
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) return "is no safetensors file";
  const tensors = Object.entries(header).filter(([name]) => name !== "__metadata__");
  if (tensors.length === 0) return "holds no tensor";
  for (const [name, tensor] of tensors) {
    const fault = tensorFault(name, tensor, bytes.subarray(end));
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The fields of a message of protocol buffers, without a look at what is in them; undefined where it is none. */
function fieldsOf(bytes: Buffer): Set<number> | undefined {
  const fields = new Set<number>();
  let at = 0;
  const varint = (): number | undefined => {
    let value = 0;
    for (let digit = 0, worth = 1; digit < 10; digit += 1, worth *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      value += (byte & 0x7f) * worth;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag === undefined || tag < 8) return undefined;
    fields.add(Math.floor(tag / 8));
    const kind = tag % 8;
    const skip =
      kind === 0
        ? varint() === undefined
          ? undefined
          : 0
        : kind === 1
          ? 8
          : kind === 5
            ? 4
            : kind === 2
              ? varint()
              : undefined;
    if (skip === undefined || at + skip > bytes.length) return undefined;
    at += skip;
  }
  return fields;
}

/** Version of the format, and the graph: what every model has. */
const ONNX_FIELDS = [1, 7];

function onnxFault(bytes: Buffer): Fault {
  const fields = fieldsOf(bytes);
  return fields !== undefined && ONNX_FIELDS.every((field) => fields.has(field)) ? undefined : "is no ONNX model";
}

function jsonFault(bytes: Buffer): Fault {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return "is no JSON";
  }
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "number" && !Number.isFinite(next)) return "holds numbers that are not finite";
    if (typeof next === "object" && next !== null) for (const inner of Object.values(next)) open.push(inner);
  }
  return value === null ? "holds nothing" : undefined;
}

/** The end of the directory of an archive, which stands in its last bytes. */
const ZIP_END = Buffer.from("PK\x05\x06", "latin1");
const zipFault = (bytes: Buffer): Fault =>
  bytes.length < 22 || bytes.readUInt32LE(0) !== 0x04034b50 || bytes.subarray(-65_557).lastIndexOf(ZIP_END) < 0
    ? "is no whole archive"
    : undefined;

const READERS: Readonly<Record<ModelFormat, (bytes: Buffer) => Fault>> = {
  npz: (bytes) => (bytes.length < 22 ? "is no NumPy archive" : npzFault(bytes)),
  npy: (bytes) => npyFault(bytes, ""),
  safetensors: safetensorsFault,
  onnx: onnxFault,
  json: jsonFault,
  zip: zipFault,
  any: () => undefined,
};

/** What is wrong with these bytes as a file of this format; undefined where nothing is, or where it is not ours to say. */
export function faultOfModel(bytes: Buffer, format: ModelFormat): Fault {
  try {
    return READERS[format](bytes);
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    return BROKEN.has(thrown.code) ? `cannot be read: ${thrown.message}` : undefined;
  }
}
