import type { EventRouter, Store } from "../../router/index.ts";

/** The newest of them tell how often an event comes; older ones are not looked at. */
const LOOKED_AT = 5_000;
const HOUR_SECONDS = 3_600;
const MAX_SOURCES = 100;

interface Seen {
  readonly source: string;
  readonly timestamp: number;
}

/** Who says an event, by the newest of them; times are Unix seconds. */
export function useOf(seen: readonly Seen[], nowSeconds: number) {
  const bySource = Map.groupBy(seen, ({ source }) => source);
  const oldest = seen.at(-1)?.timestamp;
  const withinDay = seen.filter(({ timestamp }) => timestamp > nowSeconds - 24 * HOUR_SECONDS);
  // Where more came than were looked at, their pace is that of the time they cover.
  const isCut = seen.length >= LOOKED_AT;
  const hours = isCut && oldest !== undefined ? Math.min(24, (nowSeconds - oldest) / HOUR_SECONDS) : 24;
  return {
    last_seen_at: seen.length === 0 ? null : Math.max(...seen.map(({ timestamp }) => timestamp)),
    last_hour: seen.filter(({ timestamp }) => timestamp > nowSeconds - HOUR_SECONDS).length,
    per_hour: Math.round((withinDay.length / Math.max(hours, 1 / HOUR_SECONDS)) * 100) / 100,
    sources: [...bySource]
      .map(([source, events]) => ({
        source,
        events: events.length,
        last_seen_at: Math.max(...events.map(({ timestamp }) => timestamp)),
      }))
      .sort((a, b) => b.events - a.events)
      .slice(0, MAX_SOURCES),
  };
}

/** Those in the journal, newest first; of events that only pass by, those in memory. */
export async function seenOf(
  store: Pick<Store, "scan">,
  router: EventRouter,
  eventType: string,
): Promise<readonly Seen[]> {
  if ((router.catalog.row(eventType)?.class ?? "durable") !== "durable")
    return router.history({ eventType, limit: LOOKED_AT }).reverse();
  return store.scan<Seen>("SELECT source, timestamp FROM events WHERE event_type = ? ORDER BY seq DESC LIMIT ?", [
    eventType,
    LOOKED_AT,
  ]);
}

/** How far back events are counted: a journal may hold a gigabyte of them. */
const COUNTED = 50_000;

interface Counted {
  readonly event_type: string;
  readonly events: number;
  readonly last_hour: number;
  readonly first_seen_at: number;
  readonly last_seen_at: number;
  readonly sources: string;
}

/** The newest events of the journal, counted by name, the busiest first; times are Unix seconds. */
export async function countEvents(store: Pick<Store, "scan">, nowSeconds: number, from = 0, max = COUNTED) {
  const rows = await store.scan<Counted>(
    `SELECT event_type, count(*) AS events, sum(timestamp > ?) AS last_hour, min(timestamp) AS first_seen_at,
       max(timestamp) AS last_seen_at, group_concat(DISTINCT source) AS sources
     FROM events WHERE seq > (SELECT coalesce(max(seq), 0) FROM events) - ? AND timestamp >= ?
     GROUP BY event_type
     ORDER BY events DESC, event_type`,
    [nowSeconds - HOUR_SECONDS, max, from],
  );
  const since = rows.length === 0 ? null : Math.min(...rows.map(({ first_seen_at }) => first_seen_at));
  const hours = since === null ? 1 : Math.max(1, (nowSeconds - since) / HOUR_SECONDS);
  return {
    looked_at: rows.reduce((sum, { events }) => sum + events, 0),
    since,
    counts: rows.map(({ first_seen_at: _, sources, ...row }) => ({
      ...row,
      per_hour: Math.round((row.events / hours) * 10) / 10,
      sources: sources.split(",").slice(0, MAX_SOURCES),
    })),
  };
}
