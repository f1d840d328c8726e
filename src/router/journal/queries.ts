import { PAGE_BYTES } from "../limits.ts";
import { conditions, type Store } from "../store.port.ts";
import type { StoredEvent } from "./append.ts";

type Reader = Pick<Store, "read">;

export const headSeq = (store: Reader): number =>
  store.read<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM events")[0]!.seq;

/** How many of these, from the first on, have so many bytes together; at least one. */
function fitting(rows: readonly { readonly bytes: number }[], maxBytes: number): number {
  let bytes = 0;
  const over = rows.findIndex((row) => {
    bytes += row.bytes;
    return bytes > maxBytes;
  });
  return over === -1 ? rows.length : Math.max(1, over);
}

/** What follows in the journal, at most so many and so many bytes of payload; at least one if there is one. */
export function eventsAfter(store: Reader, seq: number, limit: number, maxBytes = PAGE_BYTES): StoredEvent[] {
  const sizes = store.read<{ bytes: number }>(
    "SELECT octet_length(payload) AS bytes FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
    seq,
    limit,
  );
  return store.read<StoredEvent>(
    "SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
    seq,
    fitting(sizes, maxBytes),
  );
}

/** What of an event says who is owed it, and how many bytes its payload has. */
export interface EventHead extends Pick<StoredEvent, "seq" | "event_type" | "source" | "views"> {
  readonly bytes: number;
}

/** What follows in the journal, without the payloads. */
export const headsAfter = (store: Reader, seq: number, limit: number): EventHead[] =>
  store.read<EventHead>(
    "SELECT seq, event_type, source, views, octet_length(payload) AS bytes FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
    seq,
    limit,
  );

export const eventsAt = (store: Reader, seqs: readonly number[]): StoredEvent[] =>
  seqs.length === 0
    ? []
    : store.read<StoredEvent>(
        "SELECT * FROM events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq",
        JSON.stringify(seqs),
      );

export const eventById = (store: Reader, eventId: string): StoredEvent | undefined =>
  store.read<StoredEvent>("SELECT * FROM events WHERE event_id = ?", eventId)[0];

export const eventsOfTrace = (store: Reader, traceId: string, limit: number): StoredEvent[] =>
  store.read<StoredEvent>("SELECT * FROM events WHERE trace_id = ? ORDER BY seq LIMIT ?", traceId, limit);

export interface HistoryFilter {
  readonly eventType?: string;
  readonly origin?: string;
  readonly source?: string;
  readonly orderKey?: string;
  /** Unix seconds. */
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
}

/** The newest events that fit, oldest first. */
export function journalHistory(store: Reader, filter: HistoryFilter): StoredEvent[] {
  const { sql, params } = conditions({
    "event_type = ?": filter.eventType,
    "origin = ?": filter.origin,
    "source = ?": filter.source,
    "order_key = ?": filter.orderKey,
    "timestamp >= ?": filter.since,
    "timestamp < ?": filter.until,
  });
  const limit = Math.min(filter.limit ?? 100, 10_000);
  return store
    .read<StoredEvent>(`SELECT * FROM events WHERE ${sql} ORDER BY seq DESC LIMIT ?`, ...params, limit)
    .reverse();
}

export interface DueDelivery extends StoredEvent {
  readonly attempts: number;
  readonly next_at: number;
}

/** What waits in a lane, first come first served; of a lane without order, what is due by then. */
export function laneDeliveries(
  store: Reader,
  consumer: string,
  lane: string,
  limit: number,
  dueBy = Number.MAX_SAFE_INTEGER,
): DueDelivery[] {
  const read = <T>(columns: string, max: number): T[] =>
    store.read<T>(
      `SELECT ${columns} FROM deliveries d JOIN events e USING (seq)
       WHERE d.consumer = ? AND d.lane = ? AND d.state IN ('parked', 'retrying') AND d.next_at <= ? ORDER BY d.seq LIMIT ?`,
      consumer,
      lane,
      dueBy,
      max,
    );
  const sizes = read<{ bytes: number }>("octet_length(e.payload) AS bytes", limit);
  return read<DueDelivery>("e.*, d.attempts, d.next_at", fitting(sizes, PAGE_BYTES));
}

export const waitingLanes = (store: Reader, consumer: string) =>
  store.read<{ lane: string; next_at: number }>(
    `SELECT lane, min(next_at) AS next_at FROM deliveries
     WHERE consumer = ? AND state IN ('parked', 'retrying') GROUP BY lane`,
    consumer,
  );

