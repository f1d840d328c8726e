import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { smallDisk } from "../../test/support/small-disk.ts";
import { createArtifactStore } from "./artifact-store.ts";

const KILOBYTE = 1_024;
const SENDER = "a node";

const contentOf = (bytes: number) => {
  const content = randomBytes(bytes);
  return { content, sha256: createHash("sha256").update(content).digest("hex") };
};

/** A store on a disk of its own, and a folder on another disk to adopt from: what is adopted has to be copied. */
function world(leaveFree = 0) {
  const disk = smallDisk(4, onTestFinished);
  if (disk === undefined) return undefined;
  const elsewhere = mkdtempSync(join(tmpdir(), "ringrift-elsewhere-"));
  onTestFinished(() => rmSync(elsewhere, { recursive: true }));
  const folder = join(disk.folder, "artifacts");
  mkdirSync(folder);
  const store = createArtifactStore({ folder, adoptFrom: elsewhere, leaveFree });
  onTestFinished(() => store.close());
  return {
    disk,
    store,
    upload: ({ content, sha256 }: ReturnType<typeof contentOf>) =>
      store.write({
        sha256,
        offset: 0,
        size: content.length,
        length: content.length,
        bytes: (async function* () {
          for (let at = 0; at < content.length; at += KILOBYTE) yield content.subarray(at, at + KILOBYTE);
        })(),
        accept: () => {},
        from: SENDER,
      }),
    adopt({ content, sha256 }: ReturnType<typeof contentOf>) {
      const file = join(elsewhere, sha256);
      writeFileSync(file, content);
      return store.adopt({ sha256, bytes: content.length, file });
    },
    filesLeft: () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name),
  };
}

const full = { code: "STORE_FULL", kind: "unavailable", retryable: true, hint: expect.stringContaining("Free some") };

test("a full disk refuses a file with what to do, keeps what it has, and takes the file when there is room again", async () => {
  const w = world();
  if (w === undefined) return;
  const kept = contentOf(10 * KILOBYTE);
  await w.upload(kept);
  w.disk.fill();
  const [sent, told] = [contentOf(200 * KILOBYTE), contentOf(200 * KILOBYTE)];
  await expect(w.upload(sent)).rejects.toMatchObject(full);
  await expect(w.adopt(told)).rejects.toMatchObject(full);
  expect(await w.store.stat(kept.sha256)).toMatchObject({ size: kept.content.length });
  expect(w.filesLeft()).toEqual([kept.sha256]);
  w.disk.free();
  expect(await w.upload(sent)).toMatchObject({ size: sent.content.length });
  expect(await w.adopt(told)).toMatchObject({ size: told.content.length });
  for (const { sha256 } of [kept, sent, told]) expect(await w.store.inspect(sha256)).toMatchObject({ sound: true });
});

test("where there is room for half of a file, the half is kept for who sends the rest, and only the rest is sent", async () => {
  const w = world();
  if (w === undefined) return;
  const { content, sha256 } = contentOf(200 * KILOBYTE);
  w.disk.fill(100 * KILOBYTE);
  await expect(w.upload({ content, sha256 })).rejects.toMatchObject(full);
  const { received } = await w.store.stat(sha256, SENDER);
  expect(received).toBeGreaterThan(0);
  expect(received).toBeLessThan(content.length);
  w.disk.free();
  const rest = content.subarray(received);
  const whole = await w.store.write({
    sha256,
    offset: received,
    size: content.length,
    length: rest.length,
    bytes: (async function* () {
      yield rest;
    })(),
    accept: () => {},
    from: SENDER,
  });
  expect(whole).toMatchObject({ size: content.length });
});

test("a disk that has become read-only refuses files with a code, and takes them when it is writable", async () => {
  const w = world();
  if (w === undefined) return;
  const made = contentOf(10 * KILOBYTE);
  w.disk.remount("ro");
  await expect(w.upload(made)).rejects.toMatchObject({ code: "STORE_READ_ONLY", retryable: true });
  w.disk.remount("rw");
  expect(await w.upload(made)).toMatchObject({ size: made.content.length });
});

test("what comes from outside leaves its share of the disk to the journal, and is refused before a byte of it is written", async () => {
  const w = world(0.5);
  if (w === undefined) return;
  await w.upload(contentOf(1_024 * KILOBYTE));
  const before = w.filesLeft();
  await expect(w.upload(contentOf(1_536 * KILOBYTE))).rejects.toMatchObject({ ...full, details: expect.anything() });
  expect(w.filesLeft()).toEqual(before);
  // What the worker beside us has made is on a disk of this machine already.
  expect((await w.adopt(contentOf(1_536 * KILOBYTE))).size).toBe(1_536 * KILOBYTE);
});
