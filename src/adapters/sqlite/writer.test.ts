import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../../../test/support/process.ts";
import { defineStoreModule } from "../../router/index.ts";
import { memoryWriter } from "./in-thread-store.ts";
import { openWriter } from "./writer.ts";

const moduleOf = (name: string, ...steps: string[]) =>
  defineStoreModule({
    name,
    migrations: steps.map((sql, i) => ({ id: i + 1, name: `step ${i + 1}`, sql })),
    operations: [],
  });
const GAMES = "CREATE TABLE games (id INTEGER PRIMARY KEY, board TEXT NOT NULL) STRICT";
const BOARDS = "CREATE TABLE boards (name TEXT PRIMARY KEY) STRICT";

const tablesIn = (path: string): string[] => {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  db.close();
  return rows.map(({ name }) => String(name)).filter((name) => !name.startsWith("sqlite_"));
};

test("a database takes all steps that it lacks, or none", () => {
  const path = join(owned(onTestFinished).folder(), "some.db");
  const games = moduleOf("games", GAMES);
  openWriter(path, [games]).close();
  const wrong = [
    moduleOf("games", GAMES, "ALTER TABLE games ADD COLUMN moves INTEGER"),
    moduleOf("boards", "NONSENSE"),
  ];
  expect(() => openWriter(path, wrong)).toThrow(/syntax error/);
  const writer = openWriter(path, [games]);
  expect(writer.db.prepare("SELECT module, id FROM migrations").all()).toEqual([{ module: "games", id: 1 }]);
  expect(writer.db.prepare("SELECT name FROM pragma_table_info('games')").all()).toEqual([
    { name: "id" },
    { name: "board" },
  ]);
  writer.close();
  openWriter(path, [games, moduleOf("boards", BOARDS)]).close();
  expect(tablesIn(path)).toEqual(["boards", "games", "migrations"]);
  expect(() => openWriter(path, [moduleOf("games")])).toThrow(/written by a newer version \(games 1 > 0\)/);
});

test("databases in memory are alike at first, and nothing to each other after", () => {
  const modules = [moduleOf("games", GAMES)];
  const [one, two] = [memoryWriter(modules), memoryWriter(modules)];
  one.db.exec("INSERT INTO games (board) VALUES ('hex8')");
  const three = memoryWriter(modules);
  expect([one, two, three].map(({ db }) => db.prepare("SELECT count(*) AS n FROM games").get())).toEqual([
    { n: 1 },
    { n: 0 },
    { n: 0 },
  ]);
  for (const writer of [one, two, three]) writer.close();
});
