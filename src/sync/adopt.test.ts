/** What a file becomes that is taken as it lies, and what is said of one that is not. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { smallDisk } from "../../test/support/small-disk.ts";
import { type AdoptPlace, adopt } from "./adopt.ts";
import { COPIED_BYTES } from "./limits.ts";

const SHA = "ab".repeat(32);

function world(above = tmpdir()) {
  const base = mkdtempSync(join(above, "ringrift-adopt-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [from, kept] = [join(base, "jobs"), join(base, "artifacts")];
  for (const folder of [from, kept]) mkdirSync(folder);
  /** Its hash is whatever the test says: what is hashed is tried elsewhere. */
  const hasher: AdoptPlace["hasher"] = { hash: async () => ({ sha256: SHA, bytes: 0 }) };
  const place: AdoptPlace = { path: join(kept, SHA), part: join(kept, `${SHA}.part`), from, hasher };
  const file = join(from, "result");
  const take = (bytes = 5, at: AdoptPlace = place) => adopt(at, { sha256: SHA, bytes, file });
  return { base, place, file, take, left: () => readdirSync(kept) };
}

/** Somebody who does something just before the file under its new name is looked at for the n-th time. */
const meddling = (place: AdoptPlace, nth: number, act: () => void): AdoptPlace => {
  let looks = 0;
  return {
    ...place,
    get part() {
      looks += 1;
      if (looks === nth) act();
      return place.part;
    },
  };
};

const refusal = (file: string, why: string) => ({
  code: "ARTIFACT_NOT_ADOPTED",
  message: `${file} is not adopted: ${why}`,
});

test("what was adopted is on disk for good: nobody may write to it, and nobody has it open", async () => {
  const { place, file, take, left } = world();
  writeFileSync(file, "games", { mode: 0o666 });
  await take();
  expect(statSync(place.path).mode & 0o777).toBe(0o400);
  expect(left()).toEqual([SHA]);
  if (!existsSync("/proc/self/fd")) return;
  const open = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  expect(open.filter((path) => path.startsWith(place.path))).toEqual([]);
});

test("a small file is copied, up to just the size from which a large one gets a second name", async () => {
  for (const [bytes, names] of [
    [COPIED_BYTES, 1],
    [COPIED_BYTES + 1, 2],
  ] as const) {
    const { place, file, take } = world();
    writeFileSync(file, "");
    truncateSync(file, bytes);
    await take(bytes);
    expect(statSync(place.path)).toMatchObject({ nlink: names, size: bytes });
  }
});

test("a large file of somebody else is copied, also where nobody knows who is who: its owner could still change it", async () => {
  const { getuid } = process;
  onTestFinished(() => {
    process.getuid = getuid!;
  });
  for (const who of [() => getuid!() + 1, undefined]) {
    const { place, file, take } = world();
    writeFileSync(file, "");
    truncateSync(file, COPIED_BYTES + 1);
    process.getuid = who!;
    await take(COPIED_BYTES + 1);
    expect(statSync(place.path).nlink).toBe(1);
    expect(statSync(file).mode & 0o777).not.toBe(0o400);
  }
});

test("what cannot be copied is refused, with the word of the system", async () => {
  const { base, place, file, take } = world();
  writeFileSync(file, "games");
  const nowhere = { ...place, part: join(base, "nowhere", "part") };
  await expect(take(5, nowhere)).rejects.toMatchObject(refusal(file, "it cannot be read (ENOENT)"));
});

test("what was changed while it was taken is refused, and nothing is left of it", async () => {
  const { place, file, take, left } = world();
  writeFileSync(file, "games");
  const [link, gone] = [
    meddling(place, 2, () => {
      rmSync(place.part);
      symlinkSync(file, place.part);
    }),
    meddling(place, 3, () => rmSync(place.part)),
  ];
  await expect(take(5, link)).rejects.toMatchObject(refusal(file, "it is no plain file"));
  await expect(take(5, gone)).rejects.toMatchObject(refusal(file, "it cannot be read (ENOENT)"));
  expect(left()).toEqual([]);
});

test("why it was not hashed is what is told, also when its new name is gone by then", async () => {
  const { place, file, take } = world();
  writeFileSync(file, "games");
  const hasher: AdoptPlace["hasher"] = {
    async hash() {
      rmSync(place.part);
      throw new Error("the disk is gone");
    },
  };
  await expect(take(5, { ...place, hasher })).rejects.toThrow("the disk is gone");
});

test("a disk that became read-only is told as that, and is no fault of the file", async () => {
  const disk = smallDisk(1, onTestFinished);
  if (disk === undefined) return;
  const { place, file, take, left } = world(disk.folder);
  writeFileSync(file, "games");
  const readOnly = { code: "STORE_READ_ONLY", retryable: true };
  await expect(
    take(
      5,
      meddling(place, 1, () => disk.remount("ro")),
    ),
  ).rejects.toMatchObject(readOnly);
  disk.remount("rw");
  await expect(
    take(
      5,
      meddling(place, 3, () => disk.remount("ro")),
    ),
  ).rejects.toMatchObject(readOnly);
  disk.remount("rw");
  await take();
  expect(left()).toEqual([SHA]);
});
