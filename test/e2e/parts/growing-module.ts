/** A table that the next version of the program gives one more column, which has to be filled in for the rows that are there. */
import { storeModules } from "../../../src/app/store-modules.ts";
import { defineOperation, defineStoreModule, type StoreModule } from "../../../src/router/index.ts";

export type Version = 1 | 2;

const STEPS = [
  { id: 1, name: "games", sql: "CREATE TABLE growing (id INTEGER PRIMARY KEY, game TEXT NOT NULL) STRICT;" },
  { id: 2, name: "letters", sql: "ALTER TABLE growing ADD COLUMN letters INTEGER;" },
];

const nextId = "(SELECT coalesce(max(id), 0) + 1 FROM growing)";
const addAs = (version: Version) =>
  defineOperation<{ game: string }, void>("growing.add", (tx, { game }) => {
    if (version === 1) tx.run(`INSERT INTO growing (id, game) VALUES (${nextId}, ?)`, game);
    else tx.run(`INSERT INTO growing (id, game, letters) VALUES (${nextId}, ?, length(?))`, game, game);
  });
export const addGame = addAs(1);

/** Fills in some of what is missing, and gives how many that were. */
export const fillIn = defineOperation<{ most: number }, number>(
  "growing.fill",
  (tx, { most }) =>
    tx.run(
      "UPDATE growing SET letters = length(game) WHERE id IN (SELECT id FROM growing WHERE letters IS NULL LIMIT ?)",
      most,
    ).changes,
);

/** What a program of this version knows. */
export const modulesOf = (version: Version): readonly StoreModule[] => [
  ...storeModules,
  defineStoreModule({
    name: "growing",
    migrations: STEPS.slice(0, version),
    operations: [addAs(version), ...(version === 1 ? [] : [fillIn])],
  }),
];
