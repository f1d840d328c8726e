/**
 * Pages of the journal, bounded by bytes as well as by number, and read in pieces: others get their turn between them,
 * however much there is and however seldom the filter fits.
 */
import { type Clock, sleep } from "../../kernel/index.ts";
import {
  type HistoryFilter,
  headSeq,
  pairsOfEvent,
  type SqlValue,
  type Store,
  type StoredEvent,
  VIEW,
} from "../../router/index.ts";

/** Rows that one query may go through: then somebody else's has its turn. */
const PIECE = 20_000;
/** Events of one query. */
const MAX_TAKEN = 250;
const MAX_PAGE_BYTES = 8 * 1_024 * 1_024;
/** What an event takes on the wire beside its payload. */
const ENVELOPE_BYTES = 700;

type JournalFilter = { readonly [K in keyof Omit<HistoryFilter, "limit">]: HistoryFilter[K] | undefined };

interface HistoryPage {
  /** Oldest first. */
  readonly rows: readonly StoredEvent[];
  /** Where the page before this one ends; null when nothing is left. */
  readonly nextBefore: number | null;
}

const conditionOf = (filter: JournalFilter): { sql: string; params: SqlValue[] } => {
  const given: [string, SqlValue | undefined][] = [
    ["event_type = ?", filter.eventType],
    ["origin = ?", filter.origin],
    ["source = ?", filter.source],
    ["order_key = ?", filter.orderKey],
    ["timestamp >= ?", filter.since],
    ["timestamp < ?", filter.until],
  ];
  const held = given.filter((each): each is [string, SqlValue] => each[1] !== undefined);
  return { sql: held.map(([sql]) => ` AND ${sql}`).join(""), params: held.map(([, value]) => value) };
};

/** The newest events before a place that fit the filter, at most so many and so many bytes; at least one if there is one. */
export async function historyPage(
  store: Store,
  filter: JournalFilter,
  page: { readonly before?: number | undefined; readonly limit: number },
  signal: AbortSignal,
): Promise<HistoryPage> {
  const { sql, params } = conditionOf(filter);
  const oldest = store.read<{ seq: number | null }>("SELECT min(seq) AS seq FROM events")[0]?.seq ?? 0;
  // An index leads to the events of one type: alone, they need not be looked for piece by piece.
  const piece = filter.eventType !== undefined && params.length === 1 ? Number.MAX_SAFE_INTEGER : PIECE;
  let upper = Math.min(page.before ?? Number.MAX_SAFE_INTEGER, headSeq(store) + 1);
  let bytes = 0;
  const rows: StoredEvent[] = [];
  while (upper > oldest && rows.length < page.limit) {
    const lower = Math.max(oldest, upper - piece);
    const max = Math.min(page.limit - rows.length, MAX_TAKEN);
    const sizes = await store.scan<{ seq: number; bytes: number }>(
      `SELECT seq, octet_length(payload) AS bytes FROM events WHERE seq >= ? AND seq < ?${sql}
       ORDER BY seq DESC LIMIT ?`,
      [lower, upper, ...params, max],
      signal,
    );
    let from: number | undefined;
    for (const row of sizes) {
      bytes += row.bytes + ENVELOPE_BYTES;
      if (bytes > MAX_PAGE_BYTES && (rows.length > 0 || from !== undefined)) break;
      from = row.seq;
    }
    if (from !== undefined)
      rows.push(
        ...(await store.scan<StoredEvent>(
          `SELECT * FROM events WHERE seq >= ? AND seq < ?${sql} ORDER BY seq DESC`,
          [from, upper, ...params],
          signal,
        )),
      );
    if (bytes > MAX_PAGE_BYTES) return { rows: rows.reverse(), nextBefore: from ?? upper };
    // All that this piece holds was taken, or as much as one query gives: go on below it.
    upper = sizes.length === max && from !== undefined ? from : lower;
  }
  return { rows: rows.reverse(), nextBefore: upper > oldest ? upper : null };
}

interface TracedEvent {
  readonly row: StoredEvent;
  readonly deliveries: ReturnType<typeof pairsOfEvent>;
}

/** Events of a trace whose deliveries are looked up before the main loop has its turn again. */
const TRACE_PIECE = 10;

export async function tracePage(
  store: Store,
  clock: Clock,
  traceId: string,
  page: { readonly after: number; readonly limit: number },
): Promise<{ readonly events: readonly TracedEvent[]; readonly nextAfter: number | null }> {
  const events: TracedEvent[] = [];
  let bytes = 0;
  for (let after = page.after; ; ) {
    const rows = store.read<StoredEvent>(
      "SELECT * FROM events WHERE trace_id = ? AND seq > ? ORDER BY seq LIMIT ?",
      traceId,
      after,
      TRACE_PIECE,
    );
    for (const row of rows) {
      bytes += Buffer.byteLength(row.payload) + ENVELOPE_BYTES;
      if (events.length === page.limit || (bytes > MAX_PAGE_BYTES && events.length > 0))
        return { events, nextAfter: after };
      events.push({ row, deliveries: pairsOfEvent(store, row.seq) });
      after = row.seq;
    }
    if (rows.length < TRACE_PIECE) return { events, nextAfter: null };
    await sleep(clock, 0);
  }
}

/**
 * What other processes may see after a place, in order, up to so many bytes and at least one; `seen` is how far the journal
 * was looked through.
 */
export function journalAfter(
  store: Store,
  after: number,
  eventTypes: readonly string[] | undefined,
  maxBytes: number,
): { readonly rows: readonly StoredEvent[]; readonly seen: number; readonly more: boolean } {
  const head = headSeq(store);
  const end = Math.min(head, after + FOLLOW_PIECE);
  const types = eventTypes === undefined ? "" : ` AND event_type IN (SELECT value FROM json_each(?))`;
  const read = <T>(columns: string, upTo: number): T[] =>
    store.read<T>(
      `SELECT ${columns} FROM events WHERE seq > ? AND seq <= ? AND views & ${VIEW.crossProcess} <> 0${types} ORDER BY seq`,
      after,
      upTo,
      ...(eventTypes === undefined ? [] : [JSON.stringify(eventTypes)]),
    );
  const sizes = read<{ seq: number; bytes: number }>("seq, octet_length(payload) AS bytes", end);
  let bytes = 0;
  const over = sizes.findIndex((row) => {
    bytes += row.bytes + ENVELOPE_BYTES;
    return bytes > maxBytes;
  });
  const seen = over === -1 ? end : sizes[Math.max(0, over - 1)]!.seq;
  return { rows: read<StoredEvent>("*", seen), seen: Math.max(seen, after), more: seen < head };
}

const FOLLOW_PIECE = 64;
