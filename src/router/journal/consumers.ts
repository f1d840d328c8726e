import { defineOperation } from "../store.port.ts";

export interface Wanted {
  /** Canonical event name, or '*' for all. */
  readonly eventType: string;
  /** Bit of the view through which it is seen. */
  readonly view: number;
}

export interface RegisterArgs {
  readonly consumer: string;
  readonly kind: "unit" | "process";
  readonly wanted: readonly Wanted[];
  /** Where a subscription starts when it is first seen. */
  readonly start: "earliest" | "now";
  readonly handlerVersion: string;
  /** What this source says is not owed. */
  readonly deafTo: string | null;
  readonly at: number;
}

export interface RegisteredConsumer {
  readonly lowWater: number;
  /** True when it had expired and begins anew: what it was owed before is lost to it. */
  readonly wasExpired: boolean;
}

/**
 * Makes the stored subscriptions of a consumer those that it wants now. New ones start where it says, dropped ones end at
 * the journal's head, so that for every event it stays known who was owed it.
 */
export const registerConsumer = defineOperation<RegisterArgs, RegisteredConsumer>("journal.register", (tx, args) => {
  const { consumer, kind, handlerVersion, deafTo, at } = args;
  const head = tx.get<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM events")!.seq;
  const oldest = tx.get<{ seq: number }>("SELECT coalesce(min(seq), 1) AS seq FROM events")!.seq;
  const start = args.start === "now" ? head : oldest - 1;
  const known = tx.get<{ low_water: number; expired_at: number | null }>(
    "SELECT low_water, expired_at FROM consumers WHERE consumer = ?",
    consumer,
  );
  const wasExpired = known !== undefined && known.expired_at !== null;
  if (known === undefined)
    tx.run(
      "INSERT INTO consumers (consumer, kind, low_water, handler_version, deaf_to, created_at, last_seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
      consumer,
      kind,
      start,
      handlerVersion,
      deafTo,
      at,
      at,
    );
  else
    tx.run(
      "UPDATE consumers SET kind = ?, handler_version = ?, deaf_to = ?, last_seen_at = ?, expired_at = NULL WHERE consumer = ?",
      kind,
      handlerVersion,
      deafTo,
      at,
      consumer,
    );
  if (wasExpired) tx.run("UPDATE consumers SET low_water = max(low_water, ?) WHERE consumer = ?", start, consumer);

  const lowWater = tx.get<{ low_water: number }>(
    "SELECT low_water FROM consumers WHERE consumer = ?",
    consumer,
  )!.low_water;
  const active = tx.all<{ event_type: string; view: number }>(
    "SELECT event_type, view FROM subscriptions WHERE consumer = ? AND end_seq IS NULL",
    consumer,
  );
  const has = (list: readonly { event_type: string; view: number }[], type: string, view: number) =>
    list.some((row) => row.event_type === type && row.view === view);
  for (const { event_type, view } of active)
    if (!args.wanted.some((w) => w.eventType === event_type && w.view === view))
      tx.run(
        "UPDATE subscriptions SET end_seq = ? WHERE consumer = ? AND event_type = ? AND view = ? AND end_seq IS NULL",
        head,
        consumer,
        event_type,
        view,
      );
  for (const { eventType, view } of args.wanted) {
    if (has(active, eventType, view)) continue;
    tx.run(
      "INSERT INTO subscriptions (consumer, event_type, view, start_seq) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET end_seq = NULL",
      consumer,
      eventType,
      view,
      start,
    );
    // Past events of a type that a known consumer adds lie under its mark: they are owed one by one.
    if (start < lowWater)
      tx.run(
        `INSERT INTO deliveries (consumer, seq, state, lane)
         SELECT ?, seq, 'parked', CASE WHEN order_key IS NULL THEN 't:' || event_type ELSE 'k:' || order_key END
         FROM events WHERE seq > ? AND seq <= ? AND (? = '*' OR event_type = ?) AND views & ? <> 0
           AND (? IS NULL OR source <> ?)
         ON CONFLICT (consumer, seq) DO NOTHING`,
        consumer,
        start,
        lowWater,
        eventType,
        eventType,
        view,
        deafTo,
        deafTo,
      );
  }
  return { lowWater, wasExpired };
});

/** Ends every subscription of a consumer at the head. What it was owed and has not had is forgiven: it said goodbye. */
export const unregisterConsumer = defineOperation<{ consumer: string; at: number }, { forgiven: number }>(
  "journal.unregister",
  (tx, { consumer }) => {
    const head = tx.get<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM events")!.seq;
    const low = tx.get<{ low_water: number }>("SELECT low_water FROM consumers WHERE consumer = ?", consumer);
    if (low === undefined) return { forgiven: 0 };
    tx.run("UPDATE deliveries SET state = 'expired' WHERE consumer = ? AND state IN ('parked', 'retrying')", consumer);
    tx.run(
      "UPDATE subscriptions SET end_seq = max(start_seq, ?) WHERE consumer = ? AND end_seq IS NULL",
      low.low_water,
      consumer,
    );
    tx.run("UPDATE consumers SET low_water = ? WHERE consumer = ?", head, consumer);
    return { forgiven: head - low.low_water };
  },
);

/** A sign of life; without one a consumer expires after its time. */
export const touchConsumers = defineOperation<{ consumers: readonly string[]; at: number }, void>(
  "journal.touch",
  (tx, { consumers, at }) => {
    for (const consumer of consumers) tx.run("UPDATE consumers SET last_seen_at = ? WHERE consumer = ?", at, consumer);
  },
);

/** Consumers that were away too long are owed nothing more; the caller says so loudly. */
export const expireConsumers = defineOperation<
  { silentSince: number; at: number },
  { consumer: string; owed: number }[]
>("journal.expire", (tx, { silentSince, at }) => {
  const head = tx.get<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM events")!.seq;
  const gone = tx.all<{ consumer: string; low_water: number }>(
    `SELECT consumer, low_water FROM consumers WHERE last_seen_at < ? AND expired_at IS NULL
       AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = consumers.consumer AND s.end_seq IS NULL)`,
    silentSince,
  );
  for (const { consumer, low_water } of gone) {
    tx.run("UPDATE consumers SET expired_at = ? WHERE consumer = ?", at, consumer);
    tx.run(
      "INSERT OR REPLACE INTO expirations (consumer, from_seq, to_seq, at) VALUES (?, ?, ?, ?)",
      consumer,
      low_water,
      head,
      at,
    );
    // A letter that was sent back and never taken is a letter again: it waits for somebody's decision.
    tx.run(
      `DELETE FROM deliveries WHERE consumer = ?
         AND seq IN (SELECT seq FROM dead_letters l WHERE l.consumer = deliveries.consumer AND l.status = 'retrying')`,
      consumer,
    );
    tx.run("UPDATE dead_letters SET status = 'pending' WHERE consumer = ? AND status = 'retrying'", consumer);
    tx.run("UPDATE deliveries SET state = 'expired' WHERE consumer = ? AND state IN ('parked', 'retrying')", consumer);
    tx.run("UPDATE subscriptions SET end_seq = ? WHERE consumer = ? AND end_seq IS NULL", head, consumer);
  }
  return gone.map(({ consumer, low_water }) => ({ consumer, owed: head - low_water }));
});
