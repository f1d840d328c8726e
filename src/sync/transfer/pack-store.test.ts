/** Small artifacts that lie together: what is seen is whole and right, what goes is gone, and no damage takes others along. */
import { hash, randomBytes } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { smallDisk } from "../../../test/support/small-disk.ts";
import type { Wanted } from "../transport.port.ts";
import { createFlusher } from "./flush.ts";
import { PACK_HEAD_BYTES, packHead } from "./pack.ts";
import { openPackStore, type PackStore } from "./pack-store.ts";

const NOW = 1_700_000_000_000;

function place(root = mkdtempSync(join(tmpdir(), "ringrift-packs-"))) {
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [folder, files, quarantine] = [join(root, "packs"), join(root, "inputs"), join(root, "quarantine")];
  const pathOf = (sha256: string) => join(files, sha256);
  const broken: string[] = [];
  const clock = { ms: NOW, now: () => clock.ms };
  const open = async (): Promise<PackStore> => {
    const store = await openPackStore({
      folder,
      landingOf: (sha256) => ({ path: pathOf(sha256), part: `${pathOf(sha256)}.part`, quarantine }),
      flusher: createFlusher(),
      clock,
      onBroken: (_, why) => void broken.push(why),
    });
    onTestFinished(() => store.close());
    return store;
  };
  const namesIn = (at: string) => (existsSync(at) ? readdirSync(at).sort() : []);
  return {
    root,
    folder,
    quarantine,
    pathOf,
    clock,
    broken,
    open,
    /** The one pack that there is. */
    pack: () => join(folder, namesIn(folder).filter((name) => name.endsWith(".pack"))[0] ?? "none"),
    packs: () => namesIn(folder),
    files: () => namesIn(files),
    aside: () => namesIn(quarantine),
  };
}

const wantedOf = (content: Uint8Array): Wanted => ({
  sha256: hash("sha256", content, "hex"),
  bytes: content.length,
});

const some = (count: number, bytes = 300) =>
  Array.from({ length: count }, (_, i) => {
    const content = randomBytes(i === 0 ? 0 : bytes + i);
    return { content, ...wantedOf(content) };
  });
type Some = ReturnType<typeof some>;

const write = (store: PackStore, given: Some) => {
  const writer = store.begin();
  for (const one of given) writer.append(Buffer.concat([packHead(one), one.content]), [wantedOf(one.content)]);
  return writer;
};
const keep = (store: PackStore, given: Some) => write(store, given).seal();
const namesOf = (all: readonly Wanted[]) => all.map(({ sha256 }) => sha256).sort();
const listed = async (store: PackStore) => namesOf(await store.list());

const expectAll = (store: PackStore, given: Some) => {
  for (const one of given) {
    expect(store.has(one)).toBe(true);
    expect(store.read(one.sha256)?.equals(one.content)).toBe(true);
    const content = Buffer.alloc(one.bytes);
    expect(store.readInto(one, content) && content.equals(one.content)).toBe(true);
  }
};

/** Where the bytes of one stand in its pack. */
const atOf = (given: Some, index: number) =>
  given.slice(0, index).reduce((sum, { bytes }) => sum + PACK_HEAD_BYTES + bytes, PACK_HEAD_BYTES);

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 0x20;
  writeFileSync(path, bytes);
}

test("what was sealed is here, also for the next life; before that nobody sees any of it", async () => {
  const w = place();
  const store = await w.open();
  const given = some(40);
  const writer = write(store, given);
  expect([store.has(given[3]!), await store.list(), store.files]).toEqual([false, [], 0]);
  await writer.seal();
  expectAll(store, given);
  expect(w.packs()).toHaveLength(1);
  const again = await w.open();
  expectAll(again, given);
  expect(await listed(again)).toEqual(namesOf(given));
  expect(again.has({ ...given[3]!, bytes: 5 })).toBe(false);
  expect(again.readInto({ ...given[3]!, bytes: 5 }, Buffer.alloc(5))).toBe(false);
  // What each takes of the disk is all that the pack takes.
  const disk = (await again.list()).reduce((sum, { diskBytes }) => sum + diskBytes, 0);
  expect(disk).toBeGreaterThanOrEqual(statSync(w.pack()).size);
  expect(disk).toBeLessThan(statSync(w.pack()).size + given.length);
});

test("one that an earlier life did not seal is removed, and a folder of before has no packs", async () => {
  const w = place();
  mkdirSync(join(w.root, "inputs"));
  const old = some(2)[1]!;
  writeFileSync(w.pathOf(old.sha256), old.content);
  const store = await w.open();
  expect([await store.list(), w.files()]).toEqual([[], [old.sha256]]);
  write(store, some(20));
  expect(w.packs()).toHaveLength(1);
  const again = await w.open();
  expect([await again.list(), w.packs(), w.files()]).toEqual([[], [], [old.sha256]]);
});

