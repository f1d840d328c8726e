import { existsSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { maintenanceDefaults } from "../../daemons/limits.ts";
import { freePages, shrinkStore } from "../../daemons/units/maintenance/store-chores.ts";
import { systemClock } from "../../kernel/index.ts";
import { probeStore } from "../../router/index.ts";
import { sqliteCare } from "./care.ts";
import { threadedStore } from "./threaded-store.ts";

const modulesUrl = new URL("../../app/store-modules.ts", import.meta.url).href;

const made = () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-care-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "coordination.db");
};
/** A store over a file that has held much more than it does. */
const emptied = async (rows: number) => {
  const path = made();
  const store = await threadedStore({ path, modulesUrl, clock: systemClock() });
  onTestFinished(() => store.close());
  const other = new DatabaseSync(path, { timeout: 5_000 });
  other.exec(
    `CREATE TABLE filling (id INTEGER PRIMARY KEY, text TEXT);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
     INSERT INTO filling (text) SELECT hex(zeroblob(1500)) FROM n;
     DELETE FROM filling;`,
  );
  other.close();
  return { path, store };
};

test("a sound database has no problems, and a damaged one is described", async () => {
  const { path, store } = await emptied(2_000);
  const care = sqliteCare(path);
  expect(await care.check()).toEqual([]);
  await store.close();
  const file = openSync(path, "r+");
  for (let page = 2; page < 12; page += 1) writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, page * 4_096);
  expect((await care.check()).length).toBeGreaterThan(0);
});

test("a check that is called off ends at once", async () => {
  const { path } = await emptied(2_000);
  const ending = new AbortController();
  const checking = sqliteCare(path).check(ending.signal);
  ending.abort(new Error("the unit stops"));
  await expect(checking).rejects.toThrow("the unit stops");
  await expect(sqliteCare(path).check(ending.signal)).rejects.toThrow("the unit stops");
});

test("a database that is not there is a problem, not a crash", async () => {
  await expect(sqliteCare(made()).check()).rejects.toMatchObject({ code: "CARE_FAILED" });
});

test("the write-ahead log is cut while the store is open, and commits go on", async () => {
  const { path, store } = await emptied(3_000);
  const care = sqliteCare(path);
  expect(care.walBytes()).toBeGreaterThan(1_000_000);
  expect(await care.truncateWal()).toBe(true);
  expect(care.walBytes()).toBe(0);
  await store.commit([probeStore({ at: 1 })]);
  expect(care.walBytes()).toBeGreaterThan(0);
});

test("a log that somebody reads from is left as it is, and that is said", async () => {
  const { path, store } = await emptied(3_000);
  const reader = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM filling").get();
  await store.commit([probeStore({ at: 1 })]);
  expect(await sqliteCare(path).truncateWal()).toBe(false);
  reader.exec("COMMIT");
  expect(await sqliteCare(path).truncateWal()).toBe(true);
});

test("a file that shrinks lets other commits in between", async () => {
  const { path, store } = await emptied(12_000);
  const care = sqliteCare(path);
  await care.truncateWal();
  const before = statSync(path).size;
  expect(freePages(store).canShrink).toBe(true);
  const rules = { ...maintenanceDefaults.vacuum, minBytes: 1_000_000 };
  let shrinking = true;
  const shrunk = shrinkStore(store, rules, new AbortController().signal).finally(() => {
    shrinking = false;
  });
  let between = 0;
  while (shrinking) {
    await store.commit([probeStore({ at: between })]);
    if (shrinking) between += 1;
  }
  expect(await shrunk).toBeGreaterThan(8_000);
  expect(between, "commits of others while it shrank").toBeGreaterThan(50);
  await care.truncateWal();
  expect(statSync(path).size).toBeLessThan(before / 10);
  expect(existsSync(`${path}-wal`)).toBe(true);
});
