import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { s3Double } from "../../../test/support/s3-double.ts";
import { sha256Of } from "../../../test/unit/sync/sync-world.ts";
import { storeModules } from "../../app/store-modules.ts";
import { systemClock, systemRandom } from "../../kernel/index.ts";
import {
  type BackupPlace,
  type BackupWorld,
  booksOf,
  createArtifactCatalog,
  listBackups,
  pruneBackups,
  restoreBackup,
  runBackup,
  verifyBackup,
} from "../../sync/index.ts";
import { newFolder } from "../../sync/transport.contract.ts";
import { memoryWriter, ownStore } from "../sqlite/in-thread-store.ts";
import { openBackupPlace, prepareBackupPlace } from "./open-place.ts";
import { privateFilesOf } from "./private-files.ts";
import { runBackupTask } from "./run-on-thread.ts";
import { takeSnapshot } from "./snapshot.ts";

const { signal } = new AbortController();
const SECRET = "a key of the user, long enough";
const clock = systemClock();

/** A database as the first start of a program leaves it: made once, for every machine of these tests. */
const emptyDatabase = (() => {
  const writer = memoryWriter(storeModules);
  const bytes = writer.db.serialize();
  writer.close();
  return bytes;
})();

/** A data folder with files, a catalog and books. */
async function machine() {
  const dataDir = join(newFolder(), "data");
  mkdirSync(dataDir);
  const database = join(dataDir, "coordination.db");
  writeFileSync(database, emptyDatabase);
  const store = ownStore(database, storeModules, clock);
  onTestFinished(() => store.close());
  const catalog = createArtifactCatalog({ store, clock });
  const artifacts = join(dataDir, "artifacts");
  const pathOf = (sha256: string) => join(artifacts, sha256.slice(0, 2), sha256);
  writeFileSync(join(dataDir, "token"), "the token of this machine\n");
  let works = 0;
  return {
    dataDir,
    database,
    store,
    artifacts,
    pathOf,
    /** A file that is judged good, held by somebody, and in the books. */
    async make(content: Uint8Array, kind = "games"): Promise<string> {
      works += 1;
      const [sha256, work_id] = [sha256Of(content), `w${works}`];
      mkdirSync(dirname(pathOf(sha256)), { recursive: true });
      writeFileSync(pathOf(sha256), content);
      const operations: never[] = [];
      const joined = catalog.join({ rows: { apply: (operation) => void operations.push(operation as never) } });
      const games = kind === "games" ? 20 : 0;
      joined.record([{ sha256, kind, bytes: content.length, games, config_key: "hex8_2p", producer: "n1", work_id }]);
      joined.produced("hex8_2p", "n1", work_id, games);
      joined.accept([sha256]);
      joined.pin(`test:${sha256}`, [sha256]);
      await store.commit(operations);
      return sha256;
    },
  };
}
type Machine = Awaited<ReturnType<typeof machine>>;

const folderPlace = (): BackupPlace => {
  const path = join(newFolder(), "disk");
  mkdirSync(path);
  return { name: "folder", transport: "folder", path, disk: "backup" };
};

async function bucketPlace(): Promise<BackupPlace> {
  const double = await s3Double(["games"]);
  onTestFinished(() => double.stop());
  const { endpoint, accessKeyId, secretAccessKey } = double;
  return { name: "s3", transport: "s3", endpoint, accessKeyId, secretAccessKey, bucket: "games", disk: "backup" };
}

async function worldAt(place: BackupPlace, secret?: string): Promise<BackupWorld> {
  await prepareBackupPlace(place, true, signal);
  return { transport: openBackupPlace(place), secret, clock, signal, onProgress: () => {} };
}

const backUp = (world: BackupWorld, { dataDir, database, artifacts }: Machine) =>
  runBackup(world, {
    nodeId: "n1",
    version: "0.1.0",
    scratch: join(newFolder(), "scratch"),
    snapshot: (folder) => takeSnapshot(database, artifacts, folder),
    privateFiles: () => privateFilesOf(dataDir, []),
  });

const restore = (world: BackupWorld, to: string, more: Partial<Parameters<typeof restoreBackup>[1]> = {}) =>
  restoreBackup(world, { backup: undefined, to, dryRun: false, allowMissing: false, random: systemRandom(), ...more });

const booksIn = (dataDir: string) => {
  using db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true });
  return booksOf({ read: (sql, ...values) => db.prepare(sql).all(...values) as never });
};

const everyFile = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name));

