import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { owned } from "../../../test/support/process.ts";
import { systemClock, virtualClock } from "../../kernel/index.ts";
import { createReader } from "./reader.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function world(clock = systemClock()) {
  const own = owned();
  const path = join(own.folder(), "read.db");
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; CREATE TABLE numbers (n INTEGER PRIMARY KEY)");
  const reader = createReader(path, clock);
  cleanUps.push(
    () => own.end(),
    () => db.close(),
    () => reader.close(),
  );
  return { db, reader };
}

const COUNT = "SELECT count(*) AS n FROM numbers";

test("a scan sees the last commit, and the caller's thread goes on meanwhile", async () => {
  const { db, reader } = world();
  expect(await reader.scan(COUNT)).toEqual([{ n: 0 }]);
  db.exec("INSERT INTO numbers VALUES (1), (2)");
  let turns = 0;
  const beat = setInterval(() => (turns += 1), 1);
  const long = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) AS n FROM n";
  expect(await Promise.all([reader.scan(long, [1_000_000]), reader.scan(COUNT)])).toEqual([
    [{ n: 1_000_000 }],
    [{ n: 2 }],
  ]);
  clearInterval(beat);
  expect(turns).toBeGreaterThan(0);
});

test("a fault of a statement is its asker's alone", async () => {
  const { reader } = world();
  const [wrong, right] = await Promise.allSettled([reader.scan("SELECT * FROM missing"), reader.scan(COUNT)]);
  expect(wrong).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("no such table") } });
  expect(right).toEqual({ status: "fulfilled", value: [{ n: 0 }] });
});

test("those who ask the same while it waits share one answer, and one of them may hang up", async () => {
  const { reader } = world();
  const first = reader.scan("SELECT 1 AS one");
  const hangUp = new AbortController();
  const waiting = [reader.scan(COUNT), reader.scan(COUNT, [], hangUp.signal), reader.scan(COUNT)];
  hangUp.abort(new Error("gone"));
  const [a, b, c] = await Promise.allSettled(waiting);
  expect(b).toMatchObject({ status: "rejected", reason: { message: "gone" } });
  expect(a).toEqual({ status: "fulfilled", value: [{ n: 0 }] });
  expect(a!.status === "fulfilled" && c!.status === "fulfilled" && a!.value === c!.value).toBe(true);
  expect(await first).toEqual([{ one: 1 }]);
});

test("too many questions are refused, and those who leave make room", async () => {
  const { reader } = world();
  const hangUp = new AbortController();
  const many = Array.from({ length: 101 }, (_, i) => reader.scan("SELECT ? AS i", [i], hangUp.signal));
  await expect(reader.scan("SELECT 'one more'")).rejects.toMatchObject({ code: "READER_BUSY" });
  hangUp.abort(new Error("gone"));
  await Promise.allSettled(many);
  expect(await reader.scan(COUNT)).toEqual([{ n: 0 }]);
});

test("nobody waits for ever", async () => {
  const clock = virtualClock();
  const { reader } = world(clock);
  const asked = reader.scan("SELECT 1").catch((thrown: unknown) => thrown);
  clock.step();
  expect(await asked).toMatchObject({ code: "READ_TOO_LONG", retryable: true });
});

test("a reader that is closed refuses what waits and what comes", async () => {
  const { reader } = world();
  const asked = [reader.scan("SELECT 1"), reader.scan("SELECT 2")].map((each) =>
    each.catch((thrown: unknown) => thrown),
  );
  await reader.close();
  for (const each of await Promise.all(asked))
    expect(each).toMatchObject({ code: expect.stringMatching(/READER_GONE|STORE_CLOSED/) });
  await expect(reader.scan("SELECT 3")).rejects.toMatchObject({ code: "STORE_CLOSED" });
});