export type PairState = "done" | "parked" | "retrying" | "dead" | "expired" | "owed";

export interface PairCount {
  readonly consumer: string;
  readonly state: PairState;
  readonly pairs: number;
}

/**
 * The contract in one query: every pair (event, consumer) that was ever owed, and the one state that it is in.
 * `owed` means not handed over yet; it is no end, but nothing can be lost between it and an end.
 */
const PAIRS = `
  SELECT DISTINCT s.consumer, e.seq, e.event_id, e.event_type, CASE
      WHEN EXISTS (SELECT 1 FROM dead_letters l WHERE l.consumer = c.consumer AND l.seq = e.seq
                     AND l.status IN ('pending', 'discarded')) THEN 'dead'
      WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.consumer = c.consumer AND d.seq = e.seq)
        THEN (SELECT d.state FROM deliveries d WHERE d.consumer = c.consumer AND d.seq = e.seq)
      WHEN EXISTS (SELECT 1 FROM subscriptions x WHERE x.consumer = c.consumer AND e.seq > x.expired_from
                     AND e.seq > x.start_seq AND e.seq <= x.end_seq AND x.event_type IN ('*', e.event_type)
                     AND e.views & x.view <> 0) THEN 'expired'
      WHEN e.seq <= c.low_water THEN 'done'
      ELSE 'owed' END AS state
  FROM subscriptions s
  JOIN consumers c ON c.consumer = s.consumer
  JOIN events e ON e.seq > s.start_seq AND (s.end_seq IS NULL OR e.seq <= s.end_seq)
    AND s.event_type IN ('*', e.event_type) AND e.views & s.view <> 0
    AND (c.deaf_to IS NULL OR e.source <> c.deaf_to)`;

export const countPairs = (store: Reader): PairCount[] =>
  store.read<PairCount>(
    `SELECT consumer, state, count(*) AS pairs FROM (${PAIRS}) GROUP BY consumer, state ORDER BY 1, 2`,
  );

export const pairsOfEvent = (store: Reader, seq: number): { consumer: string; state: PairState }[] =>
  store.read<{ consumer: string; state: PairState }>(`SELECT consumer, state FROM (${PAIRS} WHERE e.seq = ?)`, seq);

export interface ConsumerStatus {
  readonly consumer: string;
  readonly kind: string;
  readonly low_water: number;
  readonly handler_version: string;
  readonly last_seen_at: number;
  readonly expired_at: number | null;
  readonly lag: number;
  readonly parked: number;
  readonly dead: number;
  readonly event_types: string;
}

/** One line for each consumer; `lag` counts journal rows above its mark, wanted or not. */
export const consumerStatus = (store: Reader): ConsumerStatus[] =>
  store.read<ConsumerStatus>(
    `SELECT c.consumer, c.kind, c.low_water, c.handler_version, c.last_seen_at, c.expired_at,
       (SELECT coalesce(max(seq), 0) FROM events) - c.low_water AS lag,
       coalesce((SELECT deliveries FROM waiting_counts w WHERE w.consumer = c.consumer), 0) AS parked,
       (SELECT coalesce(sum(letters), 0) FROM dead_letter_counts l
        WHERE l.consumer = c.consumer AND l.status IN ('pending', 'retrying')) AS dead,
       (SELECT coalesce(group_concat(event_type), '') FROM subscriptions s WHERE s.consumer = c.consumer AND s.end_seq IS NULL) AS event_types
     FROM consumers c ORDER BY c.consumer`,
  );

/** How far each consumer that is present is behind, furthest first. */
export const consumersBehind = (store: Reader): Pick<ConsumerStatus, "consumer" | "lag">[] =>
  store.read(
    `SELECT consumer, (SELECT coalesce(max(seq), 0) FROM events) - low_water AS lag FROM consumers
     WHERE expired_at IS NULL ORDER BY lag DESC, consumer`,
  );

export interface Suppression {
  /** Event name and what was the same: its content's hash or the fields that the row names. */
  readonly dedup_key: string;
  /** The first one, which was delivered. */
  readonly event_id: string;
  readonly suppressed: number;
  /** Unix seconds. */
  readonly at: number;
}

/** Repeats that were suppressed and are still remembered, newest first. */
export const suppressions = (store: Reader, limit: number): Suppression[] =>
  store.read<Suppression>(
    "SELECT dedup_key, event_id, suppressed, at FROM dedup WHERE suppressed > 0 ORDER BY at DESC LIMIT ?",
    limit,
  );
