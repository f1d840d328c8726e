import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../adapters/sqlite/faults.ts";
import { statementCache } from "../../adapters/sqlite/writer.ts";
import { runtimeFacts } from "../../daemons/index.ts";
import type { Catalog } from "../../events/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import {
  consumerStatus,
  countDeadLetters,
  eventById,
  eventsOfTrace,
  fromStored,
  groupDeadLetters,
  inUnixSeconds,
  journalHistory,
  journalModule,
  listDeadLetters,
  pairsOfEvent,
  type SqlValue,
  type Store,
  type StoredEvent,
} from "../../router/index.ts";
import type { EventNote, JournalView } from "../../surfaces/cli/index.ts";

const MOST_IN_TRACE = 10_000;

type Reader = Pick<Store, "read"> & { close(): void };

/** Opens the database for reading alone. It is never created, migrated or written here: that is the main process's work. */
function openReader(path: string): Reader {
  let db: DatabaseSync;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  } catch (thrown) {
    throw translateFault(thrown);
  }
  const prepare = statementCache(db);
  return {
    read<T>(sql: string, ...params: SqlValue[]): T[] {
      try {
        return prepare(sql).all(...params) as T[];
      } catch (thrown) {
        throw translateFault(thrown);
      }
    },
    close: () => db.close(),
  };
}

function checkVersion(reader: Reader): void {
  const known = journalModule.migrations.at(-1)?.id ?? 0;
  const tables = reader.read("SELECT name FROM sqlite_schema WHERE name = 'migrations'");
  const reached =
    tables.length === 0
      ? 0
      : (reader.read<{ id: number | null }>(
          "SELECT max(id) AS id FROM migrations WHERE module = ?",
          journalModule.name,
        )[0]?.id ?? 0);
  if (reached > known)
    throw new OperatingError("STORE_NEWER", `the journal was written by a newer version (${reached} > ${known})`, {
      hint: "Use the newer version of ringrift, or another data folder.",
    });
  if (reached < known)
    throw new OperatingError("STORE_OLDER", `the journal was written by an older version (${reached} < ${known})`, {
      hint: "'ringrift up' brings it up to date.",
    });
}

/** The journal that a process left in its folder, read-only; undefined when there is none. */
export function openFolderJournal(dataDir: string, catalog: Catalog, nodeId: string): JournalView | undefined {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return undefined;
  const reader = openReader(path);
  try {
    checkVersion(reader);
  } catch (thrown) {
    reader.close();
    throw thrown;
  }
  const stored = (eventId: string): StoredEvent => {
    const found = eventById(reader, eventId);
    if (found === undefined) throw new OperatingError("EVENT_NOT_FOUND", `no event ${eventId} in the journal`);
    return found;
  };
  const note = (row: StoredEvent): EventNote => ({
    event: fromStored(catalog, row),
    deliveries: pairsOfEvent(reader, row.seq),
  });
  return {
    from: "folder",
    dataDir,
    history: async (filter) => journalHistory(reader, filter).map((row) => fromStored(catalog, row)),
    event: async (eventId) => note(stored(eventId)),
    async trace(eventId) {
      const { trace_id } = stored(eventId);
      return { trace_id, events: eventsOfTrace(reader, trace_id, MOST_IN_TRACE).map(note) };
    },
    deadLetters: async (filter, limit) => listDeadLetters(reader, filter, limit).map(inUnixSeconds),
    deadLetterSummary: async () => ({
      counts: countDeadLetters(reader),
      groups: groupDeadLetters(reader, { status: "pending" }, 100).map(inUnixSeconds),
    }),
    consumers: async () => consumerStatus(reader).map(inUnixSeconds),
    audit: async (judge) => judge(runtimeFacts(reader, { nodeId })),
    close: () => reader.close(),
  };
}
