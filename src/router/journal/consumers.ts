import { OperatingError } from "../../kernel/index.ts";
import { insertRow } from "../sql-rows.ts";
import { defineOperation, type SqlRow, type Transaction } from "../store.port.ts";

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
  /** Who makes it, if there is a limit on how many that one may have. */
  readonly madeBy?: { readonly caller: string; readonly max: number } | undefined;
  readonly at: number;
}

export interface RegisteredConsumer {
  readonly lowWater: number;
  /** True when it had expired and begins anew: what it was owed before is lost to it. */
  readonly wasExpired: boolean;
}

const headOf = (tx: Transaction): number =>
  tx.get<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM events")!.seq;

export const LANE = "CASE WHEN order_key IS NULL THEN 't:' || event_type ELSE 'k:' || order_key END";

/** Whether the event `e` is or was owed to a consumer by any of its subscriptions, also those that have ended. */
const COVERED = `EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = :consumer AND s.event_type IN ('*', e.event_type)
  AND e.views & s.view <> 0 AND e.seq > s.start_seq AND (s.end_seq IS NULL OR e.seq <= s.end_seq))`;

/** Gives up what waits in the store, for some events or all: a letter that was sent back is a letter again. */
function giveUpWaiting(tx: Transaction, consumer: string, which: string, given: SqlRow = {}): void {
  const waiting = `consumer = :consumer AND seq IN (SELECT seq FROM deliveries WHERE consumer = :consumer
    AND state IN ('parked', 'retrying') AND seq IN (SELECT seq FROM events WHERE ${which}))`;
  const letters = "SELECT seq FROM dead_letters WHERE consumer = :consumer AND status = 'pending'";
  const values = { consumer, ...given };
  tx.run(`UPDATE dead_letters SET status = 'pending' WHERE status = 'retrying' AND ${waiting}`, values);
  tx.run(`DELETE FROM deliveries WHERE consumer = :consumer AND seq IN (${letters})`, { consumer });
  tx.run(`UPDATE deliveries SET state = 'expired' WHERE ${waiting}`, values);
}

/** Whose subscriptions change: it has had everything up to the mark. */
interface Owed {
  readonly consumer: string;
  readonly lowWater: number;
  readonly deafTo: string | null;
}

/** A type is not wanted any more: what was owed of it and not had yet ends here, pair by pair. */
function dropType(
  tx: Transaction,
  owed: Owed,
  { event_type, view }: { event_type: string; view: number },
  head: number,
  wanted: readonly Wanted[],
): void {
  const { consumer } = owed;
  tx.run(
    `UPDATE subscriptions SET end_seq = :head
     WHERE consumer = :consumer AND event_type = :event_type AND view = :view AND end_seq IS NULL`,
    { head, consumer, event_type, view },
  );
  if (wanted.some(({ eventType }) => eventType === "*")) return;
  const types = JSON.stringify(wanted.map(({ eventType }) => eventType));
  const which = `(:event_type = '*' OR event_type = :event_type)
    AND event_type NOT IN (SELECT value FROM json_each(:types))`;
  giveUpWaiting(tx, consumer, which, { event_type, types });
  tx.run(
    `INSERT INTO deliveries (consumer, seq, state, lane)
     SELECT :consumer, e.seq, 'expired', ${LANE} FROM events e
     WHERE e.seq > :lowWater AND e.seq <= :head AND (:deafTo IS NULL OR e.source <> :deafTo) AND ${which} AND ${COVERED}
       AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.consumer = :consumer AND l.seq = e.seq)
     ON CONFLICT (consumer, seq) DO NOTHING`,
    { ...owed, head, event_type, types },
  );
}

/** A new subscription. A pair that has ended stays so, also when a type is dropped and wanted again. */
function addType(tx: Transaction, owed: Owed, { eventType, view }: Wanted, from: number): void {
  const { consumer } = owed;
  let start = from;
  for (;;) {
    const taken = tx.get<{ end_seq: number }>(
      `SELECT end_seq FROM subscriptions
       WHERE consumer = :consumer AND event_type = :eventType AND view = :view AND start_seq = :start`,
      { consumer, eventType, view, start },
    );
    if (taken === undefined || taken.end_seq === start) break;
    // One that began here has ended: it keeps what it covered, and this one goes on from there.
    start = taken.end_seq;
  }
  // Past events of a type that a known consumer adds lie under its mark: they are owed one by one, if they never were.
  if (start < owed.lowWater)
    tx.run(
      `INSERT INTO deliveries (consumer, seq, state, lane)
       SELECT :consumer, e.seq, 'parked', ${LANE} FROM events e
       WHERE e.seq > :start AND e.seq <= :lowWater AND (:eventType = '*' OR e.event_type = :eventType)
         AND e.views & :view <> 0 AND (:deafTo IS NULL OR e.source <> :deafTo)
         AND NOT ${COVERED}
       ON CONFLICT (consumer, seq) DO NOTHING`,
      { ...owed, start, eventType, view },
    );
  insertRow(
    tx,
    "subscriptions",
    { consumer, event_type: eventType, view, start_seq: start },
    "ON CONFLICT DO UPDATE SET end_seq = NULL, expired_from = NULL",
  );
}

