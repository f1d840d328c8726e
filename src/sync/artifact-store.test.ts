import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { OperatingError } from "../kernel/index.ts";
import { type ArtifactStoreOptions, createArtifactStore } from "./artifact-store.ts";
import { COPIED_BYTES } from "./limits.ts";
import type { WriteRequest } from "./upload.ts";

const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, i) => i % 251));
const sha256Of = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const sha256 = sha256Of(bytes);
/** Too large to be copied without need. */
const large = Buffer.concat([Buffer.alloc(COPIED_BYTES), bytes]);

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-jobs-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

function world(options: Partial<ArtifactStoreOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-artifacts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = createArtifactStore({ folder, ...options });
  const put = (from: number, to: number, more: Partial<WriteRequest> = {}) =>
    store.write({
      sha256,
      offset: from,
      size: bytes.length,
      length: to - from,
      bytes: chunks(bytes.subarray(from, to)),
      accept: () => {},
      from: "n1",
      ...more,
    });
  return {
    folder,
    store,
    put,
    files: () => readdirSync(folder, { recursive: true }).filter((name) => String(name).includes("/")),
  };
}

async function* chunks(all: Buffer, failAfter = Number.POSITIVE_INFINITY): AsyncIterable<Uint8Array> {
  for (let at = 0; at < all.length; at += 1_000) {
    if (at >= failAfter) throw new Error("the connection broke");
    yield all.subarray(at, at + 1_000);
  }
}

test("a file is in its place when its last byte has come, and its name is its hash", async () => {
  const { store, put, files } = world();
  expect(await store.stat(sha256)).toEqual({ sha256, size: null, received: 0 });
  expect(await put(0, 4_000)).toEqual({ sha256, size: null, received: 4_000 });
  expect(files()).toMatchObject([expect.stringMatching(new RegExp(`^${sha256.slice(0, 2)}/${sha256}\\..*part$`))]);
  expect(await put(4_000, 10_000)).toEqual({ sha256, size: 10_000, received: 10_000 });
  expect(files()).toEqual([`${sha256.slice(0, 2)}/${sha256}`]);
  expect(readFileSync(store.pathOf(sha256))).toEqual(bytes);
  const read: Uint8Array[] = [];
  for await (const chunk of store.read(sha256, 10, 20)) read.push(chunk);
  expect(Buffer.concat(read)).toEqual(bytes.subarray(10, 20));
  expect(await put(0, 10_000)).toMatchObject({ size: 10_000 });
});

test("what breaks off is kept for who sent it, and what is refused goes", async () => {
  const { store, put } = world();
  await expect(put(0, 10_000, { bytes: chunks(bytes, 3_000) })).rejects.toThrow("broke");
  expect((await store.stat(sha256, "n1")).received).toBe(3_000);
  const accept = () => {
    throw OperatingError.denied("BAD_SIGNATURE", "not what was promised");
  };
  await expect(put(3_000, 10_000, { accept })).rejects.toMatchObject({ code: "BAD_SIGNATURE" });
  expect((await store.stat(sha256, "n1")).received).toBe(3_000);
  expect(await put(3_000, 10_000)).toMatchObject({ size: 10_000 });
});

test("what one sender has begun no other sees, goes on with or cuts short", async () => {
  const { store, put } = world();
  await put(0, 4_000);
  expect(await store.stat(sha256, "n2")).toEqual({ sha256, size: null, received: 0 });
  await expect(put(4_000, 10_000, { from: "n2" })).rejects.toMatchObject({ details: { received: 0 } });
  await put(0, 1_000, { from: "n2", bytes: chunks(Buffer.alloc(1_000, 7)) });
  expect((await store.stat(sha256, "n1")).received).toBe(4_000);
  expect(await put(4_000, 10_000)).toMatchObject({ size: 10_000 });
  expect(readFileSync(store.pathOf(sha256))).toEqual(bytes);
});

test("one sender's slow uploads leave room for the others", async () => {
  const { put } = world({ maxOfOne: 1, maxAtOnce: 2 });
  const held = (from: string) => {
    const { promise: go, resolve: end } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const sent = async function* () {
      begin();
      await go;
      yield bytes;
    };
    return { begun, end, done: put(0, 10_000, { from, bytes: sent() }) };
  };
  const slow = held("slow");
  await slow.begun;
  const again = put(0, 10_000, { from: "slow", sha256: "00".repeat(32) });
  await expect(again).rejects.toMatchObject({ code: "UPLOADS_BUSY", retryable: true });
  const honest = held("honest");
  await honest.begun;
  await expect(put(0, 10_000, { from: "third" })).rejects.toMatchObject({ code: "UPLOADS_BUSY" });
  for (const one of [honest, slow]) {
    one.end();
    expect(await one.done).toMatchObject({ size: 10_000 });
  }
  expect(await put(0, 10_000, { from: "third" })).toMatchObject({ size: 10_000 });
});

