/** To the moment and to the byte: what the store of artifacts takes away, and what it lets in. */
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type SyncWorld, sha256Of, syncWorld } from "../../test/unit/sync/sync-world.ts";

const world = (...options: Parameters<typeof syncWorld>): SyncWorld => {
  const opened = syncWorld(...options);
  onTestFinished(() => opened.close());
  return opened;
};
const everything = async (sha256s: readonly string[]) => sha256s;
const touch = (path: string, atMs: number) => utimesSync(path, atMs / 1_000, atMs / 1_000);
const T = 1_700_000_000_000;

test("a file that was touched in the very moment stays, and goes when it was before it", async () => {
  const w = world();
  const sha256 = await w.put("one");
  touch(w.files.pathOf(sha256), T);
  expect(await w.files.take([sha256], T, everything)).toEqual([]);
  expect(existsSync(w.files.pathOf(sha256))).toBe(true);
  expect(await w.files.take([sha256], T + 1, everything)).toEqual([sha256]);
  expect(existsSync(w.files.pathOf(sha256))).toBe(false);
});

test("nobody is asked about files that stay, and about each of the others once", async () => {
  const w = world();
  const [young, old] = [await w.put("young"), await w.put("old")];
  touch(w.files.pathOf(young), T);
  touch(w.files.pathOf(old), T - 1);
  const asked: (readonly string[])[] = [];
  const agree = async (sha256s: readonly string[]) => {
    asked.push(sha256s);
    return [];
  };
  expect(await w.files.take([young], T, agree)).toEqual([]);
  expect(asked).toEqual([]);
  expect(await w.files.take([old, young, old], T, agree)).toEqual([]);
  expect(asked).toEqual([[old]]);
  expect(existsSync(w.files.pathOf(old))).toBe(true);
});

test("one that is gone already may be given up, so that the books can say so", async () => {
  const w = world();
  const sha256 = await w.put("one");
  rmSync(w.files.pathOf(sha256));
  expect(await w.files.take([sha256], T, everything)).toEqual([sha256]);
});

test("a file that could not be given up can be asked for and brought again", async () => {
  const w = world();
  const sha256 = await w.put("one");
  const refuse = () => Promise.reject(new Error("the disk failed"));
  await expect(w.files.take([sha256], Number.MAX_SAFE_INTEGER, refuse)).rejects.toThrow("the disk failed");
  expect(await w.files.stat(sha256)).toEqual({ sha256, size: 3, received: 3 });
  rmSync(w.files.pathOf(sha256));
  expect(await w.put("one")).toBe(sha256);
});

test("a part that was touched in the very moment stays, and one that is gone is nobody's", async () => {
  const w = world();
  const sha256 = sha256Of("half");
  const path = `${w.files.pathOf(sha256)}.abc.part`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "ha");
  touch(path, T);
  const [part] = await w.files.filesIn(sha256.slice(0, 2));
  expect(part).toMatchObject({ sha256, bytes: 2, isPart: true, touchedAt: T });
  expect(await w.files.dropPart(part!, T)).toBe(false);
  expect(existsSync(path)).toBe(true);
  expect(await w.files.dropPart(part!, T + 1)).toBe(true);
  expect(existsSync(path)).toBe(false);
  expect(await w.files.dropPart(part!, T + 1)).toBe(false);
});

test("bytes that would go beyond the end of a file are refused, and those that reach it are not", async () => {
  const w = world();
  const sha256 = sha256Of("whole");
  const bytes = async function* () {
    yield Buffer.from("whole");
  };
  const request = { sha256, offset: 0, size: 5, bytes: bytes(), accept: () => {}, from: "n1" };
  const beyond = { code: "INVALID_REQUEST", message: "the bytes go beyond the end" };
  await expect(w.files.write({ ...request, length: 6 })).rejects.toMatchObject(beyond);
  await expect(w.files.write({ ...request, offset: 1, length: 5 })).rejects.toMatchObject(beyond);
  expect(await w.files.write({ ...request, length: 5 })).toEqual({ sha256, size: 5, received: 5 });
});

