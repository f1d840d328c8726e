import { type DaemonRecord, supervisionStore } from "../../daemons/index.ts";
import { assert } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { DaemonBook } from "../../surfaces/commands/index.ts";
import { readFolder } from "./read-folder.ts";

/** Books are read here, and never written: that is the main process's work. */
const readOnlyRouter = (read: Store["read"]): Parameters<typeof supervisionStore>[0] =>
  ({
    store: { read },
    transact: () => assert(false, "a folder is only read"),
    catalog: {},
  }) as unknown as Parameters<typeof supervisionStore>[0];

const bookOf = ([name, { restarts, permanentFailure }]: readonly [string, DaemonRecord]): DaemonBook => ({
  name,
  restarts: restarts.length,
  permanently_failed: permanentFailure?.reason ?? null,
  given_up_at: permanentFailure?.at ?? null,
});

/** What the supervisor of a process that is gone wrote down of its daemons; undefined when there is nothing. */
export const readFolderBooks = (dataDir: string): DaemonBook[] | undefined =>
  readFolder(dataDir, "state_rows", (read) =>
    [...supervisionStore(readOnlyRouter(read)).records()].map(bookOf).sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
