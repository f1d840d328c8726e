/** Bytes that are not what their name says: who sent them is named, they are set aside, and the next way brings the right ones. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder, receiver, wantedOf } from "../transport.contract.ts";
import type { Transport } from "../transport.port.ts";
import { MAX_ASIDE_FILES } from "./limits.ts";
import { packOf } from "./pack.ts";

const right = Buffer.from("the right bytes".repeat(100));
const bad = Buffer.from("the wrong bytes".repeat(100));
const wanted = wantedOf(right);
const wrong = [{ sha256: wanted.sha256, actual: wantedOf(bad).sha256 }];

const way = (place: string, content: Uint8Array): Transport => ({
  name: "http",
  place,
  async probe() {},
  async *read(_, { start }) {
    yield content.subarray(start);
  },
  close() {},
});

const setAside = (quarantine: string) =>
  existsSync(quarantine) ? readdirSync(quarantine).map((name) => readFileSync(join(quarantine, name), "utf8")) : [];

test("who sent them is named, they are kept once, and another way brings the file", async () => {
  const quarantine = join(newFolder(), "quarantine");
  const here = receiver({ quarantine });
  const report = await here.fetch([wanted], [way("node a", bad), way("node b", right)]);
  expect(report).toMatchObject({ arrived: [wanted.sha256], failed: [] });
  expect(report.tries).toMatchObject([
    { place: "node a", files: 0, wrong },
    { place: "node b", files: 1 },
  ]);
  expect(report.tries[1]).not.toHaveProperty("wrong");
  expect(here.has(wanted)).toEqual(right);
  expect(setAside(quarantine)).toEqual([bad.toString()]);
});

test("what an earlier way left is not laid at the door of the one that went on with it", async () => {
  const here = receiver();
  here.plant(wanted, bad.subarray(0, 700));
  const report = await here.fetch([wanted], [way("node b", right)]);
  expect(report.arrived).toEqual([wanted.sha256]);
  expect(report.tries).toMatchObject([{ place: "node b", files: 1 }]);
  expect(report.tries[0]).not.toHaveProperty("wrong");
});

test("a damaged one of a pack is named and kept, and the others are not held up", async () => {
  const quarantine = join(newFolder(), "quarantine");
  const here = receiver({ quarantine });
  const other = Buffer.from("another file");
  const packed: Transport = {
    ...way("node a", right),
    readPack: (all) =>
      packOf(all, ({ sha256 }, content) => content.set(sha256 === wanted.sha256 ? bad : other) === undefined),
  };
  const report = await here.fetch([wanted, wantedOf(other)], [packed]);
  expect(report.arrived.toSorted()).toEqual([wanted.sha256, wantedOf(other).sha256].sort());
  expect(report.tries).toMatchObject([{ place: "node a", wrong }]);
  expect(setAside(quarantine)).toEqual([bad.toString()]);
});

test("no more is kept than there is room for", async () => {
  const quarantine = join(newFolder(), "quarantine");
  mkdirSync(quarantine);
  for (let i = 0; i < MAX_ASIDE_FILES; i += 1) writeFileSync(join(quarantine, `${i}`), "");
  const here = receiver({ quarantine });
  const report = await here.fetch([wanted], [way("node a", bad), way("node b", right)]);
  expect(report.arrived).toEqual([wanted.sha256]);
  expect(setAside(quarantine)).not.toContain(bad.toString());
});