test("who finds no room is told how much of it is his, and when to come again", async () => {
  const w = world({ maxOfOne: 1 });
  const { promise: go, resolve: end } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const slow = async function* () {
    begin();
    await go;
    yield Buffer.from("slow");
  };
  const request = { offset: 0, size: 4, length: 4, accept: () => {}, from: "n1" };
  const first = w.files.write({ ...request, sha256: sha256Of("slow"), bytes: slow() });
  await begun;
  await expect(w.put("another")).rejects.toMatchObject({
    code: "UPLOADS_BUSY",
    message: "1 files come in at the moment, 1 of them yours",
    details: { retryAfterSeconds: 1 },
  });
  // While it comes in it cannot be taken away.
  expect(await w.files.take([sha256Of("slow")], Number.MAX_SAFE_INTEGER, everything)).toEqual([]);
  const again = w.files.write({ ...request, sha256: sha256Of("slow"), from: "n1", bytes: slow() });
  await expect(again).rejects.toMatchObject({ code: "UPLOADS_BUSY" });
  end();
  expect(await first).toMatchObject({ size: 4 });
  expect(await w.put("another")).toBe(sha256Of("another"));
});

test("no bytes are read where none are asked for, whether the file is there or not", async () => {
  const w = world();
  const sha256 = await w.put("content");
  const read = async (name: string, start: number, end: number) => {
    const parts: Uint8Array[] = [];
    for await (const chunk of w.files.read(name, start, end)) parts.push(chunk);
    return Buffer.concat(parts).toString();
  };
  expect(await read(sha256, 3, 3)).toBe("");
  expect(await read(sha256Of("nowhere"), 5, 2)).toBe("");
  expect(await read(sha256, 3, 4)).toBe("t");
});

test("a damaged file lies in quarantine under its name and the time at which it was found", async () => {
  const w = world();
  const sha256 = await w.put("sound");
  w.spoil(sha256, "spoilt");
  expect(await w.driven(w.files.inspect(sha256))).toMatchObject({ sound: false, damage: "checksum" });
  expect(readdirSync(join(w.folder, "quarantine"))).toEqual([`${sha256}.${w.clock.now()}`]);
  expect(await w.files.stat(sha256)).toEqual({ sha256, size: null, received: 0 });
});

test("a folder where a file should be is damage, and is set aside", async () => {
  const w = world();
  const sha256 = sha256Of("a folder in its place");
  mkdirSync(w.files.pathOf(sha256), { recursive: true });
  expect(await w.driven(w.files.inspect(sha256))).toMatchObject({ sound: false, damage: "unreadable" });
  expect(existsSync(w.files.pathOf(sha256))).toBe(false);
});

test("what cannot be opened is not called damaged: the look at it is to be tried again, and it stays where it is", async () => {
  const w = world();
  const sha256 = await w.put("a socket in its place");
  rmSync(w.files.pathOf(sha256));
  const server = createServer().listen(w.files.pathOf(sha256));
  onTestFinished(() => void server.close());
  await once(server, "listening");
  await expect(w.driven(w.files.inspect(sha256))).rejects.toMatchObject({
    code: "ARTIFACT_UNREADABLE",
    message: expect.stringMatching(/^a file of the store could not be read: ./),
    retryable: true,
    details: { code: "ENXIO" },
  });
  expect(existsSync(w.files.pathOf(sha256))).toBe(true);
});

test("what is no hash is no artifact", () => {
  const w = world();
  for (const name of ["", "../../etc/passwd", "a".repeat(63), "A".repeat(64)])
    expect(() => w.files.pathOf(name)).toThrow(
      expect.objectContaining({ kind: expect.stringMatching(/invalid|not_found/) }),
    );
});

test("by itself a store takes 64 files at once, and 16 of one sender", async () => {
  const w = world();
  const { promise: go, resolve: end } = Promise.withResolvers<void>();
  const hold = (content: string, from: string) => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const bytes = async function* () {
      begin();
      await go;
      yield Buffer.from(content);
    };
    const length = content.length;
    const done = w.files.write({
      sha256: sha256Of(content),
      offset: 0,
      size: length,
      length,
      bytes: bytes(),
      accept: () => {},
      from,
    });
    return { done, begun };
  };
  const held = [];
  for (let n = 0; n < 64; n += 1) {
    const one = hold(`held ${n}`, `n${Math.floor(n / 16)}`);
    held.push(one.done);
    await one.begun;
    if (n === 15) await expect(hold("one more", "n0").done).rejects.toMatchObject({ code: "UPLOADS_BUSY" });
  }
  await expect(hold("of another", "n9").done).rejects.toMatchObject({
    code: "UPLOADS_BUSY",
    message: "64 files come in at the moment, 0 of them yours",
  });
  end();
  for (const done of held) expect(await done).toMatchObject({ size: expect.any(Number) });
});
