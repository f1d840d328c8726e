import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type SimulatedLog, simulatedLog } from "../../../../test/support/simulated-log.ts";
import { storeModules } from "../../../app/store-modules.ts";
import { seededRandom, systemClock } from "../../../kernel/index.ts";
import {
  decodeEntry,
  defineOperation,
  defineStoreModule,
  encodeEntry,
  type Operation,
  type StoreModule,
} from "../../../router/index.ts";
import { memoryWriter } from "../in-thread-store.ts";
import { countedTables, rowsDigest, schemaDigest, tablesWithoutKey } from "./digests.ts";
import { beginGeneration, openReplica } from "./replica.ts";
import { replicaPort, type TermWriterOptions } from "./term-writer.ts";

const put = defineOperation<{ key: string; value: string }, number>(
  "notes.put",
  (tx, { key, value }) =>
    tx.run("INSERT INTO notes VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
      .changes,
);
const star = defineOperation<{ key: string }, void>("notes.star", (tx, { key }) => {
  tx.run("UPDATE notes SET stars = 5 WHERE key = ?", key);
});
const visit = defineOperation<null, number>("visits.add", (tx) => tx.run("INSERT INTO visits DEFAULT VALUES").lastId);
const forget = defineOperation<null, void>("visits.forget", (tx) => {
  tx.run("DELETE FROM visits");
});
const refuse = defineOperation<null, void>("notes.refuse", () => {
  throw new Error("no");
});
const probe = defineOperation<null, void>("store.probe", (tx) => {
  tx.run("INSERT INTO store_probe VALUES (1, 1) ON CONFLICT DO NOTHING");
});
const notes = defineStoreModule({
  name: "notes",
  migrations: [
    {
      id: 1,
      name: "notes",
      sql: `CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
            CREATE TABLE visits (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
            CREATE TABLE store_probe (id INTEGER PRIMARY KEY, at INTEGER) STRICT;
            CREATE TABLE note_counts (value TEXT PRIMARY KEY, notes INTEGER NOT NULL) STRICT;
            CREATE TRIGGER note_counts_add AFTER INSERT ON notes BEGIN
              INSERT INTO note_counts VALUES (NEW.value, 1) ON CONFLICT DO UPDATE SET notes = notes + 1;
            END;
            CREATE TRIGGER note_counts_move AFTER UPDATE OF value ON notes WHEN NEW.value <> OLD.value BEGIN
              UPDATE note_counts SET notes = notes - 1 WHERE value = OLD.value;
              INSERT INTO note_counts VALUES (NEW.value, 1) ON CONFLICT DO UPDATE SET notes = notes + 1;
            END;`,
    },
  ],
  operations: [put, star, visit, forget, refuse, probe],
});
const modules: readonly StoreModule[] = [notes];
const CLUSTER = { cluster: "games", generation: 1 };

function member(log: SimulatedLog, name: string, more: Partial<TermWriterOptions> = {}) {
  const replica = openReplica(memoryWriter(modules).db, CLUSTER);
  let sent = 0;
  const nextId = () => {
    sent += 1;
    return `${name}.${sent}`;
  };
  const options: TermWriterOptions = { replica, modules, log: log.connect(), clock: systemClock(), nextId, ...more };
  const port = replicaPort(options);
  const lead = async () => {
    const { term } = replica.position();
    const next = { ...CLUSTER, term: term + 1, boot: name, node: name };
    expect(await port.claim(next)).toMatchObject({ claim: "won" });
    return port.open(next, { trustedUntil: () => Number.POSITIVE_INFINITY, onAccepted() {} });
  };
  const catchUp = () => replica.replay(log.entries().slice(replica.position().seq));
  const rows = () => replica.db.prepare("SELECT * FROM notes ORDER BY key").all();
  return { replica, port, lead, catchUp, rows };
}

const counts = ({ replica }: ReturnType<typeof member>) =>
  replica.db.prepare("SELECT value, notes FROM note_counts WHERE notes > 0 ORDER BY value").all();

const write = (key: string, value: string): Operation[] => [put({ key, value })];
const newLog = () => simulatedLog({ clock: systemClock(), answerMs: 20 });

test("what triggers count is counted once on every replica, also what came and went within one commit", async () => {
  const log = newLog();
  const [a, b] = [member(log, "a"), member(log, "b")];
  const writer = await a.lead();
  await writer.apply([write("k", "one"), write("l", "one")]);
  await writer.apply([[...write("k", "two"), ...write("k", "three")], write("m", "one")]);
  b.catchUp();
  expect(counts(b)).toEqual(counts(a));
  expect(counts(a)).toMatchObject([
    { value: "one", notes: 2 },
    { value: "three", notes: 1 },
  ]);
  expect(rowsDigest(b.replica.db)).toBe(rowsDigest(a.replica.db));
  await writer.end("done");
  // The other one goes on counting where the first stopped.
  await (await b.lead()).apply([write("l", "three")]);
  a.catchUp();
  expect(counts(a)).toEqual(counts(b));
});

test("nothing but triggers writes the tables that triggers write, but to forget counts of zero", () => {
  const counted = countedTables(memoryWriter(storeModules).db);
  expect(counted.size).toBeGreaterThan(0);
  for (const { operations } of storeModules)
    for (const { run } of operations)
      for (const table of counted)
        expect(run.toString()).not.toMatch(
          new RegExp(`(INSERT INTO|UPDATE|DELETE FROM)\\s+${table}\\b(?! WHERE \\w+ = 0)`),
        );
});

test("what a leader commits is in the log first, and makes every other replica equal at the same entry", async () => {
  const log = newLog();
  const [a, b] = [member(log, "a"), member(log, "b")];
  const writer = await a.lead();
  expect(await writer.apply([write("x", "1"), write("y", "2")])).toEqual([
    { ok: true, results: [1] },
    { ok: true, results: [1] },
  ]);
  await writer.apply([write("x", "3")]);
  await writer.append("verify");
  expect(log.last()).toBe(4);
  b.catchUp();
  expect(b.rows()).toEqual(a.rows());
  expect(b.replica.position()).toEqual(a.replica.position());
  expect(rowsDigest(b.replica.db)).toBe(rowsDigest(a.replica.db));
  expect(b.replica.checks()).toEqual(a.replica.checks());
  expect(b.replica.checks()).toMatchObject([{ seq: 4 }]);
});

test("a refused operation is undone alone, and what changes nothing or only this file stays out of the log", async () => {
  const log = newLog();
  const a = member(log, "a");
  const writer = await a.lead();
  const outcomes = await writer.apply([write("x", "1"), [put({ key: "y", value: "2" }), refuse(null)], [probe(null)]]);
  expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true]);
  expect(a.rows()).toEqual([{ key: "x", value: "1" }]);
  expect(log.last()).toBe(2);
  await writer.apply([[probe(null)]]);
  await writer.apply([[refuse(null)]]);
  expect(log.last()).toBe(2);
});

