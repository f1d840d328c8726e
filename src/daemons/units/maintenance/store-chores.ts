import { defineOperation, defineStoreModule, type Store } from "../../../router/store.port.ts";
import type { MaintenanceLimits } from "../../limits.ts";

/** Gives free pages at the end of the file back to the disk. Does nothing for a database that was made without this. */
const vacuumPages = defineOperation<{ pages: number }, void>("maintenance.vacuum", (tx, { pages }) => {
  tx.all(`PRAGMA incremental_vacuum(${Math.trunc(pages)})`);
});

/** Lets the database renew what it knows of its tables; bounded, so that a large table does not hold up the writer. */
const optimizeStore = defineOperation<null, void>("maintenance.optimize", (tx) => {
  tx.all("PRAGMA analysis_limit = 400");
  tx.all("PRAGMA optimize");
});

/** What people did to dead letters: the oldest rows above a number go. */
const trimLetterActions = defineOperation<{ keep: number; chunk: number }, { deleted: number }>(
  "maintenance.trim_letter_actions",
  (tx, { keep, chunk }) => ({
    deleted: tx.run(
      `DELETE FROM dead_letter_actions WHERE id IN (
         SELECT id FROM dead_letter_actions WHERE id <= (SELECT max(id) FROM dead_letter_actions) - ? ORDER BY id LIMIT ?)`,
      keep,
      chunk,
    ).changes,
  }),
);

/** Rows of units whose keys grow with time: the first ones above a number go. */
const trimStateTable = defineOperation<{ table: string; keep: number; chunk: number }, { deleted: number }>(
  "maintenance.trim_state",
  (tx, { table, keep, chunk }) => ({
    deleted: tx.run(
      `DELETE FROM state_rows WHERE table_name = ?1 AND key IN (
         SELECT key FROM state_rows WHERE table_name = ?1 ORDER BY key
         LIMIT max(0, min(?3, (SELECT count(*) FROM state_rows WHERE table_name = ?1) - ?2)))`,
      table,
      keep,
      chunk,
    ).changes,
  }),
);

/** Operations on the store as a whole; they bring no table of their own. */
export const maintenanceModule = defineStoreModule({
  name: "maintenance",
  migrations: [],
  operations: [vacuumPages, optimizeStore, trimLetterActions, trimStateTable],
});

export interface FreePages {
  readonly free: number;
  readonly all: number;
  readonly pageBytes: number;
  /** Whether free pages can be given back at all. */
  readonly canShrink: boolean;
}

const INCREMENTAL = 2;

export function freePages(store: Pick<Store, "read">): FreePages {
  const one = (pragma: string) => Number(Object.values(store.read(`PRAGMA ${pragma}`)[0] ?? { n: 0 })[0]);
  return {
    free: one("freelist_count"),
    all: one("page_count"),
    pageBytes: one("page_size"),
    canShrink: one("auto_vacuum") === INCREMENTAL,
  };
}

export const isWorthIt = (
  { free, all, pageBytes, canShrink }: FreePages,
  rules: MaintenanceLimits["vacuum"],
): boolean => canShrink && free * pageBytes >= rules.minBytes && free >= all * rules.share;

/** Shrinks the file, commit by commit, so that others come in between. Resolves to the pages that were given back. */
export async function shrinkStore(
  store: Store,
  rules: MaintenanceLimits["vacuum"],
  signal: AbortSignal,
): Promise<number> {
  if (!isWorthIt(freePages(store), rules)) return 0;
  const before = freePages(store).all;
  for (let i = 0; i < rules.maxCommits && !signal.aborted; i += 1) {
    await store.commit([vacuumPages({ pages: rules.pages })]);
    if (freePages(store).free === 0) break;
  }
  return Math.max(0, before - freePages(store).all);
}

export const optimize = async (store: Store): Promise<void> => void (await store.commit([optimizeStore(null)]));

/** Deletes what is above its number, chunk by chunk. Resolves to the rows that went. */
export async function trimGrowing(
  store: Store,
  { letterActions, tables, chunk }: MaintenanceLimits["trim"],
): Promise<number> {
  let total = 0;
  const all = async (next: () => Promise<number>) => {
    for (let deleted = chunk; deleted >= chunk; total += deleted) deleted = await next();
  };
  await all(async () => (await store.commit([trimLetterActions({ keep: letterActions, chunk })]))[0].deleted);
  for (const { table, keep } of tables)
    await all(async () => (await store.commit([trimStateTable({ table, keep, chunk })]))[0].deleted);
  return total;
}
