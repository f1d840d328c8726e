import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { entryOf, type SyncWorld, sha256Of, syncWorld } from "../../test/unit/sync/sync-world.ts";
import { freeArtifacts } from "./keep-operations.ts";

const worlds: SyncWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (...options: Parameters<typeof syncWorld>) => {
  const opened = syncWorld(...options);
  worlds.push(opened);
  return opened;
};
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const whys = ({ files }: { files: readonly { sha256: string; why: string }[] }) =>
  files.map(({ sha256, why }) => [sha256.slice(0, 8), why]);

/** Kept by a pin, in flight, let go, rejected: one file of each, all recorded now. */
async function four(w: SyncWorld) {
  const [kept, flying, loose, bad] = await Promise.all(["kept", "flying", "loose", "bad"].map(w.put));
  const names = { kept: kept!, flying: flying!, loose: loose!, bad: bad! };
  await w.change((artifacts) => {
    artifacts.record([
      entryOf("loose", { work_id: "w1", parents: [sha256Of("bad")] }),
      entryOf("kept", { work_id: "w2", parents: [names.loose] }),
      entryOf("flying", { work_id: "w3" }),
      entryOf("bad", { work_id: "w4" }),
    ]);
    artifacts.accept([names.kept, names.loose]);
    artifacts.reject([names.bad], "parity");
    artifacts.pin("champion", [names.kept]);
  });
  return names;
}

test("a dry run says what would go and why, and touches nothing", async () => {
  const w = world();
  const { loose, bad } = await four(w);
  expect((await w.sweeper.sweep({ dryRun: true })).files).toEqual([]);
  w.pass(3 * HOUR);
  const report = await w.sweeper.sweep({ dryRun: true });
  expect(whys(report)).toEqual([
    [loose.slice(0, 8), "nothing has held it for 3 h"],
    [bad.slice(0, 8), "rejected 3 h ago: parity"],
  ]);
  expect(report).toMatchObject({ dryRun: true, bytes: "loose".length + "bad".length, more: false });
  expect(w.catalog.get(loose)?.state).toBe("durable");
  expect(existsSync(w.files.pathOf(loose))).toBe(true);
});

