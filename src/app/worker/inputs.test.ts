import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { packsBeside } from "../../../test/support/packs.ts";
import { owned } from "../../../test/support/process.ts";
import { virtualClock } from "../../kernel/index.ts";
import type { PackedFiles } from "../../sync/index.ts";
import { bringOverLine } from "./bring-over-line.ts";
import { keepInputs } from "./inputs.ts";

const own = owned();
afterAll(() => own.end());
const never = new AbortController().signal;
const sha = (text: string) => hash("sha256", text);

function world(
  maxBytes?: number,
  { folder = join(own.folder(), "inputs"), packed }: { folder?: string; packed?: PackedFiles } = {},
) {
  mkdirSync(folder, { recursive: true });
  const clock = virtualClock();
  const texts = new Map<string, string>();
  const line = { get: async (path: string) => Readable.from([Buffer.from(texts.get(path.split("/").at(-1)!)!)]) };
  const inputs = keepInputs({
    folder,
    clock,
    idleMs: 600_000,
    bring: bringOverLine(line, folder, clock),
    packed,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  const use = async (text: string) => {
    texts.set(sha(text), text);
    await inputs.at(sha(text), never);
    inputs.done(sha(text));
  };
  const isHere = (text: string) => existsSync(join(folder, sha(text)));
  return { folder, clock, inputs, use, isHere, texts };
}

test("what nobody has used for its time goes, what is used stays, and what went is fetched again", async () => {
  const { clock, use, isHere } = world();
  await use("old");
  await use("model");
  for (let minutes = 0; minutes < 12; minutes += 1) {
    clock.standStill(60_000);
    await use("model");
    await use(`round ${minutes}`);
  }
  expect([isHere("old"), isHere("model"), isHere("round 0"), isHere("round 11")]).toEqual([false, true, false, true]);
  await use("old");
  expect(isHere("old")).toBe(true);
});

test("a file that was made here goes after its time too, and one that a job uses does not", async () => {
  const { folder, clock, inputs, use, isHere, texts } = world();
  writeFileSync(join(folder, "..", "made"), "made");
  await inputs.keep(sha("made"), join(folder, "..", "made"));
  texts.set(sha("held"), "held");
  await inputs.at(sha("held"), never);
  clock.standStill(700_000);
  await use("next");
  expect([isHere("made"), isHere("held")]).toEqual([false, true]);
});

test("what a process before this one has left goes by the time of the file", async () => {
  const { folder, clock, use, isHere } = world();
  for (const [text, ageMs] of [
    ["left long ago", 700_000],
    ["left just now", 1_000],
  ] as const) {
    writeFileSync(join(folder, sha(text)), text);
    const at = (clock.now() - ageMs) / 1_000;
    utimesSync(join(folder, sha(text)), at, at);
  }
  await use("next");
  expect([isHere("left long ago"), isHere("left just now")]).toEqual([false, true]);
});

test("the longest unused go sooner when there is no room", async () => {
  const { clock, use, isHere } = world(10);
  await use("aaaaa");
  clock.standStill(61_000);
  await use("bbbbb");
  clock.standStill(61_000);
  await use("ccccc");
  expect([isHere("aaaaa"), isHere("bbbbb"), isHere("ccccc")]).toEqual([false, true, true]);
});

/** Inputs of which some came together. */
async function packedWorld(texts: readonly string[], maxBytes?: number) {
  const folder = join(own.folder(), "inputs");
  const packs = await packsBeside(folder, virtualClock());
  const w = world(maxBytes, { folder, packed: packs.store });
  await packs.keep(texts);
  const names = async () => (await packs.store.list()).map(({ sha256 }) => sha256).sort();
  return {
    ...w,
    store: packs.store,
    packs: () => readdirSync(packs.folder).map((name) => join(packs.folder, name)),
    names,
  };
}

test("one that lies in a pack becomes a file when a job needs it, and is not fetched", async () => {
  const w = await packedWorld(["one", "two", "three"]);
  const path = await w.inputs.at(sha("two"), never);
  expect([path, readFileSync(path, "utf8")]).toEqual([join(w.folder, sha("two")), "two"]);
  expect(await w.names()).toEqual([sha("one"), sha("three")].sort());
  // What was made here and lies in a pack already does not lie here twice.
  writeFileSync(join(w.folder, "..", "made"), "one");
  await w.inputs.keep(sha("one"), join(w.folder, "..", "made"));
  expect([w.isHere("one"), await w.names()]).toEqual([false, [sha("one"), sha("three")].sort()]);
});

test("what lies in a pack goes after its time, and by the room that its pack takes", async () => {
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(500));
  const w = await packedWorld(texts, 40_000);
  await w.store.drop(texts.slice(0, 5).map(sha));
  await w.inputs.makeRoom(1);
  expect(w.inputs.takeFreed()).toEqual({ sha256s: [], bytes: 0 });
  // There is room for the bytes that are left, and none for the pack that they lie in.
  const left = (await w.store.list()).reduce((sum, { bytes }) => sum + bytes, 0);
  const large = 24_500;
  expect([left + large < 40_000, statSync(w.packs()[0]!).size + large > 40_000]).toEqual([true, true]);
  writeFileSync(join(w.folder, "large"), "x".repeat(large));
  utimesSync(join(w.folder, "large"), w.clock.now() / 1_000 + 5, w.clock.now() / 1_000 + 5);
  await w.inputs.makeRoom(1);
  const freed = w.inputs.takeFreed();
  expect(freed.sha256s.length).toBeGreaterThan(0);
  expect(freed.bytes).toBe(
    freed.sha256s.reduce((sum, one) => sum + texts.find((text) => sha(text) === one)!.length, 0),
  );
  expect(await w.names()).toHaveLength(15 - freed.sha256s.length);
  w.clock.standStill(700_000);
  await w.inputs.makeRoom(1);
  expect([await w.names(), w.packs()]).toEqual([[], []]);
});

test("one in a pack that a job found wrong is forgotten, and one that is in use stays", async () => {
  const w = await packedWorld(["one", "two"]);
  w.inputs.claim([sha("two")]);
  expect([await w.inputs.drop(sha("one")), await w.inputs.drop(sha("two"))]).toEqual([true, false]);
  expect(await w.names()).toEqual([sha("two")]);
  await w.inputs.forget(sha("two"));
  expect(await w.names()).toEqual([]);
});
