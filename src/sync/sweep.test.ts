import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { entryOf, oneNode, type SyncWorld, sha256Of, syncWorld } from "../../test/unit/sync/sync-world.ts";
import { silentLog } from "../kernel/index.ts";
import { freeArtifacts } from "./retention-operations.ts";
import { createSyncServices } from "./services.ts";
import { createSweeper } from "./sweep.ts";

const worlds: SyncWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (...options: Parameters<typeof syncWorld>) => {
  const opened = syncWorld(...options);
  worlds.push(opened);
  return opened;
};
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
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
      entryOf("bad", { work_id: "w4" }),
      entryOf("flying", { work_id: "w3" }),
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

test("a dry run lists just what the next call takes, strays, parts and left ones too, and takes none of it", async () => {
  const w = world();
  const { loose, bad, kept } = await four(w);
  const [stray, held, left] = await Promise.all(["stray", "held by hand", "left"].map(w.put));
  const part = `${w.files.pathOf(stray!)}.part`;
  writeFileSync(part, "half");
  utimesSync(part, w.clock.now() / 1_000, w.clock.now() / 1_000);
  await w.change((artifacts) => {
    artifacts.pin("hand", [held!]);
    artifacts.record([entryOf("left", { work_id: "w5" })]);
    artifacts.accept([left!]);
  });
  w.pass(8 * DAY);
  await w.store.commit([freeArtifacts({ sha256s: [left!], idleBefore: w.clock.now(), at: w.clock.now() })]);
  mkdirSync(join(w.folder, "quarantine"));
  writeFileSync(join(w.folder, "quarantine", `${sha256Of("damaged")}.1`), "damaged");
  const there = () => readdirSync(w.folder, { recursive: true }).toSorted();
  const [files, rows] = [there(), w.catalog.list()];
  const planned = await w.sweeper.sweep({ dryRun: true });
  expect([there(), w.catalog.list()]).toEqual([files, rows]);
  expect(planned).toMatchObject({ dryRun: true, fromQuarantine: 0, forgotten: 0 });
  expect(planned.files.map(({ sha256 }) => sha256).toSorted()).toEqual([loose, bad, left, stray, stray].toSorted());
  const done = await w.sweeper.sweep();
  expect(done).toMatchObject({ dryRun: false, fromQuarantine: 1 });
  expect(done.files).toEqual(planned.files);
  for (const sha256 of [loose, bad, left!, stray!]) expect(existsSync(w.files.pathOf(sha256))).toBe(false);
  for (const sha256 of [kept, held!]) expect(existsSync(w.files.pathOf(sha256))).toBe(true);
  expect(existsSync(part)).toBe(false);
});

test("a file stays for ten minutes after it was let go, and one that nobody recorded for a day, to the moment", async () => {
  const w = world();
  const { loose, bad } = await four(w);
  const stray = await w.put("stray");
  const planned = async () => (await w.sweeper.sweep({ dryRun: true })).files.map(({ sha256 }) => sha256);
  w.pass(10 * MINUTE);
  expect(await planned()).toEqual([]);
  w.pass(1);
  expect(await planned()).toEqual([loose, bad]);
  w.pass(DAY - 10 * MINUTE - 1);
  expect(await planned()).toEqual([loose, bad]);
  w.pass(1);
  expect(await planned()).toEqual([loose, bad, stray]);
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
  const w = world({ policy: { max: 2, folders: 64 } });
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
  await w.driven(w.inspector.verify([loose]));
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
  const w = world({ policy: { maxRows: 2 } });
  const { kept, flying } = await four(w);
  w.pass(3 * HOUR);
  expect(await w.sweeper.sweep()).toMatchObject({ forgotten: 1 });
  expect(w.catalog.list().map(({ sha256 }) => sha256)).toEqual(expect.arrayContaining([kept, flying]));
  expect(w.catalog.list()).toHaveLength(3);
});

test("how long nothing has held a file is told in seconds, minutes or hours, whichever reads best", async () => {
  const w = world({ policy: { graceMs: 0 } });
  const { loose } = await four(w);
  const told: string[] = [];
  let passed = 0;
  for (const at of [1_000, 119_999, 120_000, 2 * HOUR - 1, 2 * HOUR]) {
    w.pass(at - passed);
    passed = at;
    const { files } = await w.sweeper.sweep({ dryRun: true });
    told.push(files.find(({ sha256 }) => sha256 === loose)!.why);
  }
  expect(told).toEqual(["1 s", "120 s", "2 min", "120 min", "2 h"].map((time) => `nothing has held it for ${time}`));
});