test("a file is made when somebody needs one, with the time of its pack, and is not in its pack any more", async () => {
  const w = place();
  const store = await w.open();
  const given = some(10);
  await keep(store, given);
  w.clock.ms += 5_000;
  await Promise.all([store.makeFiles([given[4]!.sha256, given[5]!.sha256]), store.makeFiles([given[4]!.sha256])]);
  expect(w.files()).toEqual(namesOf([given[4]!, given[5]!]));
  expect(readFileSync(w.pathOf(given[4]!.sha256)).equals(given[4]!.content)).toBe(true);
  expect(statSync(w.pathOf(given[4]!.sha256)).mtimeMs).toBe(NOW);
  const rest = given.filter((_, i) => i !== 4 && i !== 5);
  expect(await listed(store)).toEqual(namesOf(rest));
  await store.makeFiles([hash("sha256", "what is not here")]);
  expectAll(await w.open(), rest);
});

test("what is dropped is gone for good; room is given back when less than half is left, and when nothing is", async () => {
  const w = place();
  const store = await w.open();
  const given = some(10);
  await keep(store, given);
  const [most, rest] = [given.slice(0, 4), given.slice(4)];
  await store.drop([...namesOf(most), hash("sha256", "what is not here")]);
  expect(store.has(most[1]!)).toBe(false);
  const again = await w.open();
  expect(await listed(again)).toEqual(namesOf(rest));
  // What went still takes room, and those that are left count for it.
  const disk = (await again.list()).reduce((sum, { diskBytes }) => sum + diskBytes, 0);
  expect(disk).toBeGreaterThanOrEqual(statSync(w.pack()).size);
  await again.compact();
  expect([w.packs(), w.files()]).toEqual([[expect.any(String)], []]);
  const left = rest.slice(3);
  await again.drop(namesOf(rest.slice(0, 3)));
  await again.compact();
  expect([w.packs(), w.files(), await again.list()]).toEqual([[], namesOf(left), []]);
  for (const one of left) expect(readFileSync(w.pathOf(one.sha256)).equals(one.content)).toBe(true);

  await keep(again, given);
  await again.drop(namesOf(given));
  expect([w.packs(), await again.list()]).toEqual([[], []]);
});

test("whoever reads while room is given back finds everything, in the pack or as a file", async () => {
  const w = place();
  const store = await w.open();
  const given = some(200);
  await keep(store, given);
  const left = given.slice(150);
  await store.drop(namesOf(given.slice(0, 150)));
  let isDone = false;
  const compacted = store.compact().then(() => {
    isDone = true;
  });
  const seen = { pack: 0, file: 0 };
  while (!isDone) {
    for (const { sha256, content } of left) {
      const packed = store.read(sha256);
      seen[packed === undefined ? "file" : "pack"] += 1;
      expect((packed ?? readFileSync(w.pathOf(sha256))).equals(content)).toBe(true);
    }
    await new Promise(setImmediate);
  }
  await compacted;
  for (const { sha256, content } of left) expect(readFileSync(w.pathOf(sha256)).equals(content)).toBe(true);
  expect(seen.pack).toBeGreaterThan(0);
  expect([w.packs(), store.files]).toEqual([[], 0]);
});

describe("damage", () => {
  test("of one is found by its hash and set aside, and all others stay", async () => {
    const w = place();
    const store = await w.open();
    const given = some(12);
    await keep(store, given);
    const [sound, checked, needed, forgotten] = [given[2]!, given[5]!, given[7]!, given[9]!];
    flip(w.pack(), atOf(given, 5) + 10);
    flip(w.pack(), atOf(given, 7));
    const again = await w.open();
    expect(await again.check(sound.sha256)).toBe(sound.sha256);
    expect(await again.check(hash("sha256", "what is not here"))).toBeNull();
    const actual = await again.check(checked.sha256);
    expect(actual).not.toBe(checked.sha256);
    expect(actual).toMatch(/^[0-9a-f]{64}$/);
    await again.makeFiles([needed.sha256]);
    // Somebody knows of it by other means.
    await again.setAside(forgotten.sha256);
    expect(w.files()).toEqual([]);
    expect(w.aside().map((name) => name.slice(0, 64))).toEqual(namesOf([checked, needed, forgotten]));
    const rest = given.filter((one) => ![checked, needed, forgotten].includes(one));
    expect(await listed(again)).toEqual(namesOf(rest));
    const next = await w.open();
    expectAll(next, rest);
    expect(await listed(next)).toEqual(namesOf(rest));
  });

  test("of a head in the midst hurts nobody: the index says where all are", async () => {
    const w = place();
    const given = some(12);
    await keep(await w.open(), given);
    flip(w.pack(), atOf(given, 6) - 8);
    expectAll(await w.open(), given);
    expect(w.broken).toEqual([]);
  });

  test.each(["in its heads", "in its sum", "in its last bytes"])("of the index %s: all become files", async (where) => {
    const w = place();
    const given = some(12);
    await keep(await w.open(), given);
    const { size } = statSync(w.pack());
    const index = size - 16 - 12;
    flip(w.pack(), { "in its heads": index - 60, "in its sum": index - 5, "in its last bytes": size - 12 }[where]!);
    const again = await w.open();
    expect([w.packs(), await again.list(), w.files()]).toEqual([[], [], namesOf(given)]);
    for (const one of given) expect(readFileSync(w.pathOf(one.sha256)).equals(one.content)).toBe(true);
    expect(w.broken).toEqual([expect.stringContaining("12 of its files were saved")]);
  });

  test("a pack that was cut anywhere gives what is whole in it, and nothing that is not", async () => {
    const given = some(5, 40);
    const whole = atOf(given, 5) - PACK_HEAD_BYTES;
    const w = place();
    await keep(await w.open(), given);
    const bytes = readFileSync(w.pack());
    for (let length = bytes.length - 1; length >= 0; length -= length > whole + 50 ? 37 : 13) {
      const cut = place();
      mkdirSync(cut.folder);
      writeFileSync(join(cut.folder, `${NOW}-1.pack`), bytes.subarray(0, length));
      await cut.open();
      const saved = given.filter((_, i) => atOf(given, i) + given[i]!.bytes <= length);
      expect([length, cut.files(), cut.packs()]).toEqual([length, namesOf(saved), []]);
      for (const one of saved) expect(readFileSync(cut.pathOf(one.sha256)).equals(one.content)).toBe(true);
    }
  });

  test("of a pack with something behind its end, or of something else by its name: nothing wrong is seen", async () => {
    const w = place();
    const given = some(12);
    await keep(await w.open(), given);
    appendFileSync(w.pack(), "more");
    flip(w.pack(), atOf(given, 3));
    writeFileSync(join(w.folder, `${NOW}-9.pack`), randomBytes(5_000));
    writeFileSync(join(w.folder, `${NOW}-8.pack`), "");
    const again = await w.open();
    expect([await again.list(), w.packs()]).toEqual([[], []]);
    expect(w.files()).toEqual(namesOf(given.filter((_, i) => i !== 3)));
    expect(w.broken).toHaveLength(3);
  });
});