test("what nothing holds goes, parents of what stays included; what is pinned or in flight stays", async () => {
  const w = world();
  const { kept, flying, loose, bad } = await four(w);
  w.pass(3 * HOUR);
  expect((await w.sweeper.sweep()).files).toHaveLength(2);
  expect([kept, flying, loose, bad].map((sha256) => existsSync(w.files.pathOf(sha256)))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(w.catalog.get(loose)).toMatchObject({ state: "freed", removed_at: w.clock.now() });
  expect(w.catalog.get(bad)).toMatchObject({ state: "rejected", removed_at: w.clock.now() });
  expect(w.catalog.lineage(kept)!.ancestors.map(({ artifact }) => artifact?.state)).toEqual(["freed", "rejected"]);
  expect((await w.sweeper.sweep()).files).toEqual([]);
});

test("a file that somebody asked for lately stays, and so does one whose bytes come again", async () => {
  const w = world();
  const { loose, bad } = await four(w);
  w.pass(3 * HOUR);
  expect((await w.files.stat(loose)).size).toBe("loose".length);
  expect(whys(await w.sweeper.sweep())).toEqual([[bad.slice(0, 8), "rejected 3 h ago: parity"]]);
  w.pass(2 * HOUR);
  await w.sweeper.sweep();
  expect(existsSync(w.files.pathOf(loose))).toBe(false);
  await w.put("loose");
  await w.change((artifacts) => artifacts.record([entryOf("loose", { work_id: "w9" })]));
  w.pass(3 * DAY);
  await w.sweeper.sweep();
  expect(w.catalog.get(loose)).toMatchObject({ state: "in_flight", work_id: "w9" });
  expect(existsSync(w.files.pathOf(loose))).toBe(true);
});

test("while a file is being given up nobody is told that it is there, and nobody can bring it", async () => {
  const w = world();
  const sha256 = await w.put("loose");
  const seen: unknown[] = [];
  const gone = await w.files.take([sha256], Number.MAX_SAFE_INTEGER, async (all) => {
    seen.push(await w.files.stat(sha256), await w.put("loose").catch((thrown: { code: string }) => thrown.code));
    return all;
  });
  expect(gone).toEqual([sha256]);
  expect(seen).toEqual([{ sha256, size: null, received: 0 }, "ARTIFACT_BUSY"]);
  expect(await w.put("loose")).toBe(sha256);
  expect(await w.files.take([sha256], Number.MAX_SAFE_INTEGER, async () => [])).toEqual([]);
  expect(existsSync(w.files.pathOf(sha256))).toBe(true);
});

test("what died between the commit and the removal is removed by the next call", async () => {
  const w = world();
  const { loose } = await four(w);
  w.pass(3 * HOUR);
  const args = { sha256s: [loose], idleBefore: w.clock.now(), at: w.clock.now() };
  await w.store.commit([freeArtifacts(args)]);
  expect(existsSync(w.files.pathOf(loose))).toBe(true);
  expect(whys(await w.sweeper.sweep({ dryRun: true }))[0]).toEqual([
    loose.slice(0, 8),
    "it was given up before, and its file is still there",
  ]);
  await w.sweeper.sweep();
  expect(existsSync(w.files.pathOf(loose))).toBe(false);
  expect(w.catalog.get(loose)?.removed_at).toBe(w.clock.now());
});

test("uploads that nobody recorded, and parts that nobody went on with, go after their own grace, with a row that says so", async () => {
  const w = world();
  const stray = await w.put("stray");
  const part = `${w.files.pathOf(sha256Of("part"))}.part`;
  await w.put("unrelated").then((sha256) => w.change((artifacts) => artifacts.pin("hand", [sha256])));
  writeFileSync(w.files.pathOf(stray).replace(stray, "notes.txt"), "not ours");
  await w.put("part").then((sha256) => w.files.take([sha256], Number.MAX_SAFE_INTEGER, async (all) => all));
  writeFileSync(part, "half");
  utimesSync(part, w.clock.now() / 1_000, w.clock.now() / 1_000);
  w.pass(DAY);
  expect((await w.sweeper.sweep()).files).toEqual([]);
  w.pass(7 * DAY);
  const report = await w.sweeper.sweep();
  expect(whys(report).map(([, why]) => why)).toEqual(
    expect.arrayContaining(["nobody recorded it for 192 h", "a part that nobody went on with for 192 h"]),
  );
  expect(report.files).toHaveLength(2);
  expect([existsSync(w.files.pathOf(stray)), existsSync(part)]).toEqual([false, false]);
  expect(existsSync(w.files.pathOf(sha256Of("unrelated")))).toBe(true);
  expect(existsSync(w.files.pathOf(stray).replace(stray, "notes.txt"))).toBe(true);
  expect(w.catalog.get(stray)).toMatchObject({ state: "freed", kind: "unknown", reason: "nobody recorded it" });
  expect(w.catalog.books()).toEqual([]);
  // One that comes again, and again is nobody's, goes again.
  await w.put("stray");
  w.pass(8 * DAY);
  expect((await w.sweeper.sweep()).files.map(({ sha256 }) => sha256)).toEqual([stray]);
  expect(existsSync(w.files.pathOf(stray))).toBe(false);
});

test("one call is bounded, says that there is more, and goes on where it stopped", async () => {
  const w = world({ policy: { most: 2, folders: 64 } });
  const contents = ["a", "b", "c", "d", "e"];
  for (const content of contents) await w.put(content);
  for (const content of ["x", "y", "z"]) await w.put(content);
  await w.change((artifacts) => {
    artifacts.record(contents.map((content) => entryOf(content, { work_id: `w-${content}` })));
    artifacts.accept(contents.map(sha256Of));
  });
  w.pass(10 * DAY);
  const first = await w.sweeper.sweep();
  expect(first.files.length).toBeLessThanOrEqual(4);
  expect(first.more).toBe(true);
  let gone = first.files.length;
  for (let calls = 0; calls < 8; calls += 1) gone += (await w.sweeper.sweep()).files.length;
  expect(gone).toBe(8);
});

test("what lies in quarantine long enough goes, and rows of files long gone are forgotten, the books unchanged", async () => {
  const w = world();
  const { loose } = await four(w);
  await w.change((artifacts) => {
    for (const work of ["w1", "w2", "w3", "w4"]) artifacts.produced("hex8_2p", "n1", work, 20);
  });
  w.spoil(loose, "spoilt");
  await w.driven(w.desk.verify([loose]));
  expect(readdirSync(join(w.folder, "quarantine"))).toHaveLength(1);
  w.pass(8 * DAY);
  expect(await w.sweeper.sweep()).toMatchObject({ fromQuarantine: 1, forgotten: 0 });
  expect(readdirSync(join(w.folder, "quarantine"))).toEqual([]);
  const books = w.catalog.books();
  expect(books).toMatchObject([{ produced: 80, durable: 20, in_flight: 20, rejected: 40, balanced: true }]);
  w.pass(31 * DAY);
  expect(await w.sweeper.sweep()).toMatchObject({ forgotten: 2 });
  expect(w.catalog.get(loose)).toBeUndefined();
  expect(w.catalog.books()).toEqual(books);
});

test("rows of files that are gone are forgotten sooner where there are too many", async () => {
  const w = world({ policy: { mostRows: 1 } });
  const { kept, flying } = await four(w);
  w.pass(3 * HOUR);
  expect(await w.sweeper.sweep()).toMatchObject({ forgotten: 1 });
  expect(w.catalog.list().map(({ sha256 }) => sha256)).toEqual(expect.arrayContaining([kept, flying]));
  expect(w.catalog.list()).toHaveLength(3);
});