const MADE_BY = `SELECT c.consumer FROM consumers c WHERE c.made_by = ? AND c.consumer <> ?
  AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = c.consumer AND s.end_seq IS NULL) ORDER BY c.last_seen_at`;

/** Every consumer holds back what it was not given yet: one caller has only so many. Those that were forgotten do not count. */
function keepToMax(tx: Transaction, consumer: string, { caller, max }: NonNullable<RegisterArgs["madeBy"]>): void {
  const others = tx.all<{ consumer: string }>(MADE_BY, caller, consumer);
  if (others.length < max) return;
  throw OperatingError.busy(
    "TOO_MANY_CONSUMERS",
    `you have ${others.length} durable consumers, and ${max} are allowed (router.max_consumers)`,
    {
      hint: `Use one of them again, or ask an operator to remove one: DELETE /v1/consumers/${others[0]!.consumer} has been unused for the longest time.`,
    },
  );
}

/**
 * Makes the stored subscriptions of a consumer those that it wants now. New ones start where it says, dropped ones end at
 * the journal's head, so that for every event it stays known who was owed it.
 */
export const registerConsumer = defineOperation<RegisterArgs, RegisteredConsumer>("journal.register", (tx, args) => {
  const { consumer, kind, handlerVersion, deafTo, at, wanted } = args;
  const head = headOf(tx);
  const oldest = tx.get<{ seq: number }>("SELECT coalesce(min(seq), 1) AS seq FROM events")!.seq;
  const start = args.start === "now" ? head : oldest - 1;
  const known = tx.get<{ low_water: number; expired_at: number | null }>(
    "SELECT low_water, expired_at FROM consumers WHERE consumer = ?",
    consumer,
  );
  const active = tx.all<{ event_type: string; view: number }>(
    "SELECT event_type, view FROM subscriptions WHERE consumer = ? AND end_seq IS NULL",
    consumer,
  );
  if (args.madeBy !== undefined && active.length === 0) keepToMax(tx, consumer, args.madeBy);
  // Nothing is owed to one that had no subscription: it need not look at what lies before its start.
  const lowWater = known !== undefined && active.length > 0 ? known.low_water : Math.max(start, known?.low_water ?? 0);
  tx.run(
    `INSERT INTO consumers (consumer, kind, low_water, handler_version, deaf_to, created_at, last_seen_at, made_by)
     VALUES (:consumer, :kind, :lowWater, :handlerVersion, :deafTo, :at, :at, :caller)
     ON CONFLICT (consumer) DO UPDATE SET kind = excluded.kind, low_water = excluded.low_water,
       handler_version = excluded.handler_version, deaf_to = excluded.deaf_to, last_seen_at = excluded.last_seen_at,
       expired_at = NULL, made_by = coalesce(excluded.made_by, made_by)`,
    { consumer, kind, lowWater, handlerVersion, deafTo, at, caller: args.madeBy?.caller ?? null },
  );
  const of = { consumer, lowWater, deafTo };
  for (const had of active)
    if (!wanted.some(({ eventType, view }) => eventType === had.event_type && view === had.view))
      dropType(tx, of, had, head, wanted);
  for (const wants of wanted)
    if (!active.some(({ event_type, view }) => event_type === wants.eventType && view === wants.view))
      addType(tx, of, wants, start);
  return { lowWater, wasExpired: known !== undefined && known.expired_at !== null };
});

/** Ends every subscription of a consumer at the head. What it was owed and has not had is over for it. */
function endSubscriptions(tx: Transaction, consumer: string, lowWater: number, head: number): void {
  giveUpWaiting(tx, consumer, "1 = 1");
  tx.run(
    `UPDATE subscriptions SET end_seq = coalesce(end_seq, :head), expired_from = :lowWater
     WHERE consumer = :consumer AND expired_from IS NULL AND coalesce(end_seq, :head) > :lowWater`,
    { head, lowWater, consumer },
  );
  tx.run("UPDATE subscriptions SET end_seq = ? WHERE consumer = ? AND end_seq IS NULL", head, consumer);
  tx.run("UPDATE consumers SET low_water = ? WHERE consumer = ?", head, consumer);
}

/** A consumer says goodbye: what it has not had is forgiven. */
export const unregisterConsumer = defineOperation<{ consumer: string; at: number }, { forgiven: number }>(
  "journal.unregister",
  (tx, { consumer }) => {
    const head = headOf(tx);
    const low = tx.get<{ low_water: number }>("SELECT low_water FROM consumers WHERE consumer = ?", consumer);
    if (low === undefined) return { forgiven: 0 };
    endSubscriptions(tx, consumer, low.low_water, head);
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
  const head = headOf(tx);
  const gone = tx.all<{ consumer: string; low_water: number }>(
    `SELECT consumer, low_water FROM consumers WHERE last_seen_at < ? AND expired_at IS NULL
       AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = consumers.consumer AND s.end_seq IS NULL)`,
    silentSince,
  );
  for (const { consumer, low_water } of gone) {
    tx.run("UPDATE consumers SET expired_at = ? WHERE consumer = ?", at, consumer);
    endSubscriptions(tx, consumer, low_water, head);
  }
  return gone.map(({ consumer, low_water }) => ({ consumer, owed: head - low_water }));
});
