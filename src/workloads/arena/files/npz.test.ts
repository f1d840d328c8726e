import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it, vi } from "vitest";
import { isOperatingError, seededRandom } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { DEFAULT_SELF_PLAY, selfPlay } from "../play/self-play.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch, DEFAULT_SEARCH } from "../search/puct.ts";
import { decodeNpy, encodeNpy } from "./npy.ts";
import { decodeNpz, encodeNpz } from "./npz.ts";
import { decodeZip, encodeZip } from "./zip.ts";

const game = createGame("hex7_2p");
const network = createNetwork(shapeOf(game, 8, 8), seededRandom(4));
const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 8 });
const { samples } = selfPlay(game, search, DEFAULT_SELF_PLAY, [1, 2]);
/** Without Python two tests are left out by name; where CI runs, Python must be there. */
const withoutPython = process.env.CI === undefined && spawnSync("python3", ["--version"]).status !== 0;
/** NumPy itself is one more witness, where it happens to be installed; the published format is checked without it. */
const hasNumPy = spawnSync("python3", ["-c", "import numpy"]).status === 0;
const limits = { members: 32, bytes: 1 << 26 };

const faultOf = (act: () => unknown): string => {
  try {
    act();
  } catch (thrown) {
    if (isOperatingError(thrown)) return thrown.code;
    throw thrown;
  }
  return "none";
};