describe.each([
  ["a folder, in the open", folderPlace, undefined],
  ["a folder, sealed", folderPlace, SECRET],
  ["a bucket, in the open", bucketPlace, undefined],
  ["a bucket, sealed", bucketPlace, SECRET],
])("%s", (_, placeOf, secret) => {
  test("what was backed up comes back: files, books and, where it was sealed, the token", async () => {
    const here = await machine();
    const contents = [randomBytes(200_000), randomBytes(10), Buffer.alloc(0)];
    const made = [];
    for (const content of contents) made.push(await here.make(content));
    const model = await here.make(randomBytes(70_000), "model");
    const world = await worldAt(await placeOf(), secret);
    const report = await backUp(world, here);
    expect(report).toMatchObject({ files: 4, sealed: secret !== undefined, missing: [], models: [model] });
    expect(await listBackups(world)).toMatchObject([{ backup_id: report.backup_id, games: 60, error: null }]);
    expect(await verifyBackup(world, { backup: undefined, read: true })).toMatchObject({ damaged: [] });

    const to = join(newFolder(), "restored");
    expect(await restore(world, to, { dryRun: true })).toMatchObject({ dry_run: true, restored_files: 0 });
    expect(existsSync(to)).toBe(false);
    const restored = await restore(world, to);
    expect(restored).toMatchObject({ failed: [], restored_files: 5 + (secret === undefined ? 0 : 1) });
    for (const [i, sha256] of made.entries())
      expect(readFileSync(join(to, "artifacts", sha256.slice(0, 2), sha256))).toEqual(contents[i]);
    expect(booksIn(to)).toEqual(restored.books);
    expect(restored.books).toMatchObject([{ config_key: "hex8_2p", produced: 60, durable: 60 }]);
    expect(existsSync(join(to, "token"))).toBe(secret !== undefined);
    expect(statSync(join(to, "coordination.db")).mode & 0o777).toBe(0o600);
  });

  test("the second one copies what is new and the database, and a place that lost a file gets it again", async () => {
    const here = await machine();
    const first = await here.make(randomBytes(5_000));
    const place = await placeOf();
    const world = await worldAt(place, secret);
    await backUp(world, here);
    expect(await backUp(world, here)).toMatchObject({ copied_files: 0, files: 1 });
    await here.make(randomBytes(6_000));
    expect(await backUp(world, here)).toMatchObject({ copied_files: 1, files: 2 });
    const shelf = world.transport.shelf!;
    const sizes = (await shelf.list(signal)).filter(({ name }) => !name.startsWith("backups/"));
    const lost = sizes.find(({ bytes }) => bytes >= 5_000 && bytes < 5_500)!;
    await shelf.remove(lost.name, signal);
    expect(await verifyBackup(world, { backup: undefined, read: false })).toMatchObject({
      damaged: [{ why: "it is not there" }],
    });
    expect(await backUp(world, here)).toMatchObject({ copied_files: 1, files: 2, missing: [] });
    expect(await verifyBackup(world, { backup: undefined, read: true })).toMatchObject({ damaged: [] });
    expect(first).toHaveLength(64);
  });
});

test("sealed, nothing of content, token or names is to be seen at the place, and another key opens nothing", async () => {
  const here = await machine();
  const content = randomBytes(3_000);
  const sha256 = await here.make(content);
  const place = folderPlace();
  const world = await worldAt(place, SECRET);
  await backUp(world, here);
  const all = everyFile((place as { path: string }).path).map((path) => [path, readFileSync(path)] as const);
  for (const [path, bytes] of all) {
    expect(path).not.toContain(sha256);
    for (const secret of [content.subarray(0, 32), "the token of this machine", sha256, "hex8_2p"])
      expect(bytes.includes(secret)).toBe(false);
  }
  const wrong = { ...world, secret: "another key, just as long" };
  await expect(restore(wrong, join(newFolder(), "to"))).rejects.toMatchObject({ code: "BACKUP_KEY_WRONG" });
  const none = { ...world, secret: undefined };
  await expect(restore(none, join(newFolder(), "to"))).rejects.toMatchObject({ code: "BACKUP_KEY_MISSING" });
  await expect(backUp(none, here)).rejects.toMatchObject({ code: "BACKUP_KEY_MISSING" });
  expect(everyFile((place as { path: string }).path)).toHaveLength(all.length);
});

