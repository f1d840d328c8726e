/** The tables of an outbox: what waits, what was refused, and the books that prove that nothing vanished. */
import { OperatingError } from "../../kernel/index.ts";
import { EVENT_COLUMNS, type EventValues, ID_AT, PAYLOAD_AT, type StoredEvent } from "../journal/append.ts";
import { probeStore } from "../journal/probe.ts";
import { defineOperation, defineStoreModule, type Store } from "../store.port.ts";

const COLUMNS = EVENT_COLUMNS.join(", ");

export interface KeepArgs {
  readonly event: EventValues;
  readonly at: number;
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** What the names, ids and numbers around a payload come to, generously. */
const ROW_BYTES = 1_024;
const bytesOf = (event: EventValues): number => Buffer.byteLength(event[PAYLOAD_AT] as string) + ROW_BYTES;

interface Books {
  readonly events: number;
  readonly bytes: number;
}

/** Writes an event down; false if one of this id is here already. Throws OUTBOX_FULL at the bound. */
export const keepEvent = defineOperation<KeepArgs, { readonly isNew: boolean }>("outbox.keep", (tx, args) => {
  const { event, at, maxEvents, maxBytes } = args;
  if (tx.get("SELECT 1 FROM outbox WHERE event_id = ?", event[ID_AT] as string) !== undefined) return { isNew: false };
  const bytes = bytesOf(event);
  const books = tx.get<Books>("SELECT events, bytes FROM outbox_books")!;
  if (books.events >= maxEvents || books.bytes + bytes > maxBytes)
    throw OperatingError.busy(
      "OUTBOX_FULL",
      `the outbox of this node is full: ${books.events} of ${maxEvents} events, ${books.bytes} of ${maxBytes} bytes`,
      {
        hint: "It empties when the main process answers. 'ringrift events outbox' shows waiting and refused events.",
      },
    );
  tx.run(
    `INSERT INTO outbox (${COLUMNS}, bytes, kept_at) VALUES (${EVENT_COLUMNS.map(() => "?").join(", ")}, ?, ?)`,
    ...event,
    bytes,
    at,
  );
  tx.run("UPDATE outbox_books SET kept = kept + 1, events = events + 1, bytes = bytes + ?", bytes);
  return { isNew: true };
});

export interface SettleArgs {
  /** Places of those that the coordinator has. */
  readonly forwarded: readonly number[];
  readonly refused: readonly { readonly seq: number; readonly code: string; readonly reason: string }[];
  readonly at: number;
}

const LEAVE = `UPDATE outbox_books SET events = events - 1, bytes = bytes - (SELECT bytes FROM outbox WHERE seq = ?)`;

/** What the coordinator has said of some of them. Saying it again changes nothing. */
export const settleEvents = defineOperation<SettleArgs, void>("outbox.settle", (tx, { forwarded, refused, at }) => {
  for (const seq of forwarded) {
    if (tx.get("SELECT 1 FROM outbox WHERE seq = ?", seq) === undefined) continue;
    tx.run(`${LEAVE}, forwarded = forwarded + 1, forwarded_at = ?`, seq, at);
    tx.run("DELETE FROM outbox WHERE seq = ?", seq);
  }
  for (const { seq, code, reason } of refused)
    tx.run(
      `UPDATE outbox SET refused_at = :at, refusal_code = :code, refusal = :reason
       WHERE seq = :seq AND refused_at IS NULL`,
      { at, code, reason, seq },
    );
});

/** Those that were refused go to the end of the line; all of them, or the one of this id. */
export const retryRefused = defineOperation<{ readonly eventId: string | null }, number>(
  "outbox.retry",
  (tx, { eventId }) => {
    const rows = tx.all<{ seq: number }>(
      "SELECT seq FROM outbox WHERE refused_at IS NOT NULL AND (?1 IS NULL OR event_id = ?1) ORDER BY seq",
      eventId,
    );
    // The line has one end, also for those that stood in it before.
    let last = tx.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'")?.seq ?? 0;
    for (const { seq } of rows) {
      last += 1;
      tx.run(
        "UPDATE outbox SET seq = ?, refused_at = NULL, refusal_code = NULL, refusal = NULL WHERE seq = ?",
        last,
        seq,
      );
    }
    tx.run("UPDATE sqlite_sequence SET seq = ? WHERE name = 'outbox'", last);
    return rows.length;
  },
);

/** A person gives up those that were refused; what waits cannot be given up. */
export const discardRefused = defineOperation<{ readonly eventId: string | null }, number>(
  "outbox.discard",
  (tx, { eventId }) => {
    const rows = tx.all<{ seq: number }>(
      "SELECT seq FROM outbox WHERE refused_at IS NOT NULL AND (?1 IS NULL OR event_id = ?1)",
      eventId,
    );
    for (const { seq } of rows) {
      tx.run(`${LEAVE}, discarded = discarded + 1`, seq);
      tx.run("DELETE FROM outbox WHERE seq = ?", seq);
    }
    return rows.length;
  },
);

export const outboxModule = defineStoreModule({
  name: "outbox",
  migrations: [
    {
      id: 1,
      name: "events of a node on their way",
      sql: `
        CREATE TABLE outbox (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          event_id TEXT NOT NULL UNIQUE,
          event_type TEXT NOT NULL,
          order_key TEXT,
          payload TEXT NOT NULL,
          payload_version INTEGER NOT NULL,
          timestamp REAL NOT NULL,
          source TEXT NOT NULL,
          origin TEXT NOT NULL,
          node_id TEXT NOT NULL,
          trace_id TEXT NOT NULL,
          correlation_id TEXT NOT NULL,
          parent_event_id TEXT,
          content_hash TEXT NOT NULL,
          views INTEGER NOT NULL,
          bytes INTEGER NOT NULL,
          kept_at REAL NOT NULL,
          refused_at REAL,
          refusal_code TEXT,
          refusal TEXT
        ) STRICT;
        CREATE INDEX outbox_waiting ON outbox (seq) WHERE refused_at IS NULL;
        CREATE INDEX outbox_refused ON outbox (seq) WHERE refused_at IS NOT NULL;
        CREATE TABLE outbox_books (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          kept INTEGER NOT NULL,
          forwarded INTEGER NOT NULL,
          discarded INTEGER NOT NULL,
          events INTEGER NOT NULL,
          bytes INTEGER NOT NULL,
          forwarded_at REAL
        ) STRICT;
        INSERT INTO outbox_books (id, kept, forwarded, discarded, events, bytes) VALUES (1, 0, 0, 0, 0, 0);
        CREATE TABLE store_probe (id INTEGER PRIMARY KEY CHECK (id = 1), at REAL NOT NULL) STRICT;
      `,
    },
  ],
  operations: [keepEvent, settleEvents, retryRefused, discardRefused, probeStore],
});

/** The books of an outbox. Times are milliseconds since the epoch. */
export interface OutboxStatus {
  readonly waiting: number;
  readonly refused: number;
  readonly bytes: number;
  readonly kept: number;
  readonly forwarded: number;
  readonly discarded: number;
  readonly oldest_at: number | null;
  readonly forwarded_at: number | null;
}

export const outboxStatus = (store: Pick<Store, "read">): OutboxStatus =>
  store.read<OutboxStatus>(
    `SELECT kept, forwarded, discarded, bytes, forwarded_at,
       (SELECT count(*) FROM outbox WHERE refused_at IS NULL) AS waiting,
       (SELECT count(*) FROM outbox WHERE refused_at IS NOT NULL) AS refused,
       (SELECT kept_at FROM outbox WHERE refused_at IS NULL ORDER BY seq LIMIT 1) AS oldest_at
     FROM outbox_books`,
  )[0]!;

/** The oldest that wait, as many as fit and at least one. */
export function waitingEvents(store: Pick<Store, "read">, maxEvents: number, maxBytes: number): StoredEvent[] {
  const sizes = store.read<{ seq: number; bytes: number }>(
    "SELECT seq, bytes FROM outbox WHERE refused_at IS NULL ORDER BY seq LIMIT ?",
    maxEvents,
  );
  let bytes = 0;
  let last: number | undefined;
  for (const row of sizes) {
    bytes += row.bytes;
    if (last !== undefined && bytes > maxBytes) break;
    last = row.seq;
  }
  if (last === undefined) return [];
  return store.read<StoredEvent>(
    `SELECT seq, ${COLUMNS} FROM outbox WHERE refused_at IS NULL AND seq <= ? ORDER BY seq`,
    last,
  );
}

/** An event that the coordinator did not take, and why. */
export interface RefusedEvent {
  readonly event_id: string;
  readonly event_type: string;
  readonly source: string;
  readonly kept_at: number;
  readonly refused_at: number;
  readonly code: string;
  readonly reason: string;
}

export const refusedEvents = (store: Pick<Store, "read">, limit: number): RefusedEvent[] =>
  store.read<RefusedEvent>(
    `SELECT event_id, event_type, source, kept_at, refused_at, refusal_code AS code, refusal AS reason
     FROM outbox WHERE refused_at IS NOT NULL ORDER BY seq LIMIT ?`,
    limit,
  );
