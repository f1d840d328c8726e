import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ArtifactStoreOptions, createArtifactStore } from "./artifact-store.ts";
import type { WriteRequest } from "./upload.ts";

const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, i) => i % 251));
const sha256 = createHash("sha256").update(bytes).digest("hex");

const folderOf = () => {
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
      keepPart: false,
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
  expect(files()).toEqual([`${sha256.slice(0, 2)}/${sha256}.part`]);
  expect(await put(4_000, 10_000)).toEqual({ sha256, size: 10_000, received: 10_000 });
  expect(files()).toEqual([`${sha256.slice(0, 2)}/${sha256}`]);
  expect(readFileSync(store.pathOf(sha256))).toEqual(bytes);
  const read: Uint8Array[] = [];
  for await (const chunk of store.read(sha256, 10, 20)) read.push(chunk);
  expect(Buffer.concat(read)).toEqual(bytes.subarray(10, 20));
  expect(await put(0, 10_000)).toMatchObject({ size: 10_000 });
});

test("what breaks off is kept where it was proven, and goes where it was not", async () => {
  const { store, put } = world();
  await expect(put(0, 10_000, { bytes: chunks(bytes, 3_000), keepPart: true })).rejects.toThrow("broke");
  expect((await store.stat(sha256)).received).toBe(3_000);
  await expect(put(3_000, 10_000, { bytes: chunks(bytes.subarray(3_000), 2_000) })).rejects.toThrow("broke");
  expect((await store.stat(sha256)).received).toBe(3_000);
  const refuse = () => {
    throw new Error("forged");
  };
  await expect(put(3_000, 10_000, { accept: refuse })).rejects.toThrow("forged");
  expect((await store.stat(sha256)).received).toBe(3_000);
  expect(await put(3_000, 10_000)).toMatchObject({ size: 10_000 });
});

test("a file of this machine is adopted as it lies, and stays when its first name goes", async () => {
  const jobs = folderOf();
  const { store, files } = world({ adoptFrom: jobs });
  mkdirSync(join(jobs, "w1", "out"), { recursive: true });
  const file = join(jobs, "w1", "out", "model");
  writeFileSync(file, bytes);
  const { ino } = statSync(file);
  expect(await store.adopt({ sha256, bytes: bytes.length, file })).toEqual({ sha256, size: 10_000, received: 10_000 });
  expect(statSync(store.pathOf(sha256)).ino).toBe(ino);
  rmSync(join(jobs, "w1"), { recursive: true });
  expect(readFileSync(store.pathOf(sha256))).toEqual(bytes);
  expect(await store.adopt({ sha256, bytes: bytes.length, file })).toMatchObject({ size: 10_000 });
  expect(files()).toEqual([`${sha256.slice(0, 2)}/${sha256}`]);
});

test("what lies elsewhere, is a link, has another size or another hash is not adopted, and leaves nothing", async () => {
  const [jobs, elsewhere] = [folderOf(), folderOf()];
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
  for (const file of [
    outside,
    join(jobs, "..", basename(elsewhere), "model"),
    join(jobs, "link"),
    join(jobs, "folder", "model"),
    join(jobs, "nothing"),
    jobs,
  ])
    await expect(adopt(file), file).rejects.toMatchObject({ code: "ARTIFACT_NOT_ADOPTED", retryable: false });
  await expect(adopt(fine, 9_999)).rejects.toMatchObject({ code: "ARTIFACT_NOT_ADOPTED" });
  await expect(adopt(at(jobs, "other", Buffer.alloc(bytes.length, 1)))).rejects.toMatchObject({
    code: "ARTIFACT_HASH",
  });
  await expect(world().store.adopt({ sha256, bytes: bytes.length, file: fine })).rejects.toMatchObject({
    code: "ARTIFACT_NOT_ADOPTED",
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
  await expect(put(5_000, 6_000)).rejects.toMatchObject({ code: "ARTIFACT_OFFSET", details: { received: 0 } });
  await expect(put(0, 10_000, { size: 9_999 })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  for (const name of ["../../etc/passwd", "AB".repeat(32), ""])
    await expect(async () => store.stat(name)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
});

test("is bounded: in size, in how many come in at once, and to one writer for each file", async () => {
  await expect(world({ mostBytes: 9_999 }).put(0, 10_000)).rejects.toMatchObject({ code: "ARTIFACT_TOO_LARGE" });
  const { put } = world({ mostAtOnce: 1 });
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
  await expect(put(0, 10_000)).rejects.toMatchObject({ code: "UPLOADS_BUSY", retryable: true });
  resolve();
  expect(await slow).toMatchObject({ size: 10_000 });
});