test("a folder that holds something is not written to; half a restore goes on, and only with the same backup", async () => {
  const here = await machine();
  for (let n = 1; n <= 3; n += 1) await here.make(randomBytes(n * 1_000));
  const place = folderPlace();
  const world = await worldAt(place);
  const first = await backUp(world, here);
  const to = join(newFolder(), "to");
  mkdirSync(to);
  writeFileSync(join(to, "mine"), "x");
  await expect(restore(world, to)).rejects.toMatchObject({ code: "RESTORE_TARGET_TAKEN" });
  expect(readdirSync(to)).toEqual(["mine"]);

  const half = join(newFolder(), "half");
  const shelf = (await world.transport.shelf!.list(signal)).filter(({ bytes }) => bytes === 3_000);
  const path = join((place as { path: string }).path, shelf[0]!.name);
  renameSync(path, `${path}.away`);
  await expect(restore(world, half)).rejects.toMatchObject({ code: "ARTIFACT_NOT_FOUND" });
  expect(existsSync(join(half, "coordination.db"))).toBe(false);
  await backUp(world, here);
  await expect(restore(world, half)).rejects.toMatchObject({ code: "RESTORE_TARGET_TAKEN" });
  renameSync(`${path}.away`, path);
  expect(await restore(world, half, { backup: first.backup_id })).toMatchObject({ failed: [] });
  expect(readdirSync(half).sort()).toEqual(["artifacts", "coordination.db"]);
});

test("half a manifest and a changed one are told as damaged, and an older backup is never taken in their place", async () => {
  const here = await machine();
  await here.make(randomBytes(100));
  const place = folderPlace();
  const world = await worldAt(place);
  const first = await backUp(world, here);
  const second = await backUp(world, here);
  expect(second.backup_id > first.backup_id).toBe(true);
  const path = everyFile((place as { path: string }).path).find((name) => name.includes(second.backup_id))!;
  const whole = readFileSync(path);
  const broken = [
    whole.subarray(0, whole.length / 2),
    Buffer.from(whole.toString().replace("hex8_2p", "hex9_2p")),
    Buffer.alloc(0),
  ];
  for (const content of broken) {
    writeFileSync(path, content);
    const to = join(newFolder(), "to");
    await expect(restore(world, to)).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
    expect(existsSync(to)).toBe(false);
    expect(await listBackups(world)).toMatchObject([{ error: { code: "BACKUP_DAMAGED" } }, { error: null }]);
    expect(await pruneBackups(world, { keep: 1, keepMs: 0, dryRun: false })).toMatchObject({
      files: 0,
      backups: [],
      refused: expect.stringContaining("cannot be read"),
    });
  }
  expect(await restore(world, join(newFolder(), "to"), { backup: first.backup_id })).toMatchObject({ failed: [] });
});

test("a file that is damaged here is not copied as a sound one, and is told by name", async () => {
  const here = await machine();
  const good = await here.make(randomBytes(100));
  for (const secret of [undefined, SECRET]) {
    const bad = await here.make(randomBytes(200));
    const gone = await here.make(randomBytes(300));
    writeFileSync(here.pathOf(bad), randomBytes(200));
    rmSync(here.pathOf(gone));
    const world = await worldAt(folderPlace(), secret);
    const report = await backUp(world, here);
    expect(report.missing).toEqual(
      expect.arrayContaining([
        { sha256: bad, kind: "games", why: "its file is damaged" },
        { sha256: gone, kind: "games", why: "its file is gone" },
      ]),
    );
    expect(report.files).toBe(1);
    expect((await restore(world, join(newFolder(), "to"))).missing).toBe(report.missing.length);
    expect(good).toHaveLength(64);
  }
});

test("damage at the place is found by reading, named, and stops a restore unless it is allowed", async () => {
  const here = await machine();
  const sha256 = await here.make(randomBytes(1_000));
  const place = folderPlace();
  const world = await worldAt(place);
  await backUp(world, here);
  const path = everyFile((place as { path: string }).path).find((name) => name.endsWith(sha256))!;
  writeFileSync(path, randomBytes(1_000));
  expect(await verifyBackup(world, { backup: undefined, read: false })).toMatchObject({ damaged: [] });
  expect(await verifyBackup(world, { backup: undefined, read: true })).toMatchObject({
    damaged: [{ sha256, why: "its bytes are others" }],
  });
  await expect(restore(world, join(newFolder(), "to"))).rejects.toMatchObject({ code: "ARTIFACT_HASH" });
  const to = join(newFolder(), "to");
  expect(await restore(world, to, { allowMissing: true })).toMatchObject({ failed: [{ sha256 }] });
  expect(existsSync(join(to, "coordination.db"))).toBe(true);
});

