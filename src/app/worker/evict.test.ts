import { describe, expect, test } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { type CachedFile, whatGoes } from "./evict.ts";

const file = (name: string, usedMs: number, more: Partial<CachedFile> = {}): CachedFile => ({
  name,
  bytes: 10,
  usedMs,
  isBusy: false,
  ...more,
});
const names = (files: readonly CachedFile[]) => files.map(({ name }) => name);
const roomy = { maxBytes: 1_000, idleBefore: 0 };

describe("what goes from a node's cache", () => {
  test("is nothing while there is room and all was used lately", () => {
    expect(whatGoes([file("a", 5), file("b", 9)], [], roomy)).toEqual([]);
  });

  test("is what nobody has used for its time, and of the rest the longest unused as far as room is needed", () => {
    const files = [file("new", 9), file("idle", 1), file("old", 5)];
    expect(names(whatGoes(files, [], { ...roomy, idleBefore: 4 }))).toEqual(["idle"]);
    expect(names(whatGoes(files, [], { maxBytes: 10, idleBefore: 0 }))).toEqual(["idle", "old"]);
  });

  test("is never what a job has in its hands", () => {
    const files = [file("busy", 0, { isBusy: true }), file("free", 9)];
    expect(names(whatGoes(files, [], { maxBytes: 0, idleBefore: 5 }))).toEqual(["free"]);
  });

  test("is files of one job before models, and older models before newer ones", () => {
    const newest = ["third", "second", "first"];
    const files = [file("second", 0), file("samples", 99), file("third", 0), file("first", 50)];
    const goes = (maxBytes: number) => names(whatGoes(files, newest, { maxBytes, idleBefore: 0 }));
    expect([goes(30), goes(20), goes(10), goes(0)]).toEqual([
      ["samples"],
      ["samples", "first"],
      ["samples", "first", "second"],
      ["samples", "first", "second", "third"],
    ]);
  });

  test("leaves, of whatever there is, no more than the quota besides what is busy, and no model goes for want of room before others", () => {
    const random = seededRandom(7);
    const below = (n: number) => Math.floor(random.next() * n);
    for (let round = 0; round < 2_000; round += 1) {
      const files = Array.from({ length: below(12) }, (_, i) =>
        file(`f${i}`, below(100), { bytes: 1 + below(20), isBusy: below(4) === 0 }),
      );
      const newest = files.filter(() => below(3) === 0).map(({ name }) => name);
      const bounds = { maxBytes: below(120), idleBefore: below(100) };
      const goes = whatGoes(files, newest, bounds);
      const stays = files.filter((each) => !goes.includes(each));
      const bytes = stays.reduce((sum, each) => sum + each.bytes, 0);
      expect(goes.some(({ isBusy }) => isBusy)).toBe(false);
      expect(bytes <= bounds.maxBytes || stays.every(({ isBusy }) => isBusy)).toBe(true);
      const isIdle = ({ usedMs }: CachedFile) => usedMs < bounds.idleBefore;
      const modelsGone = goes.filter((each) => newest.includes(each.name) && !isIdle(each));
      if (modelsGone.length > 0) expect(stays.every((each) => each.isBusy || newest.includes(each.name))).toBe(true);
    }
  });
});