test("a file of this machine is adopted, a large one as it lies, and stays when its first name goes", async () => {
  const jobs = newFolder();
  const { store, files } = world({ adoptFrom: jobs });
  mkdirSync(join(jobs, "w1", "out"), { recursive: true });
  for (const content of [bytes, large]) {
    const [name, file] = [sha256Of(content), join(jobs, "w1", "out", `model-${content.length}`)];
    writeFileSync(file, content);
    const { ino } = statSync(file);
    const adopted = { sha256: name, size: content.length, received: content.length };
    expect(await store.adopt({ sha256: name, bytes: content.length, file })).toEqual(adopted);
    expect(statSync(store.pathOf(name)).ino === ino).toBe(content === large && existsSync("/proc/self/fdinfo"));
    rmSync(file);
    expect(readFileSync(store.pathOf(name)).equals(content)).toBe(true);
    expect(await store.adopt({ sha256: name, bytes: content.length, file })).toEqual(adopted);
  }
  expect(files()).toHaveLength(2);
});

test("what has another name, or is open for writing, is copied: who holds it changes nothing here, and keeps its mode", async () => {
  const [jobs, elsewhere] = [newFolder(), newFolder()];
  const foreign = join(elsewhere, "theirs");
  for (const held of ["by another name", "open"]) {
    const { store } = world({ adoptFrom: jobs });
    const [sha256, file] = [sha256Of(large), join(jobs, held)];
    writeFileSync(file, large, { mode: 0o640 });
    if (held !== "open") linkSync(file, foreign);
    const writer = openSync(file, "r+");
    if (held !== "open") closeSync(writer);
    await store.adopt({ sha256, bytes: large.length, file });
    if (held === "open") writeSync(writer, "changed", 0);
    else writeFileSync(foreign, "changed");
    if (held === "open") closeSync(writer);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readFileSync(store.pathOf(sha256)).equals(large)).toBe(true);
  }
});

test("a file whose bytes were changed in place is not given out, however lately it was found sound", async () => {
  const { store, put } = world();
  const read = async () => {
    const parts: Uint8Array[] = [];
    for await (const part of store.read(sha256, 0, bytes.length)) parts.push(part);
    return Buffer.concat(parts);
  };
  await put(0, 10_000);
  expect(await read()).toEqual(bytes);
  await store.stat(sha256);
  expect(await read()).toEqual(bytes);
  writeFileSync(store.pathOf(sha256), Buffer.alloc(bytes.length, 1));
  await expect(read()).rejects.toMatchObject({ code: "ARTIFACT_DAMAGED" });
});

