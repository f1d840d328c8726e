import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../../../../test/support/process.ts";
import { simulatedLog } from "../../../../test/support/simulated-log.ts";
import { smallDisk } from "../../../../test/support/small-disk.ts";
import { systemClock } from "../../../kernel/index.ts";
import { defineOperation, defineStoreModule } from "../../../router/index.ts";
import { openDatabase, openReader, openWriter } from "../writer.ts";
import { rowsDigest } from "./digests.ts";
import { openReplica } from "./replica.ts";
import { installSnapshot, takeSnapshot } from "./snapshot.ts";
import { replicaPort } from "./term-writer.ts";

const put = defineOperation<{ key: string }, void>("notes.put", (tx, { key }) => {
  tx.run("INSERT INTO notes VALUES (?)", key);
});
const modules = [
  defineStoreModule({
    name: "notes",
    migrations: [{ id: 1, name: "notes", sql: "CREATE TABLE notes (key TEXT PRIMARY KEY) STRICT" }],
    operations: [put],
  }),
];
const CLUSTER = { cluster: "games", generation: 1 };

async function world() {
  const folder = owned(onTestFinished).folder();
  const log = simulatedLog({ clock: systemClock() });
  const open = (name: string) => {
    const writer = openWriter(join(folder, name), modules);
    onTestFinished(() => writer.close());
    return { replica: openReplica(writer.db, CLUSTER), close: () => writer.close() };
  };
  const { replica } = open("leader.db");
  let sent = 0;
  const nextId = () => {
    sent += 1;
    return `a.${sent}`;
  };
  const port = replicaPort({ replica, modules, log: log.connect(), clock: systemClock(), nextId });
  const term = { ...CLUSTER, term: 1, boot: "a", node: "a" };
  await port.claim(term);
  const writer = port.open(term, { trustedUntil: () => Number.POSITIVE_INFINITY, onAccepted() {} });
  const write = (...keys: string[]) => writer.apply(keys.map((key) => [put({ key })]));
  return { folder, log, open, replica, write, at: (name: string) => join(folder, name) };
}

test("a newcomer begins with a snapshot and follows from there, though the log does not go back so far", async () => {
  const { log, open, replica, write, at } = await world();
  await write("one", "two");
  await write("three");
  const snapshot = await takeSnapshot(at("leader.db"), at("arrived.db"));
  expect(snapshot.position).toEqual(replica.position());
  await write("four");
  log.purge(snapshot.position.seq);
  await installSnapshot(at("arrived.db"), snapshot, at("new.db"));
  const { replica: newcomer } = open("new.db");
  expect(newcomer.db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  newcomer.replay(log.entries());
  expect(newcomer.position()).toEqual(replica.position());
  expect(rowsDigest(newcomer.db)).toBe(rowsDigest(replica.db));
});

test("a flipped bit, a missing end and another file are refused, and what is here stays", async () => {
  const { write, at, open } = await world();
  await write("one");
  const snapshot = await takeSnapshot(at("leader.db"), at("good.db"));
  await write("two");
  const newer = await takeSnapshot(at("leader.db"), at("newer.db"));
  const bytes = readFileSync(at("good.db"));
  for (const bend of [
    () => {
      const bent = Buffer.from(bytes);
      bent[bent.length - 100]! ^= 4;
      return bent;
    },
    () => bytes.subarray(0, bytes.length - 1),
    () => readFileSync(at("newer.db")),
  ]) {
    writeFileSync(at("arrived.db"), bend());
    await expect(installSnapshot(at("arrived.db"), snapshot, at("new.db"))).rejects.toMatchObject({
      code: "SNAPSHOT_DAMAGED",
    });
    expect(existsSync(at("new.db"))).toBe(false);
  }
  await installSnapshot(at("newer.db"), newer, at("new.db"));
  copyFileSync(at("good.db"), at("arrived.db"));
  await expect(installSnapshot(at("arrived.db"), snapshot, at("new.db"))).rejects.toMatchObject({
    code: "SNAPSHOT_OLD",
  });
  expect(open("new.db").replica.position()).toEqual(newer.position);
});

test("a replica that is opened on a full disk is refused with a code, and opens once there is room", () => {
  const disk = smallDisk(4, onTestFinished);
  if (disk === undefined) return;
  const path = join(disk.folder, "replica.db");
  openWriter(path, modules).close();
  const open = () => {
    const db = openDatabase(path);
    try {
      return openReplica(db, CLUSTER).position();
    } finally {
      db.close();
    }
  };
  disk.fill(65_536);
  expect(open).toThrow(expect.objectContaining({ name: "OperatingError", code: "STORE_FULL" }));
  disk.free();
  expect(open()).toMatchObject({ seq: 0 });
});

test("rows are looked at beside the writer, which goes on: they come to what they were at that entry", async () => {
  const { log, open, at } = await world();
  const path = at("big.db");
  const { db } = openWriter(path, modules);
  onTestFinished(() => db.close());
  const replica = openReplica(db, { ...CLUSTER, openBeside: () => openReader(path) });
  replica.replay(log.entries());
  let sent = 0;
  const nextId = () => {
    sent += 1;
    return `b.${sent}`;
  };
  const port = replicaPort({ replica, modules, log: log.connect(), clock: systemClock(), nextId });
  const term = { ...CLUSTER, term: 2, boot: "b", node: "b" };
  await port.claim(term);
  const writer = port.open(term, { trustedUntil: () => Number.POSITIVE_INFINITY, onAccepted() {} });
  const keys = Array.from({ length: 60_000 }, (_, i) => `note ${i}`);
  await writer.apply([keys.map((key) => put({ key }))]);
  const order: string[] = [];
  await writer.append("verify");
  const looked = replica.looked().then(() => order.push("looked"));
  await writer.apply([[put({ key: "later" })]]);
  order.push("written");
  await looked;
  expect(order).toEqual(["written", "looked"]);
  // One that reads all rows at once, and has no more than them by then, finds the same.
  const { replica: other } = open("other.db");
  other.replay(log.entries());
  expect(other.checks()).toEqual(replica.checks());
  expect(replica.checks()).toHaveLength(1);
});
