import { hash } from "node:crypto";
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { owned } from "../../../test/support/process.ts";
import { virtualClock } from "../../kernel/index.ts";
import { bringOverLine } from "./bring-over-line.ts";
import { keepInputs } from "./inputs.ts";

const own = owned();
afterAll(() => own.end());
const never = new AbortController().signal;
const sha = (text: string) => hash("sha256", text);

function world(maxBytes?: number) {
  const folder = join(own.folder(), "inputs");
  mkdirSync(folder);
  const clock = virtualClock();
  const texts = new Map<string, string>();
  const line = { get: async (path: string) => Readable.from([Buffer.from(texts.get(path.split("/").at(-1)!)!)]) };
  const inputs = keepInputs({
    folder,
    clock,
    idleMs: 600_000,
    bring: bringOverLine(line, folder, clock),
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
