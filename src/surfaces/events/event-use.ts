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
