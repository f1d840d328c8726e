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

/** The columns of an event, in the order in which its values travel to the writer. */
export const EVENT_COLUMNS = [
  "event_id",
  "event_type",
  "order_key",
  "payload",
  "payload_version",
  "timestamp",
  "source",
  "origin",
  "node_id",
  "trace_id",
  "correlation_id",
  "parent_event_id",
  "content_hash",
  "views",
] as const satisfies readonly (keyof EventRecord)[];
export const ID_AT = EVENT_COLUMNS.indexOf("event_id");
export const PAYLOAD_AT = EVENT_COLUMNS.indexOf("payload");
const TIMESTAMP_AT = EVENT_COLUMNS.indexOf("timestamp");

/** An event as bare values: on the way to the writer's thread the names of its columns would cost as much as they do. */
export type EventValues = ValuesOf<typeof EVENT_COLUMNS>;
type ValuesOf<T extends readonly (keyof EventRecord)[]> = { readonly [K in keyof T]: EventRecord[T[K]] };

export interface AppendArgs {
  readonly events: readonly EventValues[];
  /** Keys of those whose row asks for it, by their place: repeats within the window are suppressed. */
  readonly dedup?: { readonly windowSeconds: number; readonly keys: readonly (readonly [at: number, key: string])[] };
}

export type AppendResult =
  | { readonly seq: number; readonly suppressed: null }
  /** A repeat: the first event's id, and where that still is in the journal. */
  | { readonly seq: number | null; readonly suppressed: "event_id" | "content"; readonly event_id: string };

/** Where it is in the journal; or, said in full, what it repeats. */
type Place = number | Exclude<AppendResult, { readonly suppressed: null }>;

export const resultOf = (place: Place): AppendResult =>
  typeof place === "number" ? { seq: place, suppressed: null } : place;

const INSERT = `INSERT INTO events (${EVENT_COLUMNS.join(", ")}) VALUES (${EVENT_COLUMNS.map(() => "?").join(", ")})
  ON CONFLICT (event_id) DO NOTHING`;

const seqOf = (tx: Transaction, eventId: string): number | null =>
  tx.get<{ seq: number }>("SELECT seq FROM events WHERE event_id = ?", eventId)?.seq ?? null;

/** Finds the event that this one repeats, if the window still holds one; counts the repeat. */
function findRepeat(tx: Transaction, event: EventValues, key: string, windowSeconds: number): string | undefined {
  const [eventId, timestamp] = [event[ID_AT] as string, event[TIMESTAMP_AT] as number];
  const first = tx.get<{ event_id: string; at: number }>("SELECT event_id, at FROM dedup WHERE dedup_key = ?", key);
  // Both ways: a publisher whose clock runs ahead must not silence the others until time has caught up with it.
  if (first === undefined || Math.abs(timestamp - first.at) >= windowSeconds) {
    tx.run(
      `INSERT INTO dedup (dedup_key, event_id, at) VALUES (?, ?, ?)
       ON CONFLICT (dedup_key) DO UPDATE SET event_id = excluded.event_id, at = excluded.at, suppressed = 0`,
      key,
      eventId,
      timestamp,
    );
    return undefined;
  }
  if (first.event_id !== eventId) tx.run("UPDATE dedup SET suppressed = suppressed + 1 WHERE dedup_key = ?", key);
  return first.event_id;
}

/** All events of one commit, in their order. */
export const appendEvents = defineOperation<AppendArgs, readonly Place[]>("journal.append", (tx, { events, dedup }) => {
  const keys = new Map(dedup?.keys);
  return events.map((event, at) => {
    const eventId = event[ID_AT] as string;
    const key = keys.get(at);
    const repeated = key === undefined ? undefined : findRepeat(tx, event, key, dedup!.windowSeconds);
    if (repeated !== undefined && repeated !== eventId)
      return { seq: seqOf(tx, repeated), suppressed: "content", event_id: repeated };
    const done = tx.run(INSERT, ...event);
    if (done.changes === 0) return { seq: seqOf(tx, eventId), suppressed: "event_id", event_id: eventId };
    return done.lastId;
  });
});