test("one that is also a file lies there alone, if that is right; a wrong file does not hide it", async () => {
  const w = place();
  const store = await w.open();
  const given = some(8);
  await keep(store, given);
  const [right, wrong] = [given[2]!, given[3]!];
  writeFileSync(w.pathOf(right.sha256), right.content);
  writeFileSync(w.pathOf(wrong.sha256), "torn");
  const again = await w.open();
  expect(w.files()).toEqual([right.sha256]);
  expect(w.aside()).toEqual([expect.stringContaining(wrong.sha256)]);
  expect(await listed(again)).toEqual(namesOf(given.filter((one) => one !== right)));
  expect(again.read(wrong.sha256)?.equals(wrong.content)).toBe(true);
  // In two packs it counts once, and goes once.
  await keep(again, given.slice(3, 6));
  expect(await listed(await w.open())).toEqual(namesOf(given.filter((one) => one !== right)));
  await again.drop([given[4]!.sha256]);
  expect(await listed(await w.open())).not.toContain(given[4]!.sha256);
});

test("on a full disk nothing is half there, and later it comes", async () => {
  const disk = smallDisk(1, onTestFinished);
  if (disk === undefined) return;
  const w = place(join(disk.folder, "node"));
  mkdirSync(join(disk.folder, "node"));
  const store = await w.open();
  const given = some(40, 5_000);
  disk.fill(60_000);
  const writer = store.begin();
  const put = () => {
    for (const one of given) writer.append(Buffer.concat([packHead(one), one.content]), [wantedOf(one.content)]);
  };
  expect(put).toThrow("ENOSPC");
  await writer.seal().catch(() => undefined);
  // What was written before may have been sealed: then it is whole.
  for (const { sha256 } of await store.list()) expect(await store.check(sha256)).toBe(sha256);
  await store.drop(await listed(store));
  disk.free();
  await keep(store, given);
  expectAll(await w.open(), given);
});

test("what was asked for counts as used, what came before keeps its time after a start", async () => {
  const w = place();
  const store = await w.open();
  const given = some(4);
  await keep(store, given);
  w.clock.ms += 1_000;
  store.has(given[1]!);
  const used = new Map((await store.list()).map(({ sha256, usedMs }) => [sha256, usedMs]));
  expect([used.get(given[1]!.sha256), used.get(given[2]!.sha256)]).toEqual([NOW + 1_000, NOW]);
  utimesSync(w.pack(), 5, 5);
  const again = await (await w.open()).list();
  expect(again.every(({ usedMs }) => usedMs === NOW)).toBe(true);
});

test("a pack that somebody takes away has nothing in it", async () => {
  const w = place();
  const store = await w.open();
  const [first, second] = [some(5), some(6)];
  await keep(store, first);
  rmSync(w.pack());
  await keep(store, second);
  expect([store.read(first[1]!.sha256), store.has(first[2]!)]).toEqual([undefined, false]);
  rmSync(w.pack());
  await store.drop([second[1]!.sha256]);
  expect([await store.list(), await store.check(second[2]!.sha256)]).toEqual([[], null]);
});
