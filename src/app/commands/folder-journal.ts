import { runtimeFacts } from "../../daemons/index.ts";
import type { Catalog } from "../../events/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import {
  countDeadLetters,
  eventById,
  eventsOfTrace,
  fromStored,
  groupDeadLetters,
  journalHistory,
  journalModule,
  listDeadLetters,
  pairsOfEvent,
  type StoredEvent,
} from "../../router/index.ts";
import type { EventNote, JournalView } from "../../surfaces/commands/index.ts";
import { assertVersions, openFolder } from "./read-folder.ts";

const MAX_IN_TRACE = 10_000;

/** The journal that a process left in its folder, read-only; undefined when there is none. */
export function openFolderJournal(dataDir: string, catalog: Catalog, nodeId: string): JournalView | undefined {
  const reader = openFolder(dataDir);
  if (reader === undefined) return undefined;
  try {
    assertVersions(reader, [journalModule]);
  } catch (thrown) {
    reader.close();
    throw thrown;
  }
  const stored = (eventId: string): StoredEvent => {
    const found = eventById(reader, eventId);
    if (found === undefined) throw OperatingError.notFound("EVENT_NOT_FOUND", `no event ${eventId} in the journal`);
    return found;
  };
  const note = (row: StoredEvent): EventNote => ({
    event: fromStored(catalog, row),
    deliveries: pairsOfEvent(reader, row.seq),
  });
  return {
    from: "folder",
    history: async (filter) => journalHistory(reader, filter).map((row) => fromStored(catalog, row)),
    event: async (eventId) => note(stored(eventId)),
    async trace(eventId) {
      const { trace_id } = stored(eventId);
      return { trace_id, events: eventsOfTrace(reader, trace_id, MAX_IN_TRACE).map(note) };
    },
    deadLetters: async (filter, limit) => listDeadLetters(reader, filter, limit),
    deadLetterSummary: async () => ({
      counts: countDeadLetters(reader),
      groups: groupDeadLetters(reader, { status: "pending" }, 100),
    }),
    audit: async (judge) => judge(await runtimeFacts(reader, { nodeId })),
    [Symbol.dispose]: () => reader.close(),
  };
}
