import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { receive } from "./upload.ts";

const content = Buffer.from("what is to come");
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** One place for a file, and who hashes what was put together there. */
function world() {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-upload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const hashed: string[] = [];
  const hasher = {
    hash: async (path: string) => {
      hashed.push(path);
      const bytes = readFileSync(path);
      return { sha256: sha256Of(bytes), bytes: bytes.length };
    },
  };
  const place = { path: join(folder, "whole"), part: join(folder, "part"), hasher: hasher as never };
  const send = (from: number, to: number, bytes: Uint8Array = content.subarray(from, to)) =>
    receive(place, {
      sha256: sha256Of(content),
      offset: from,
      size: content.length,
      length: to - from,
      bytes: (async function* () {
        yield bytes;
      })(),
      from: "n1",
      accept: () => {},
    });
  return { folder, place, hashed, send };
}

test("what comes in one go is hashed as it passes, and only what was put together is read again", async () => {
  const [once, twice] = [world(), world()];
  await once.send(0, content.length);
  expect(once.hashed).toEqual([]);
  await twice.send(0, 4);
  await twice.send(4, content.length);
  expect(twice.hashed).toEqual([twice.place.part]);
  for (const { place } of [once, twice]) expect(readFileSync(place.path)).toEqual(content);
});

test("no file stays open, however an upload ends", { skip: !existsSync("/proc/self/fd") }, async () => {
  const { folder, send } = world();
  const open = () =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
      } catch {
        return false;
      }
    });
  await expect(send(0, 4, Buffer.from("too long"))).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  await expect(send(0, 4, Buffer.from("cut"))).rejects.toMatchObject({ code: "ARTIFACT_CUT" });
  await expect(send(0, content.length, Buffer.alloc(content.length))).rejects.toMatchObject({ code: "ARTIFACT_HASH" });
  await send(0, content.length);
  expect(open()).toEqual([]);
});