test("what lies elsewhere, is a link, has another size or another hash is not adopted, and leaves nothing", async () => {
  const [jobs, elsewhere] = [newFolder(), newFolder()];
  const { store, files } = world({ adoptFrom: jobs });
  const at = (folder: string, name: string, content: Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const adopt = (file: string, size = bytes.length) => store.adopt({ sha256, bytes: size, file });
  const outside = at(elsewhere, "model", bytes);
  const fine = at(jobs, "model", bytes);
  symlinkSync(outside, join(jobs, "link"));
  symlinkSync(elsewhere, join(jobs, "folder"));
  mkdirSync(join(jobs, "inner"));
  for (const [file, why] of [
    [outside, "it lies elsewhere"],
    [`${jobs}-beside/model`, "it cannot be found (ENOENT)"],
    [join(jobs, "..", basename(elsewhere), "model"), "it lies elsewhere"],
    [join(jobs, "link"), "it is no plain file"],
    [join(jobs, "folder", "model"), "it lies elsewhere"],
    [join(jobs, "nothing"), "it is not there"],
    [join(jobs, "inner"), "it is no plain file"],
    [jobs, "it lies elsewhere"],
  ] as const)
    await expect(adopt(file), file).rejects.toMatchObject({
      code: "ARTIFACT_NOT_ADOPTED",
      message: `${file} is not adopted: ${why}`,
      status: 422,
      retryable: false,
    });
  await expect(adopt(fine, 9_999)).rejects.toMatchObject({
    code: "ARTIFACT_NOT_ADOPTED",
    message: `${fine} is not adopted: it has 10000 bytes, not 9999`,
  });
  await expect(adopt(at(jobs, "other", Buffer.alloc(bytes.length, 1)))).rejects.toMatchObject({
    code: "ARTIFACT_HASH",
    message: `${join(jobs, "other")} is not the artifact ${sha256}`,
    status: 422,
  });
  await expect(world().store.adopt({ sha256, bytes: bytes.length, file: fine })).rejects.toMatchObject({
    code: "ARTIFACT_NOT_ADOPTED",
    message: "this store adopts no files",
    status: 422,
  });
  expect(files()).toEqual([]);
  expect(readFileSync(fine)).toEqual(bytes);
});

test("the hash that is accepted is that of the bytes of this request", async () => {
  const { put } = world();
  const seen: string[] = [];
  await put(0, 4_000, { accept: (hash) => seen.push(hash) });
  expect(seen).toEqual([createHash("sha256").update(bytes.subarray(0, 4_000)).digest("hex")]);
});

test("wrong bytes leave nothing, too many or too few are refused, and gaps are told", async () => {
  const { put, store, files } = world();
  const other = Buffer.alloc(bytes.length, 1);
  await expect(put(0, 10_000, { bytes: chunks(other) })).rejects.toMatchObject({ code: "ARTIFACT_HASH" });
  expect(files()).toEqual([]);
  await expect(put(0, 4_000, { bytes: chunks(bytes) })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  await expect(put(0, 4_000, { bytes: chunks(bytes.subarray(0, 1_000)) })).rejects.toMatchObject({
    code: "ARTIFACT_CUT",
  });
  await expect(put(5_000, 6_000)).rejects.toMatchObject({ code: "ARTIFACT_OFFSET", details: { received: 1_000 } });
  await expect(put(0, 10_000, { size: 9_999 })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  for (const name of ["../../etc/passwd", "AB".repeat(32), ""])
    await expect(async () => store.stat(name)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
});

test("what was put together of several requests is hashed as a whole", async () => {
  const { put, files } = world();
  await put(0, 4_000);
  await expect(put(4_000, 10_000, { bytes: chunks(Buffer.alloc(6_000, 1)) })).rejects.toMatchObject({
    code: "ARTIFACT_HASH",
  });
  expect(files()).toEqual([]);
});

test("bytes that are sent again from further back replace what was there", async () => {
  const { put, store } = world();
  await put(0, 4_000);
  expect(await put(2_000, 3_000)).toMatchObject({ received: 3_000 });
  await expect(put(3_001, 4_000)).rejects.toMatchObject({ code: "ARTIFACT_OFFSET", details: { received: 3_000 } });
  expect(await put(3_000, 10_000)).toMatchObject({ size: 10_000 });
  expect(readFileSync(store.pathOf(sha256))).toEqual(bytes);
});

test("a file of just the largest size is taken, one byte more is not, whether it is sent or adopted", async () => {
  const jobs = newFolder();
  const file = join(jobs, "model");
  writeFileSync(file, bytes);
  const [fits, tooSmall] = [10_000, 9_999].map((maxBytes) => world({ maxBytes, adoptFrom: jobs }));
  expect(await fits!.put(0, 10_000)).toMatchObject({ size: 10_000 });
  const refused = { code: "ARTIFACT_TOO_LARGE", status: 413 };
  await expect(tooSmall!.put(0, 10_000)).rejects.toMatchObject(refused);
  await expect(tooSmall!.store.adopt({ sha256, bytes: 10_000, file })).rejects.toMatchObject(refused);
  expect(tooSmall!.files()).toEqual([]);
});

test("one file has one writer at a time, though there is room for others", async () => {
  const { put, store } = world();
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const slow = put(0, 10_000, {
    bytes: (async function* () {
      begin();
      await go;
      yield bytes;
    })(),
  });
  await begun;
  await expect(put(0, 10_000)).rejects.toMatchObject({ code: "ARTIFACT_BUSY", status: 409, retryable: true });
  const [part] = await store.filesIn(sha256.slice(0, 2));
  expect(await store.dropPart(part!, Number.MAX_SAFE_INTEGER)).toBe(false);
  resolve();
  expect(await slow).toMatchObject({ size: 10_000 });
});

test("one chunk too many is refused when it comes, and what was there before this request stays as it was", async () => {
  const { put, store } = world();
  await put(0, 2_000);
  await expect(put(2_000, 4_000, { bytes: chunks(bytes.subarray(2_000, 5_000)) })).rejects.toMatchObject({
    code: "INVALID_REQUEST",
    message: "more bytes came than were announced",
  });
  expect((await store.stat(sha256, "n1")).received).toBe(2_000);
});

test("who sends bytes that cannot be taken is told what is there, and whether to send them again", async () => {
  const { put } = world();
  await put(0, 2_000);
  await expect(put(3_000, 4_000)).rejects.toMatchObject({
    code: "ARTIFACT_OFFSET",
    message: "2000 bytes are there, these begin at 3000",
    retryable: true,
    showsDetails: true,
    details: { received: 2_000 },
  });
  await expect(put(2_000, 4_000, { bytes: chunks(bytes.subarray(2_000, 3_000)) })).rejects.toMatchObject({
    code: "ARTIFACT_CUT",
    message: "fewer bytes came than were announced",
    status: 400,
    retryable: true,
  });
  await expect(put(0, 10_000, { bytes: chunks(Buffer.alloc(10_000, 1)) })).rejects.toMatchObject({
    code: "ARTIFACT_HASH",
    message: `these bytes are not the artifact ${sha256}`,
    status: 422,
    retryable: false,
  });
});

test("an upload of which nothing came leaves no file", async () => {
  const { put, files } = world();
  await expect(put(0, 10_000, { bytes: chunks(bytes, 0) })).rejects.toThrow("broke");
  expect(files()).toEqual([]);
});

test("an upload that begins anew does not write to a part that has another name", async () => {
  const { folder, put, files } = world();
  const elsewhere = join(newFolder(), "theirs");
  await put(0, 4_000);
  linkSync(join(folder, String(files()[0])), elsewhere);
  expect(await put(0, 10_000)).toMatchObject({ size: 10_000 });
  expect(readFileSync(elsewhere)).toEqual(bytes.subarray(0, 4_000));
});
