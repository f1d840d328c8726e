import { expect, test } from "vitest";
import { faultOfModel, formatOfName, type ModelFormat } from "./foreign-model.ts";
import { encodeNpy } from "./npy.ts";
import { encodeZip } from "./zip.ts";

const npy = (...values: number[]) => encodeNpy(Float32Array.from(values), [values.length]);
const npz = (...values: number[]) => encodeZip([{ name: "weights.npy", data: npy(...values) }], false);

const safetensors = (header: object, body: Buffer) => {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, body]);
};
const floats = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer);
const tensor = (dtype: string, shape: number[], to: number) => ({ w: { dtype, shape, data_offsets: [0, to] } });

/** ir_version 8, a graph of two bytes, and an opset. */
const onnx = Buffer.from([0x08, 8, 0x3a, 2, 1, 2, 0x42, 2, 0x10, 17]);

const wide = (type: string, data: Buffer, shape = "(1,)") => {
  const header = `{'descr': '${type}', 'fortran_order': False, 'shape': ${shape}, }\n`;
  return Buffer.concat([
    Buffer.from("\x93NUMPY\x01\x00", "latin1"),
    Buffer.from([header.length, 0]),
    Buffer.from(header),
    data,
  ]);
};
const double = (value: number) => Buffer.from(Float64Array.from([value]).buffer);

test.each<[string, ModelFormat, Buffer, string | undefined]>([
  ["an archive", "npz", npz(1, 2), undefined],
  ["a number that is none", "npz", npz(1, Number.NaN), 'holds numbers that are not finite ("weights.npy")'],
  ["an endless one", "npz", npz(Number.POSITIVE_INFINITY), 'holds numbers that are not finite ("weights.npy")'],
  ["noise", "npz", Buffer.alloc(64, 7), "is no NumPy archive"],
  ["two bytes", "npz", Buffer.from("PK"), "is no NumPy archive"],
  [
    "an archive of something else",
    "npz",
    encodeZip([{ name: "a.txt", data: Buffer.from("a") }], false),
    "holds no array",
  ],
  [
    "an array that is none",
    "npz",
    encodeZip([{ name: "a.npy", data: Buffer.from("a") }], false),
    'is no NumPy array ("a.npy")',
  ],
  ["an array", "npy", npy(1), undefined],
  ["doubles", "npy", wide("<f8", double(0.5)), undefined],
  ["doubles that are none", "npy", wide("<f8", double(Number.NaN)), "holds numbers that are not finite"],
  ["halves", "npy", wide("<f2", Buffer.from([0, 0x3c])), undefined],
  ["halves that are endless", "npy", wide("<f2", Buffer.from([0, 0x7c])), "holds numbers that are not finite"],
  ["whole numbers with all bits", "npy", wide("<i4", Buffer.alloc(4, 255)), undefined],
  ["objects, which only their program reads", "npy", wide("|O", Buffer.from("pickle")), undefined],
  ["an array that is cut", "npy", npy(1, 2).subarray(0, -1), "has 7 of the 8 bytes of its numbers"],
  ["an array that is cut in its header", "npy", npy(1, 2).subarray(0, 20), "ends inside its header"],
  ["an array that is cut before its header", "npy", npy(1, 2).subarray(0, 8), "ends inside its header"],
  ["tensors", "safetensors", safetensors(tensor("F32", [2], 8), floats(1, 2)), undefined],
  [
    "tensors with notes",
    "safetensors",
    safetensors({ __metadata__: {}, ...tensor("F32", [2], 8) }, floats(1, 2)),
    undefined,
  ],
  ["tensors of whole numbers", "safetensors", safetensors(tensor("I32", [2], 8), Buffer.alloc(8, 255)), undefined],
  ["tensors of a type to come", "safetensors", safetensors(tensor("F4", [2], 1), Buffer.from([1])), undefined],
  [
    "a tensor that is none",
    "safetensors",
    safetensors(tensor("F32", [1], 4), floats(Number.NaN)),
    'holds numbers that are not finite ("w")',
  ],
  [
    "a short float that is none",
    "safetensors",
    safetensors(tensor("BF16", [1], 2), Buffer.from([0x80, 0x7f])),
    'holds numbers that are not finite ("w")',
  ],
  ["the same bits as a half", "safetensors", safetensors(tensor("F16", [1], 2), Buffer.from([0x80, 0x3f])), undefined],
  [
    "a tensor beyond the end",
    "safetensors",
    safetensors(tensor("F32", [4], 16), floats(1)),
    'has a tensor outside of its bytes ("w")',
  ],
  [
    "a tensor of another size",
    "safetensors",
    safetensors(tensor("F32", [1], 8), floats(1, 2)),
    'has a tensor of 8 instead of 4 bytes ("w")',
  ],
  [
    "a tensor without a place",
    "safetensors",
    safetensors({ w: { dtype: "F32" } }, floats(1)),
    'has a tensor without a frame ("w")',
  ],
  ["no tensor", "safetensors", safetensors({}, Buffer.alloc(4)), "holds no tensor"],
  ["noise", "safetensors", Buffer.alloc(64, 7), "is no safetensors file"],
  [
    "a header that is no JSON",
    "safetensors",
    Buffer.concat([Buffer.from([4, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("nope")]),
    "is no safetensors file",
  ],
  ["nine bytes", "safetensors", Buffer.alloc(9), "is too short for safetensors"],
  ["a model", "onnx", onnx, undefined],
  ["one that is cut", "onnx", onnx.subarray(0, 5), "is no ONNX model"],
  ["a message without a graph", "onnx", Buffer.from([0x08, 8]), "is no ONNX model"],
  ["text", "onnx", Buffer.from("weights: 1 2 3"), "is no ONNX model"],
  ["an object", "json", Buffer.from('{"weights":[1,2]}'), undefined],
  ["an endless number", "json", Buffer.from('{"weights":[1,[1e999]]}'), "holds numbers that are not finite"],
  ["what Python writes for a number that is none", "json", Buffer.from('{"weights":[NaN]}'), "is no JSON"],
  ["null", "json", Buffer.from("null"), "holds nothing"],
  ["a checkpoint of PyTorch", "zip", npz(1), undefined],
  ["half of one", "zip", npz(1).subarray(0, 60), "is no whole archive"],
  ["anything", "any", Buffer.from("anything"), undefined],
])("%s as %s", (_what, format, bytes, fault) => {
  expect(faultOfModel(bytes, format)).toBe(fault);
});

test("a bomb is not inflated beyond its bounds, and a cut archive says what is wrong with it", () => {
  expect(faultOfModel(npz(1, 2).subarray(0, -30), "npz")).toMatch(/^cannot be read: /);
});

test("the end of a name says what a file is, in any case of letters; others may be anything", () => {
  expect(["model.npz", "model.SAFETENSORS", "model.onnx", "a.b.json", "checkpoint.npy"].map(formatOfName)).toEqual([
    "npz",
    "safetensors",
    "onnx",
    "json",
    "npy",
  ]);
  expect(["model.pt", "model", "model.bin", "json"].map(formatOfName)).toEqual(["any", "any", "any", "json"]);
});
