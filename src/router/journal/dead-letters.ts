import { PAGE_BYTES } from "../limits.ts";
import { insertRow } from "../sql-rows.ts";
import { conditions, defineOperation, type SqlValue, type Store, type Transaction } from "../store.port.ts";

export type DeadLetterStatus = "pending" | "retrying" | "recovered" | "discarded";

/** A letter with the event it is about, as it lies in the store. */
export interface DeadLetter {
  readonly id: number;
  readonly consumer: string;
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly lane: string;
  readonly error: string;
  readonly fingerprint: string;
  readonly attempts: number;
  readonly first_failed_at: number;
  readonly last_failed_at: number;
  readonly handler_version: string;
  readonly status: DeadLetterStatus;
  readonly retry_count: number;
  readonly resolved_at: number | null;
  readonly resolved_by: string | null;
}

/** Which letters an action or a list is about. Everything given must hold. */
export interface DeadLetterFilter {
  readonly id?: number;
  readonly eventId?: string;
  readonly consumer?: string;
  readonly eventType?: string;
  readonly fingerprint?: string;
  readonly status?: DeadLetterStatus;
  /** Failed last before this time, in milliseconds since the epoch. */
  readonly before?: number;
}

const where = (filter: DeadLetterFilter) =>
  conditions({
    "id = ?": filter.id,
    "event_id = ?": filter.eventId,
    "consumer = ?": filter.consumer,
    "event_type = ?": filter.eventType,
    "fingerprint = ?": filter.fingerprint,
    "status = ?": filter.status,
    "last_failed_at < ?": filter.before,
  });