describe("a NumPy array", () => {
  it("has the published header: magic, version 1.0, a padded dictionary, data at a multiple of 64", () => {
    const bytes = encodeNpy(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
    expect(bytes.subarray(0, 8)).toEqual(Buffer.from("\x93NUMPY\x01\x00", "latin1"));
    const length = bytes.readUInt16LE(8);
    expect((10 + length) % 64).toBe(0);
    const header = bytes.toString("latin1", 10, 10 + length);
    expect(header.trimEnd()).toBe("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    expect(header.endsWith("\n")).toBe(true);
    expect(bytes.readFloatLE(10 + length + 20)).toBe(6);
    expect(encodeNpy(new Uint8Array(3), [3]).toString("latin1")).toContain(
      "'descr': '|u1', 'fortran_order': False, 'shape': (3,)",
    );
  });

  it("reads what it writes, for every type", () => {
    for (const data of [
      Uint8Array.of(1, 2),
      Uint16Array.of(1, 65535),
      Uint32Array.of(7, 2 ** 32 - 1),
      Int32Array.of(-1, 5),
      Float32Array.of(0.5, -3),
    ])
      expect(decodeNpy(encodeNpy(data, [2, 1]), "x")).toEqual({ shape: [2, 1], data });
  });

  it("refuses other types, other orders, impossible shapes and wrong lengths", () => {
    const withHeader = (header: string, data = 8) =>
      Buffer.concat([
        Buffer.from("\x93NUMPY\x01\x00", "latin1"),
        Buffer.from([header.length & 0xff, header.length >> 8]),
        Buffer.from(header),
        Buffer.alloc(data),
      ]);
    const read = (header: string, data?: number) => faultOf(() => decodeNpy(withHeader(header, data), "x"));
    expect(read("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n")).toBe("ARENA_FILE_KIND");
    expect(read("{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }\n")).toBe("ARENA_FILE_CORRUPT");
    expect(read("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }\n")).toBe("ARENA_FILE_KIND");
    expect(read("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n")).toBe("ARENA_FILE_TRUNCATED");
    expect(read("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n")).toBe("ARENA_FILE_CORRUPT");
    expect(read(`{'descr': '<f4', 'fortran_order': False, 'shape': (${"9999999,".repeat(4)}), }\n`)).toBe(
      "ARENA_FILE_CORRUPT",
    );
    expect(read("__import__('os')")).toBe("ARENA_FILE_CORRUPT");
    expect(faultOf(() => decodeNpy(Buffer.from("hello, world"), "x"))).toBe("ARENA_FILE_CORRUPT");
    const newer = encodeNpy(new Uint8Array(1), [1]);
    newer[6] = 9;
    expect(faultOf(() => decodeNpy(newer, "x"))).toBe("ARENA_FILE_VERSION");
  });
});

describe("an archive of samples", () => {
  const folder = mkdtempSync(join(tmpdir(), "arena-npz-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const python = (script: string, ...args: string[]) =>
    execFileSync("python3", ["-c", script, ...args], { encoding: "utf8" });

  it.each([true, false])("gives back what went in (compressed: %s)", (compress) => {
    const file = encodeNpz(samples, { round: 3 }, compress);
    const read = decodeNpz(file.bytes);
    expect(read.samples).toEqual(samples);
    expect(read.origin).toEqual({ round: 3 });
  });

  it.skipIf(withoutPython)("is a sound archive in the eyes of Python, with the columns where the header says", () => {
    const path = join(folder, "rows.npz");
    writeFileSync(path, encodeNpz(samples).bytes);
    const script = `
import ast, json, struct, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
out = {}
for name in z.namelist():
    b = z.read(name)
    assert b[:8] == b"\\x93NUMPY\\x01\\x00"
    (n,) = struct.unpack("<H", b[8:10])
    h = ast.literal_eval(b[10:10 + n].decode("latin1"))
    out[name] = [h["descr"], h["fortran_order"], list(h["shape"]), len(b) - 10 - n]
    if name == "policy.npy":
        out["first row"] = sum(struct.unpack("<%df" % h["shape"][1], b[10 + n:10 + n + 4 * h["shape"][1]]))
    if name == "meta.npy":
        out["meta"] = json.loads(b[10 + n:])
print(json.dumps(out))`;
    const seen = JSON.parse(python(script, path));
    expect(seen["policy.npy"]).toEqual(["<f4", false, [samples.count, 50], samples.count * 200]);
    expect(seen["codes.npy"]).toEqual(["|u1", false, [samples.count, 49], samples.count * 49]);
    expect(seen["game.npy"]).toEqual(["<u4", false, [samples.count], samples.count * 4]);
    expect(seen["first row"]).toBeCloseTo(1, 5);
    expect(seen.meta).toMatchObject({ config_key: "hex7_2p", version: 1 });
  });

  const isWhatNumPyReads = () => {
    vi.setConfig({ testTimeout: 60_000 });
    const script = `
import json, sys, numpy
rows = numpy.load(sys.argv[1])
assert json.loads(rows["meta"].tobytes())["config_key"] == "hex7_2p"
assert numpy.allclose(rows["policy"].sum(axis=1), 1) and (rows["policy"][rows["legal"] == 0] == 0).all()
print(json.dumps([list(rows["codes"].shape), int(rows["codes"].sum()), rows["game"].tolist(), rows["ply"].dtype.str]))
numpy.savez(sys.argv[2], **rows)
numpy.savez_compressed(sys.argv[3], **rows)`;
    for (const compress of [false, true]) {
      const files = ["ours", "plain", "packed"].map((name) => join(folder, `numpy-${name}-${compress}.npz`));
      writeFileSync(files[0]!, encodeNpz(samples, {}, compress).bytes);
      const seen = JSON.parse(python(script, ...files));
      const sum = samples.codes.reduce((a, b) => a + b, 0);
      expect(seen).toEqual([[samples.count, 49], sum, [...samples.game], "<u2"]);
      for (const file of files.slice(1)) expect(decodeNpz(readFileSync(file)).samples).toEqual(samples);
    }
  };
  if (hasNumPy) it("is what NumPy reads and writes, plain and packed", isWhatNumPyReads);

  it("that is plain is read where it lies, without a copy; any other is copied", () => {
    const { bytes } = encodeNpz(samples);
    const aligned = new Uint8Array(new ArrayBuffer(bytes.length + 1), 0, bytes.length);
    aligned.set(bytes);
    const shifted = new Uint8Array(new ArrayBuffer(bytes.length + 1), 1);
    shifted.set(bytes);
    const [here, copied] = [decodeNpz(aligned).samples, decodeNpz(shifted).samples];
    for (const column of ["codes", "policy", "search", "outcome", "ply", "game"] as const) {
      expect(here[column].buffer).toBe(aligned.buffer);
      expect(copied[column]).toEqual(here[column]);
    }
    expect(copied.policy.buffer).not.toBe(shifted.buffer);
    expect(here).toEqual(samples);
  });

  it.skipIf(withoutPython)("is read when Python wrote it, in the way NumPy does", () => {
    const path = join(folder, "ours.npz");
    const theirs = join(folder, "theirs.npz");
    writeFileSync(path, encodeNpz(samples).bytes);
    const script = `
import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
w = zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED, allowZip64=True)
for name in z.namelist():
    with w.open(name, "w", force_zip64=True) as f:
        f.write(z.read(name))
w.close()`;

    // Real work on a busy machine; the limit is there for what hangs, not for what is slow.
    vi.setConfig({ testTimeout: 60_000 });
    python(script, path, theirs);
    expect(decodeNpz(readFileSync(theirs)).samples).toEqual(samples);
  });

  it("cut short or damaged anywhere gives a typed error, or the same rows", () => {
    const { bytes } = encodeNpz(samples);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
        expect(faultOf(() => decodeNpz(bytes.slice(0, at)))).toMatch(/^ARENA_FILE_/);
        const damaged = Uint8Array.from(bytes);
        damaged[at]! ^= 1 << bit;
        // Some bits, such as a member's time, carry no meaning; what they leave must be whole.
        let read: unknown;
        const fault = faultOf(() => {
          read = decodeNpz(damaged).samples;
        });
        if (fault === "none") expect(read).toEqual(samples);
        else expect(fault).toMatch(/^ARENA_FILE_/);
      }),
      { numRuns: 300 },
    );
  });

  it("without meta or version, or of another kind, gives a typed error", () => {
    const meta = (value: unknown) => {
      const text = Buffer.from(JSON.stringify(value));
      return encodeZip([{ name: "meta.npy", data: encodeNpy(Uint8Array.from(text), [text.length]) }], false);
    };
    expect(faultOf(() => decodeNpz(encodeZip([], false)))).toBe("ARENA_FILE_VERSION");
    expect(faultOf(() => decodeNpz(meta({ format: "ringrift-arena-samples", config_key: "hex7_2p" })))).toBe(
      "ARENA_FILE_VERSION",
    );
    expect(faultOf(() => decodeNpz(meta({ format: "ringrift-arena-samples", version: 2 })))).toBe("ARENA_FILE_VERSION");
    expect(faultOf(() => decodeNpz(meta({ version: 1 })))).toBe("ARENA_FILE_KIND");
    expect(
      faultOf(() => decodeNpz(meta({ format: "ringrift-arena-samples", version: 1, config_key: "hex7_2p" }))),
    ).toBe("ARENA_FILE_CORRUPT");
  });
});

describe("a hostile archive", () => {
  const bomb = (declared: number) => {
    const packed = deflateRawSync(Buffer.alloc(1 << 20));
    const file = encodeZip([{ name: "a.npy", data: packed }], false);
    const central = file.readUInt32LE(file.length - 6);
    for (const at of [8, central + 10]) file.writeUInt16LE(8, at);
    for (const at of [22, central + 24]) file.writeUInt32LE(declared, at);
    return file;
  };

  it("that inflates to more than it declares is stopped there", () => {
    expect(faultOf(() => decodeZip(bomb(1000), limits))).toBe("ARENA_FILE_CORRUPT");
  });

  it("that declares more than is allowed is not inflated", () => {
    expect(faultOf(() => decodeZip(bomb(1 << 30), limits))).toBe("ARENA_FILE_TOO_LARGE");
  });

  it("with too many members, or two of one name, is refused", () => {
    const member = (name: string) => ({ name, data: Buffer.alloc(1) });
    expect(
      faultOf(() =>
        decodeZip(
          encodeZip(
            Array.from({ length: 33 }, (_, i) => member(`${i}`)),
            false,
          ),
          limits,
        ),
      ),
    ).toBe("ARENA_FILE_TOO_LARGE");
    expect(faultOf(() => decodeZip(encodeZip([member("a"), member("a")], false), limits))).toBe("ARENA_FILE_CORRUPT");
  });

  it("whose members share their bytes is refused", () => {
    const file = encodeZip(
      [
        { name: "a", data: Buffer.alloc(40) },
        { name: "b", data: Buffer.alloc(40) },
      ],
      false,
    );
    const central = file.readUInt32LE(file.length - 6);
    file.writeUInt32LE(0, central + 47 + 42);
    expect(faultOf(() => decodeZip(file, limits))).toBe("ARENA_FILE_CORRUPT");
  });
});
