import { defineOperation, type Transaction } from "../store.port.ts";

/** An event as the journal stores it. */
export interface EventRecord {
  readonly event_id: string;
  readonly event_type: string;
  readonly order_key: string | null;
  readonly payload: string;
  readonly payload_version: number;
  readonly timestamp: number;
  readonly source: string;
  readonly origin: string;
  readonly node_id: string;
  readonly trace_id: string;
  readonly correlation_id: string;
  readonly parent_event_id: string | null;
  readonly content_hash: string;
  readonly views: number;
}

export interface StoredEvent extends EventRecord {
  readonly seq: number;
}

export interface AppendArgs {
  readonly event: EventRecord;
  /** Where the row asks for it: repeats of this key within the window are suppressed. */
  readonly dedup?: { readonly key: string; readonly windowSeconds: number };
}

export type AppendResult =
  | { readonly seq: number; readonly suppressed: null }
  /** A repeat: the first event's id, and where that still is in the journal. */
  | { readonly seq: number | null; readonly suppressed: "event_id" | "content"; readonly event_id: string };

const INSERT = `INSERT INTO events
  (event_id, event_type, order_key, payload, payload_version, timestamp, source, origin, node_id, trace_id,
   correlation_id, parent_event_id, content_hash, views)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING`;

const seqOf = (tx: Transaction, eventId: string): number | null =>
  tx.get<{ seq: number }>("SELECT seq FROM events WHERE event_id = ?", eventId)?.seq ?? null;

/** Finds the event that this one repeats, if the window still holds one; counts the repeat. */
function findRepeat(tx: Transaction, { event, dedup }: AppendArgs): string | undefined {
  if (dedup === undefined) return undefined;
  const first = tx.get<{ event_id: string; at: number }>(
    "SELECT event_id, at FROM dedup WHERE dedup_key = ?",
    dedup.key,
  );
  // Both ways: a publisher whose clock runs ahead must not silence the others until time has caught up with it.
  if (first === undefined || Math.abs(event.timestamp - first.at) >= dedup.windowSeconds) {
    tx.run(
      `INSERT INTO dedup (dedup_key, event_id, at) VALUES (?, ?, ?)
       ON CONFLICT (dedup_key) DO UPDATE SET event_id = excluded.event_id, at = excluded.at, suppressed = 0`,
      dedup.key,
      event.event_id,
      event.timestamp,
    );
    return undefined;
  }
  if (first.event_id !== event.event_id)
    tx.run("UPDATE dedup SET suppressed = suppressed + 1 WHERE dedup_key = ?", dedup.key);
  return first.event_id;
}

export const appendEvent = defineOperation<AppendArgs, AppendResult>("journal.append", (tx, args) => {
  const repeated = findRepeat(tx, args);
  const e = args.event;
  if (repeated !== undefined && repeated !== e.event_id)
    return { seq: seqOf(tx, repeated), suppressed: "content", event_id: repeated };
  const done = tx.run(
    INSERT,
    e.event_id,
    e.event_type,
    e.order_key,
    e.payload,
    e.payload_version,
    e.timestamp,
    e.source,
    e.origin,
    e.node_id,
    e.trace_id,
    e.correlation_id,
    e.parent_event_id,
    e.content_hash,
    e.views,
  );
  if (done.changes === 0) return { seq: seqOf(tx, e.event_id), suppressed: "event_id", event_id: e.event_id };
  return { seq: done.lastId, suppressed: null };
});