interface Question {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

const listing = (filter: DeadLetterFilter, limit: number): Question => {
  const { sql, params } = where(filter);
  return {
    sql: `SELECT * FROM dead_letters WHERE ${sql} ORDER BY last_failed_at, id LIMIT ?`,
    params: [...params, limit],
  };
};

/** The longest dead first. It may look through all letters: for a writer, or a process that does nothing else. */
export const listDeadLetters = (
  reader: Pick<Store, "read"> | { read: Transaction["all"] },
  filter: DeadLetterFilter,
  limit: number,
): DeadLetter[] => {
  const { sql, params } = listing(filter, limit);
  return reader.read<DeadLetter>(sql, ...params);
};

/** What a letter takes beside its error. */
const LETTER_BYTES = 500;

/** The same, looked for beside the caller's thread, and no more than a page has bytes for. */
export async function scanDeadLetters(
  store: Pick<Store, "scan">,
  filter: DeadLetterFilter,
  limit: number,
): Promise<readonly DeadLetter[]> {
  const { sql, params } = listing(filter, limit);
  const rows = await store.scan<DeadLetter & { bytes: number }>(
    `SELECT * FROM (SELECT *, sum(octet_length(error) + ${LETTER_BYTES}) OVER (ORDER BY last_failed_at, id) AS bytes
       FROM (${sql})) WHERE bytes <= ${PAGE_BYTES} ORDER BY last_failed_at, id`,
    params,
  );
  return rows.map(({ bytes: _, ...letter }) => letter);
}

export interface DeadLetterGroup {
  readonly consumer: string;
  readonly event_type: string;
  readonly fingerprint: string;
  readonly letters: number;
  readonly error: string;
  readonly first_failed_at: number;
  readonly last_failed_at: number;
}

const grouping = (filter: DeadLetterFilter, limit: number): Question => {
  const { sql, params } = where(filter);
  return {
    sql: `SELECT consumer, event_type, fingerprint, count(*) AS letters, max(error) AS error,
       min(first_failed_at) AS first_failed_at, max(last_failed_at) AS last_failed_at
     FROM dead_letters WHERE ${sql} GROUP BY consumer, event_type, fingerprint ORDER BY letters DESC, consumer LIMIT ?`,
    params: [...params, limit],
  };
};

/** Letters with one cause, most first. For a process that does nothing else. */
export const groupDeadLetters = (
  store: Pick<Store, "read">,
  filter: DeadLetterFilter,
  limit: number,
): DeadLetterGroup[] => {
  const { sql, params } = grouping(filter, limit);
  return store.read<DeadLetterGroup>(sql, ...params);
};

/** The same, looked for beside the caller's thread. */
export const scanDeadLetterGroups = (
  store: Pick<Store, "scan">,
  filter: DeadLetterFilter,
  limit: number,
): Promise<readonly DeadLetterGroup[]> => {
  const { sql, params } = grouping(filter, limit);
  return store.scan<DeadLetterGroup>(sql, params);
};

export const countDeadLetters = (store: Pick<Store, "read">): Record<DeadLetterStatus, number> => {
  const counts = { pending: 0, retrying: 0, recovered: 0, discarded: 0 };
  for (const { status, n } of store.read<{ status: DeadLetterStatus; n: number }>(
    "SELECT status, sum(letters) AS n FROM dead_letter_counts GROUP BY status",
  ))
    counts[status] = n;
  return counts;
};

/** Letters that nobody has dealt with, by the name of their event, most first. */
export const unresolvedByType = (store: Pick<Store, "read">, limit: number) =>
  store.read<{ event_type: string; letters: number }>(
    `SELECT event_type, sum(letters) AS letters FROM dead_letter_counts WHERE status IN ('pending', 'retrying')
     GROUP BY event_type ORDER BY letters DESC, event_type LIMIT ?`,
    limit,
  );

export interface DeadLetterActionArgs {
  readonly filter: DeadLetterFilter;
  readonly max: number;
  readonly actor: string;
  readonly at: number;
}

/** Those that listen now, and their letters that are on their way to them. */
export interface Listening {
  readonly names: readonly string[];
  readonly inHand: readonly number[];
}

/** A letter goes back to a consumer that the journal knows, or to a listener that listens now. */
const within = ({ names, inHand }: Listening) => ({
  sql: `(consumer IN (SELECT consumer FROM consumers)
    OR consumer IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT value FROM json_each(?)))`,
  params: [JSON.stringify(names), JSON.stringify(inHand)],
});

/** Letters that can be sent back, in the order in which they failed. */
export const returnableLetters = (
  reader: Parameters<typeof listDeadLetters>[0],
  filter: DeadLetterFilter,
  listening: Listening,
  max: number,
): DeadLetter[] => {
  const chosen = where({ ...filter, status: "pending" });
  const { sql, params } = within(listening);
  return reader.read<DeadLetter>(
    `SELECT * FROM dead_letters WHERE ${chosen.sql} AND ${sql} ORDER BY last_failed_at, id LIMIT ?`,
    ...chosen.params,
    ...params,
    max,
  );
};

const record = (tx: Transaction, action: string, args: DeadLetterActionArgs, affected: number): void => {
  const { at, actor, filter, max } = args;
  const selection = JSON.stringify({ ...filter, most: max });
  insertRow(tx, "dead_letter_actions", { at, actor, action, selection, affected });
};

/** Sends letters back to the consumer that failed, and to nobody else: each is parked there for one more try. */
export const retryDeadLetters = defineOperation<
  DeadLetterActionArgs & { attempts: number; listening: Listening },
  DeadLetter[]
>("journal.retry_dead", (tx, args) => {
  const letters = returnableLetters({ read: tx.all }, args.filter, args.listening, args.max);
  for (const { id, consumer } of letters) {
    // A listener has no place in the journal: its letter stays what it is until the listener has succeeded.
    if (args.listening.names.includes(consumer)) {
      tx.run("UPDATE dead_letters SET retry_count = retry_count + 1 WHERE id = ?", id);
      continue;
    }
    tx.run("UPDATE dead_letters SET status = 'retrying', retry_count = retry_count + 1 WHERE id = ?", id);
    tx.run(
      `INSERT INTO deliveries (consumer, seq, state, lane, attempts, next_at, first_failed_at, error)
         SELECT consumer, seq, 'retrying', lane, ?, ?, first_failed_at, error FROM dead_letters WHERE id = ?
         ON CONFLICT (consumer, seq) DO NOTHING`,
      args.attempts,
      args.at,
      id,
    );
  }
  record(tx, "retry", args, letters.length);
  return letters;
});

/** A listener has had the event once more, and succeeded. */
export const recoverDeadLetter = defineOperation<{ id: number; at: number }, void>(
  "journal.recover_dead",
  (tx, { id, at }) => {
    tx.run(
      "UPDATE dead_letters SET status = 'recovered', resolved_at = ?, resolved_by = 'retry' WHERE id = ? AND status = 'pending'",
      at,
      id,
    );
  },
);

/** Gives letters up for good, by somebody's decision and on record. */
export const discardDeadLetters = defineOperation<DeadLetterActionArgs, DeadLetter[]>(
  "journal.discard_dead",
  (tx, args) => {
    const letters = listDeadLetters({ read: tx.all }, { ...args.filter, status: "pending" }, args.max);
    const discard = "UPDATE dead_letters SET status = 'discarded', resolved_at = ?, resolved_by = ? WHERE id = ?";
    for (const { id } of letters) tx.run(discard, args.at, args.actor, id);
    record(tx, "discard", args, letters.length);
    return letters;
  },
);

/** Forgets letters that were resolved long ago. Unresolved ones are never deleted. */
export const sweepDeadLetters = defineOperation<{ resolvedBefore: number }, { deleted: number }>(
  "journal.sweep_dead",
  (tx, { resolvedBefore }) => ({
    deleted: tx.run(
      "DELETE FROM dead_letters WHERE status IN ('recovered', 'discarded') AND resolved_at < ?",
      resolvedBefore,
    ).changes,
  }),
);