test("a leader that the log refuses rolls back, and its term is over for good", async () => {
  const log = newLog();
  const [a, b] = [member(log, "a"), member(log, "b")];
  const old = await a.lead();
  await old.apply([write("x", "1")]);
  b.catchUp();
  const next = await b.lead();
  await next.apply([write("x", "2")]);
  const [outcome] = await old.apply([write("x", "stale")]);
  expect(outcome).toMatchObject({ ok: false, error: { code: "STORE_FENCED", retryable: false } });
  expect(await old.ended).toMatchObject({ code: "STORE_FENCED" });
  expect(await old.apply([write("y", "stale")])).toMatchObject([{ ok: false, error: { code: "STORE_FENCED" } }]);
  expect(a.rows()).toEqual([{ key: "x", value: "1" }]);
  a.catchUp();
  expect(a.rows()).toEqual([{ key: "x", value: "2" }]);
  expect(log.last()).toBe(4);
});

test("an unknown answer is asked again under the same id until the lease ends; then replay tells what became of it", async () => {
  const clock = systemClock();
  // How many of the next are not answered: counted from here, since a slow machine asks for the others again as well.
  let unanswered = 0;
  const fateOf = () => {
    const fate = unanswered > 0 ? ("stored, unanswered" as const) : ("answered" as const);
    unanswered -= 1;
    return { toMs: 0, backMs: 0, fate };
  };
  const log = simulatedLog({ clock, answerMs: 20, fateOf });
  const a = member(log, "a");
  expect(await a.port.claim({ ...CLUSTER, term: 1, boot: "a", node: "a" })).toMatchObject({ claim: "won" });
  let until = Number.POSITIVE_INFINITY;
  const writer = a.port.open(
    { ...CLUSTER, term: 1, boot: "a", node: "a" },
    { trustedUntil: () => until, onAccepted() {} },
  );
  unanswered = 1;
  expect(await writer.apply([write("x", "1")])).toMatchObject([{ ok: true }]);
  expect(log.last()).toBe(2);
  unanswered = Number.POSITIVE_INFINITY;
  until = clock.monotonic() + 200;
  expect(await writer.apply([write("x", "2")])).toMatchObject([{ ok: false, error: { code: "STORE_FENCED" } }]);
  expect(a.rows()).toEqual([{ key: "x", value: "1" }]);
  a.catchUp();
  expect(a.rows()).toEqual([{ key: "x", value: "2" }]);
});

test("a group that is too large goes in halves, and one commit that is too large is refused alone", async () => {
  const log = simulatedLog({ clock: systemClock(), maxBytes: 2_000 });
  const a = member(log, "a");
  const writer = await a.lead();
  // Bytes that cannot be packed.
  const random = seededRandom(1);
  const noise = (length: number) => Array.from({ length }, () => random.next().toString(36).slice(2, 10)).join("");
  const commits = [1, 2, 3, 4].map((n) => write(`k${n}`, noise(100)));
  const outcomes = await writer.apply([...commits, write("huge", noise(6_000)), write("last", "fits")]);
  expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, true, true, false, true]);
  expect(outcomes[4]).toMatchObject({ error: { code: "COMMIT_TOO_BIG", retryable: false } });
  expect(a.rows()).toHaveLength(5);
});

