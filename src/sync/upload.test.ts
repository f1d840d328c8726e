import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SMALL_BYTES } from "../kernel/index.ts";
import { receive } from "./upload.ts";

const content = Buffer.from("what is to come");
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** One place for a file, and who hashes what was put together there. */
function world(whole: Uint8Array = content) {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-upload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const hashed: string[] = [];
  const hasher = {
    hash: async (path: string) => hasher.hashFrom(path, 0),
    hashFrom: async (path: string, offset: number) => {
      hashed.push(offset === 0 ? path : `${path} from ${offset}`);
      const bytes = readFileSync(path).subarray(offset);
      return { sha256: sha256Of(bytes), bytes: bytes.length };
    },
  };
  const place = { path: join(folder, "whole"), part: join(folder, "part"), hasher: hasher as never };
  const accepted: string[] = [];
  const send = (from: number, to: number, bytes: Uint8Array = whole.subarray(from, to)) =>
    receive(place, {
      sha256: sha256Of(whole),
      offset: from,
      size: whole.length,
      length: to - from,
      bytes: (async function* () {
        yield bytes;
      })(),
      from: "n1",
      accept: (hash) => void accepted.push(hash),
    });
  return { folder, place, hashed, accepted, send };
}

test("what is small and comes in one go is hashed as it passes, and only what was put together is read again", async () => {
  const [once, twice] = [world(), world()];
  await once.send(0, content.length);
  expect(once.hashed).toEqual([]);
  await twice.send(0, 4);
  await twice.send(4, content.length);
  expect(twice.hashed).toEqual([twice.place.part]);
  for (const { place } of [once, twice]) expect(readFileSync(place.path)).toEqual(content);
});

test("a big body is hashed on the thread, each part of it as it came, and never on the loop that serves everybody", async () => {
  const big = Buffer.alloc(2 * SMALL_BYTES + 2, "x");
  const [once, twice] = [world(big), world(big)];
  await once.send(0, big.length);
  expect(once.hashed).toEqual([once.place.part]);
  expect(once.accepted).toEqual([sha256Of(big)]);
  const middle = SMALL_BYTES + 1;
  await twice.send(0, middle);
  await twice.send(middle, big.length);
  const { part } = twice.place;
  expect(twice.hashed).toEqual([part, `${part} from ${middle}`, part]);
  expect(twice.accepted).toEqual([sha256Of(big.subarray(0, middle)), sha256Of(big.subarray(middle))]);
  for (const { place } of [once, twice]) expect(readFileSync(place.path)).toEqual(big);
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
