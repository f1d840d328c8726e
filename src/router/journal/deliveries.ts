import { defineOperation, type Transaction } from "../store.port.ts";

/** How far a consumer has come; every operation that ends an outstanding delivery carries it. */
export interface Mark {
  readonly consumer: string;
  /** Everything owed up to here is done or written down as an exception. */
  readonly lowWater: number;
  /** Rows of state 'done' at or under the mark are no longer needed, except where all around them has expired. */
  readonly sweepDone: boolean;
}

const moveMark = (tx: Transaction, { consumer, lowWater, sweepDone }: Mark): void => {
  tx.run("UPDATE consumers SET low_water = ? WHERE consumer = ? AND low_water < ?", lowWater, consumer, lowWater);
  if (sweepDone)
    tx.run(
      `DELETE FROM deliveries WHERE consumer = ?1 AND seq <= ?2 AND state = 'done'
         AND NOT EXISTS (SELECT 1 FROM subscriptions x WHERE x.consumer = ?1 AND deliveries.seq > x.expired_from
                         AND deliveries.seq <= x.end_seq)`,
      consumer,
      lowWater,
    );
};

export interface Acked {
  readonly seq: number;
  readonly lane: string;
  /** Whether `deliveries` holds a row for it that must go (parked, retrying), perhaps of a letter that was sent back. */
  readonly hasRow: boolean;
}

export interface AckArgs {
  readonly mark: Mark;
  readonly done: readonly Acked[];
  readonly at: number;
}

/** Done: the handler succeeded. Above the mark that needs a row, at or under it none. */
export const ackDeliveries = defineOperation<AckArgs, void>("journal.ack", (tx, { mark, done, at }) => {
  moveMark(tx, mark);
  for (const { seq, lane, hasRow } of done) {
    if (seq > mark.lowWater)
      tx.run(
        `INSERT INTO deliveries (consumer, seq, state, lane) VALUES (?, ?, 'done', ?)
         ON CONFLICT (consumer, seq) DO UPDATE SET state = 'done'`,
        mark.consumer,
        seq,
        lane,
      );
    else if (hasRow) tx.run("DELETE FROM deliveries WHERE consumer = ? AND seq = ?", mark.consumer, seq);
    if (hasRow)
      tx.run(
        `UPDATE dead_letters SET status = 'recovered', resolved_at = ?, resolved_by = 'retry'
         WHERE consumer = ? AND seq = ? AND status = 'retrying'`,
        at,
        mark.consumer,
        seq,
      );
  }
});

export interface Parked {
  readonly seq: number;
  readonly lane: string;
}

/** Set aside untried: behind a failing key, under an open breaker, or to let the mark move past a slow handler. */
export const parkDeliveries = defineOperation<{ mark: Mark; parked: readonly Parked[] }, void>(
  "journal.park",
  (tx, { mark, parked }) => {
    moveMark(tx, mark);
    for (const { seq, lane } of parked)
      tx.run(
        "INSERT INTO deliveries (consumer, seq, state, lane) VALUES (?, ?, 'parked', ?) ON CONFLICT (consumer, seq) DO NOTHING",
        mark.consumer,
        seq,
        lane,
      );
  },
);

export interface FailArgs {
  readonly mark: Mark;
  readonly seq: number;
  readonly lane: string;
  readonly attempts: number;
  /** Milliseconds since the epoch. */
  readonly nextAt: number;
  readonly at: number;
  readonly error: string;
  /** What waited behind it on the same key. */
  readonly parked: readonly Parked[];
}

/** One more try later. */
export const failDelivery = defineOperation<FailArgs, void>("journal.fail", (tx, args) => {
  const { mark, seq, lane, attempts, nextAt, at, error } = args;
  tx.run(
    `INSERT INTO deliveries (consumer, seq, state, lane, attempts, next_at, first_failed_at, error)
     VALUES (:consumer, :seq, 'retrying', :lane, :attempts, :nextAt, :at, :error)
     ON CONFLICT (consumer, seq) DO UPDATE SET state = 'retrying', attempts = excluded.attempts, next_at = excluded.next_at,
       first_failed_at = coalesce(first_failed_at, excluded.first_failed_at), error = excluded.error`,
    { consumer: mark.consumer, seq, lane, attempts, nextAt, at, error },
  );
  parkDeliveries.run(tx, { mark, parked: args.parked });
});

export interface DieArgs {
  readonly mark: Mark;
  readonly seq: number;
  readonly lane: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly attempts: number;
  readonly at: number;
  readonly error: string;
  readonly fingerprint: string;
  readonly handlerVersion: string;
}

/** The tries are spent: a dead letter of this consumer alone. A letter that failed again keeps its first time. */
export const buryDelivery = defineOperation<DieArgs, void>("journal.bury", (tx, args) => {
  const { mark, at, ...letter } = args;
  const { consumer } = mark;
  const waited = tx.get<{ failedFirst: number | null }>(
    "DELETE FROM deliveries WHERE consumer = ? AND seq = ? RETURNING first_failed_at AS failedFirst",
    consumer,
    args.seq,
  );
  tx.run(
    `INSERT INTO dead_letters (consumer, seq, event_id, event_type, lane, error, fingerprint, attempts, first_failed_at,
       last_failed_at, handler_version, status)
     VALUES (:consumer, :seq, :eventId, :eventType, :lane, :error, :fingerprint, :attempts, :failedFirst, :at,
       :handlerVersion, 'pending')
     ON CONFLICT (consumer, seq) DO UPDATE SET error = excluded.error, fingerprint = excluded.fingerprint,
       attempts = attempts + 1, last_failed_at = excluded.last_failed_at, handler_version = excluded.handler_version,
       status = 'pending', resolved_at = NULL, resolved_by = NULL`,
    { consumer, at, failedFirst: waited?.failedFirst ?? at, ...letter },
  );
  moveMark(tx, mark);
});