test("a replica stops where the log does not belong to it, and stays as it was", async () => {
  const log = newLog();
  const [a, b, c] = [member(log, "a"), member(log, "b"), member(log, "c")];
  const writer = await a.lead();
  await writer.apply([write("x", "1")]);
  await writer.apply([write("y", "2")]);
  const [first, second, third] = log.entries() as [never, never, never];
  expect(() => b.replica.replay([first, third])).toThrow(/entry 3 came after entry 1/);
  expect(b.replica.position().seq).toBe(1);
  const { header, body } = decodeEntry((second as { bytes: Uint8Array }).bytes);
  const other = (changed: Partial<typeof header>) => [{ seq: 2, bytes: encodeEntry({ ...header, ...changed }, body) }];
  expect(() => b.replica.replay(other({ chain: "f".repeat(64) }))).toThrow(/follows another entry/);
  expect(() => b.replica.replay(other({ schema: "f".repeat(64) }))).toThrow(/another schema/);
  expect(() => b.replica.replay(other({ term: 7 }))).toThrow(/of term 7/);
  c.catchUp();
  c.replica.db.exec("DELETE FROM notes");
  await writer.apply([write("x", "3")]);
  expect(() => c.catchUp()).toThrow(/not as they were/);
  expect(c.replica.db.isTransaction).toBe(false);
  b.replica.replay([second, third]);
  expect(b.rows()).toHaveLength(2);
  expect(() => openReplica(b.replica.db, { cluster: "games", generation: 2 })).toThrow(/generation 1/);
});

test("steps of the schema are entries that every replica takes at the same place", async () => {
  const log = newLog();
  const [a, b] = [member(log, "a"), member(log, "b")];
  const writer = await a.lead();
  await writer.apply([write("x", "1")]);
  const before = schemaDigest(a.replica.db);
  await writer.migrate({
    steps: [
      { module: "notes", id: 2, name: "stars", sql: "ALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT 0" },
    ],
  });
  expect(await writer.apply([[star({ key: "x" })]])).toMatchObject([{ ok: true }]);
  b.catchUp();
  expect(schemaDigest(b.replica.db)).toBe(schemaDigest(a.replica.db));
  expect(schemaDigest(b.replica.db)).not.toBe(before);
  expect(b.replica.position()).toEqual(a.replica.position());
  expect(b.rows()).toEqual(a.rows());
});

test("a number that SQLite gave once is never given again by the next leader", async () => {
  const log = newLog();
  const [a, b] = [member(log, "a"), member(log, "b")];
  const writer = await a.lead();
  const given = await writer.apply([[visit(null)], [visit(null)], [forget(null)]]);
  expect(given.slice(0, 2)).toMatchObject([{ results: [1] }, { results: [2] }]);
  b.catchUp();
  const next = await b.lead();
  expect(await next.apply([[visit(null)]])).toMatchObject([{ results: [3] }]);
  a.catchUp();
  expect(rowsDigest(a.replica.db)).toBe(rowsDigest(b.replica.db));
});

test("all our tables have a key, so that no change of theirs is left out", () => {
  const { db } = memoryWriter(storeModules);
  expect(tablesWithoutKey(db)).toEqual([]);
  const other = new DatabaseSync(":memory:");
  other.exec("CREATE TABLE keyless (a INTEGER)");
  expect(tablesWithoutKey(other)).toEqual(["keyless"]);
});

test("what begins a new generation goes on in a new log with the same rows; neither generation takes entries of the other", async () => {
  const [old, anew] = [newLog(), newLog()];
  const [a, b] = [member(old, "a"), member(old, "b")];
  const writer = await a.lead();
  await writer.apply([write("x", "1")]);
  b.catchUp();
  await writer.end("lost for good");
  expect(beginGeneration(b.replica.db)).toMatchObject({ generation: 2, seq: 0, term: 1 });
  const reopened = openReplica(b.replica.db, { ...CLUSTER, generation: 2 });
  const port = replicaPort({
    ...{ replica: reopened, modules, log: anew.connect(), clock: systemClock(), nextId: () => "b.100" },
  });
  const term = { ...CLUSTER, generation: 2, term: 2, boot: "b", node: "b" };
  expect(await port.claim(term)).toMatchObject({ claim: "won" });
  expect(b.rows()).toEqual(a.rows());
  expect(() => reopened.replay(old.entries().slice(1))).toThrow(/generation 1, not of 2/);
  const early = member(newLog(), "c");
  expect(() => early.replica.replay(anew.entries())).toThrow(/generation 2, not of 1/);
  // Another copy that has begun the same generation is another beginning.
  beginGeneration(a.replica.db);
  const rival = openReplica(a.replica.db, { ...CLUSTER, generation: 2 });
  expect(() => rival.replay(anew.entries())).toThrow(/follows another entry 0/);
});
