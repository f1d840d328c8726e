import { type Book, routerLedger } from "../../daemons/index.ts";
import { assert } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { DaemonBook } from "../../surfaces/cli/index.ts";
import { readFolder } from "./read-folder.ts";

/** Books are read here, and never written: that is the main process's work. */
const readOnlyRouter = (read: Store["read"]): Parameters<typeof routerLedger>[0] =>
  ({
    store: { read },
    transact: () => assert(false, "a folder is only read"),
    catalog: {},
  }) as unknown as Parameters<typeof routerLedger>[0];

const bookOf = ([name, { restarts, permanentFailure }]: readonly [string, Book]): DaemonBook => ({
  name,
  restarts: restarts.length,
  permanently_failed: permanentFailure?.reason ?? null,
  given_up_at: permanentFailure === null ? null : permanentFailure.at / 1_000,
});

/** What the supervisor of a process that is gone wrote down of its daemons; undefined when there is nothing. */
export const readFolderBooks = (dataDir: string): DaemonBook[] | undefined =>
  readFolder(dataDir, (read) =>
    [...routerLedger(readOnlyRouter(read)).books()].map(bookOf).sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