describe("the search for strays", () => {
  /** A content whose file lies in this folder. */
  const contentIn = (prefix: string, n = 0): string => {
    for (let i = 0; ; i += 1) {
      const content = `${prefix} ${n} ${i}`;
      if (sha256Of(content).startsWith(prefix)) return content;
    }
  };
  const strays = async (
    policy: NonNullable<Parameters<typeof syncWorld>[0]>["policy"],
    contents: readonly string[],
  ) => {
    const w = world({ policy: policy! });
    for (const content of contents) await w.put(content);
    w.pass(8 * DAY);
    const sweep = async (dryRun = false) => (await w.sweeper.sweep({ dryRun })).files.map(({ sha256 }) => sha256);
    return { w, sweep };
  };

  test("looks through a few folders in each call, and a dry run does not move it on", async () => {
    const [near, far] = [contentIn("0f"), contentIn("10")];
    const { sweep } = await strays({ folders: 16 }, [near, far]);
    for (let calls = 0; calls < 3; calls += 1) expect(await sweep(true)).toEqual([sha256Of(near)]);
    expect(await sweep()).toEqual([sha256Of(near)]);
    expect(await sweep()).toEqual([sha256Of(far)]);
  });

  test("takes as many as it may, and comes back to a folder that it did not finish", async () => {
    const contents = [0, 1, 2].map((n) => contentIn("00", n));
    const { sweep } = await strays({ folders: 16, max: 1 }, contents);
    const gone = [...(await sweep()), ...(await sweep()), ...(await sweep())];
    expect(gone).toEqual(contents.map(sha256Of).toSorted());
  });

  test("goes round: after the last folder comes the first", async () => {
    const late = contentIn("00");
    const { w, sweep } = await strays({ folders: 128 }, []);
    await sweep();
    await w.put(late);
    w.pass(8 * DAY);
    expect([await sweep(), await sweep()]).toEqual([[], [sha256Of(late)]]);
  });

  test("leaves one alone that somebody pins between the look and the deed, and says of others that nothing is known", async () => {
    const { w } = await strays({}, ["pinned", "stray"]);
    const files = {
      ...w.files,
      take: async (...[asked, ...rest]: Parameters<typeof w.files.take>) => {
        if (asked.includes(sha256Of("pinned")))
          await w.change((artifacts) => artifacts.pin("hand", [sha256Of("pinned")]));
        return w.files.take(asked, ...rest);
      },
    };
    const report = await createSweeper({
      store: w.store,
      files,
      clock: w.clock,
      nodeId: "n1",
      policy: { folders: 256 },
    }).sweep();
    expect(report.files).toMatchObject([{ sha256: sha256Of("stray"), kind: "unknown", config_key: null }]);
    expect(existsSync(w.files.pathOf(sha256Of("pinned")))).toBe(true);
  });
});

test("a file that was given up, and is recorded again between the look and the deed, stays", async () => {
  const w = world();
  const { loose } = await four(w);
  w.pass(3 * HOUR);
  await w.store.commit([freeArtifacts({ sha256s: [loose], idleBefore: w.clock.now(), at: w.clock.now() })]);
  const files = {
    ...w.files,
    take: async (...[asked, ...rest]: Parameters<typeof w.files.take>) => {
      if (asked.includes(loose)) await w.change((artifacts) => artifacts.record([entryOf("loose", { work_id: "w9" })]));
      return w.files.take(asked, ...rest);
    },
  };
  await createSweeper({ store: w.store, files, clock: w.clock, nodeId: "n1" }).sweep();
  expect(w.catalog.get(loose)).toMatchObject({ state: "in_flight", work_id: "w9" });
  expect(existsSync(w.files.pathOf(loose))).toBe(true);
});

test("a damaged file lies in quarantine for seven days, to the moment", async () => {
  const w = world();
  const { loose } = await four(w);
  w.spoil(loose, "spoilt");
  await w.driven(w.inspector.verify([loose]));
  const gone = async () => (await w.sweeper.sweep()).fromQuarantine;
  expect(await gone()).toBe(0);
  w.pass(7 * DAY);
  expect(await gone()).toBe(0);
  w.pass(1);
  expect(await gone()).toBe(1);
});

test("one clean-up takes away all that a busy loop has let go of, however many calls that is", async () => {
  const w = world();
  const contents = Array.from({ length: 450 }, (_, i) => `let go ${i}`);
  for (const content of contents) await w.put(content);
  await w.change((artifacts) => {
    artifacts.record(contents.map((content) => entryOf(content, { work_id: `w-${content}` })));
    artifacts.accept(contents.map(sha256Of));
  });
  w.pass(HOUR);
  const services = createSyncServices({ ...w, nodeId: "n1", log: silentLog(), ...oneNode });
  const { space, graces } = services.units;
  const { sha256s } = await space.clean({ ...graces, level: "none", exceptConfigs: [] }, new AbortController().signal);
  expect(new Set(sha256s)).toEqual(new Set(contents.map(sha256Of)));
  services.close();
});