test("what no kept backup needs goes, the manifest first, and nothing else; a dry run only says so", async () => {
  const here = await machine();
  await here.make(randomBytes(1_000));
  const place = folderPlace();
  const world = await worldAt(place);
  const ids = [];
  for (let n = 0; n < 3; n += 1) {
    await here.make(randomBytes(100 + n));
    ids.push((await backUp(world, here)).backup_id);
  }
  const before = everyFile((place as { path: string }).path).length;
  const dry = await pruneBackups(world, { keep: 1, keepMs: 0, dryRun: true });
  expect(dry).toMatchObject({ backups: ids.slice(0, 2), refused: null });
  expect(everyFile((place as { path: string }).path)).toHaveLength(before);
  expect(await pruneBackups(world, { keep: 1, keepMs: 3_600_000, dryRun: false })).toMatchObject({
    backups: [],
    files: 0,
  });
  expect(await pruneBackups(world, { keep: 1, keepMs: 0, dryRun: false, maxFiles: 1 })).toMatchObject({
    files: 1,
    more: true,
  });
  expect(await pruneBackups(world, { keep: 1, keepMs: 0, dryRun: false })).toMatchObject({ backups: [], more: false });
  expect(await verifyBackup(world, { backup: undefined, read: true })).toMatchObject({
    backup_id: ids[2],
    damaged: [],
  });
});

test("a store whose listing is empty or an error has nothing taken away", async () => {
  const here = await machine();
  const double = await s3Double(["games"]);
  onTestFinished(() => double.stop());
  const { endpoint, accessKeyId, secretAccessKey, objects } = double;
  const keys = { endpoint, accessKeyId, secretAccessKey, bucket: "games", disk: "backup" };
  const world = await worldAt({ name: "s3", transport: "s3", ...keys });
  for (let n = 0; n < 2; n += 1) {
    await here.make(randomBytes(100 + n));
    await backUp(world, here);
  }
  const before = objects.size;
  const order = { keep: 1, keepMs: 0, dryRun: false };
  double.listing = "empty";
  expect(await pruneBackups(world, order)).toMatchObject({ backups: [], files: 0, refused: expect.any(String) });
  double.listing = "fails";
  await expect(pruneBackups(world, order)).rejects.toMatchObject({ name: "OperatingError" });
  expect(objects.size).toBe(before);
  double.listing = "sound";
  expect((await pruneBackups(world, order)).backups).toHaveLength(1);
  expect(objects.size).toBeLessThan(before);
});

test("a disk that is not mounted, or that holds other things, is no place for backups and gets nothing", async () => {
  const here = await machine();
  await here.make(randomBytes(10));
  const place = folderPlace() as BackupPlace & { path: string };
  const world = await worldAt(place);
  await backUp(world, here);
  renameSync(place.path, `${place.path}.away`);
  await expect(prepareBackupPlace(place, true, signal)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
  mkdirSync(place.path);
  await prepareBackupPlace(place, false, signal);
  await expect(backUp(world, here)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
  await expect(pruneBackups(world, { keep: 1, keepMs: 0, dryRun: false })).rejects.toMatchObject({
    code: "PLACE_NOT_THERE",
  });
  expect(readdirSync(place.path)).toEqual([]);
  writeFileSync(join(place.path, "photos"), "");
  await expect(prepareBackupPlace(place, true, signal)).rejects.toMatchObject({ code: "PLACE_TAKEN" });
});

test("a thread does it all, tells how far it is, and gives errors with their codes", async () => {
  const here = await machine();
  await here.make(randomBytes(100_000));
  const place = folderPlace();
  const seen: string[] = [];
  const onProgress = ({ phase }: { phase: string }) => void seen.push(phase);
  const { dataDir, database, artifacts } = here;
  const about = { nodeId: "n1", version: "0.1.0", dataDir, database, artifacts, otherFiles: [] };
  const scratch = join(newFolder(), "scratch");
  const at = { place, secret: SECRET };
  await runBackupTask({ kind: "run", ...at, isFirst: true, scratch, ...about }, { signal, onProgress });
  expect(existsSync(scratch)).toBe(false);
  expect(new Set(seen)).toEqual(new Set(["snapshot", "copy"]));
  expect(await runBackupTask({ kind: "list", ...at }, { signal })).toMatchObject([{ error: null, sealed: true }]);
  const wrong = { place, secret: "another key, just as long" };
  await expect(
    runBackupTask({ kind: "verify", ...wrong, backup: undefined, read: true }, { signal }),
  ).rejects.toMatchObject({ code: "BACKUP_KEY_WRONG", kind: "denied" });
  const ended = AbortSignal.abort(new Error("the unit stops"));
  await expect(runBackupTask({ kind: "list", ...at }, { signal: ended })).rejects.toThrow("the unit stops");
});
