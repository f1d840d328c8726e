import { defineOperation, type Store } from "../store.port.ts";

export interface RetentionPolicy {
  /** Events older than this may go, in Unix seconds. */
  readonly olderThan: number;
  /** And the oldest ones while the journal is larger than this. */
  readonly maxBytes: number;
  /** How many rows one commit may delete, so that publishers never wait long. */
  readonly chunk: number;
}

/** What may go: nobody alive is owed it, no letter is about it, and it is not the last (whose number must not come again). */
const REMOVABLE = `
  seq <= (SELECT coalesce(min(low_water), (SELECT max(seq) FROM events)) FROM consumers c
          WHERE c.expired_at IS NULL
            AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = c.consumer AND s.end_seq IS NULL))
  AND seq < (SELECT max(seq) FROM events)
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = events.seq AND d.state IN ('parked', 'retrying'))
  AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.seq = events.seq AND l.status IN ('pending', 'retrying'))`;

/** Bytes in use, without pages that are free to be used again. */
export const journalBytes = (store: Pick<Store, "read">): number => {
  const one = (pragma: string) => Number(Object.values(store.read(`PRAGMA ${pragma}`)[0]!)[0]);
  return (one("page_count") - one("freelist_count")) * one("page_size");
};

/** Deletes one chunk of events that may go and are too old, or, when `tooLarge`, the oldest that may go. */
export const trimJournal = defineOperation<
  { olderThan: number; tooLarge: boolean; chunk: number },
  { deleted: number }
>("journal.trim", (tx, { olderThan, tooLarge, chunk }) => {
  const deleted = tx.run(
    `DELETE FROM events WHERE seq IN (
         SELECT seq FROM events WHERE ${REMOVABLE} AND (? OR timestamp < ?) ORDER BY seq LIMIT ?)`,
    tooLarge ? 1 : 0,
    olderThan,
    chunk,
  ).changes;
  const oldest = tx.get<{ seq: number | null }>("SELECT min(seq) AS seq FROM events")!.seq ?? 0;
  tx.run("DELETE FROM deliveries WHERE state IN ('done', 'expired') AND seq < ?", oldest);
  tx.run("DELETE FROM subscriptions WHERE end_seq IS NOT NULL AND end_seq < ?", oldest);
  // Who is owed nothing, and of whom nothing is told any more, is a stranger again.
  tx.run(
    `DELETE FROM consumers WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = consumers.consumer)
       AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.consumer = consumers.consumer)
       AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.consumer = consumers.consumer)`,
  );
  return { deleted };
});

export const trimDedup = defineOperation<{ before: number; chunk: number }, { deleted: number }>(
  "journal.trim_dedup",
  (tx, { before, chunk }) => ({
    deleted: tx.run(
      "DELETE FROM dedup WHERE dedup_key IN (SELECT dedup_key FROM dedup WHERE at < ? ORDER BY at LIMIT ?)",
      before,
      chunk,
    ).changes,
  }),
);

/** Runs chunk after chunk until the policy holds or nothing more may go. */
export async function enforceRetention(
  store: Store,
  policy: RetentionPolicy,
): Promise<{ deleted: number; bytes: number }> {
  let total = 0;
  for (;;) {
    const tooLarge = journalBytes(store) > policy.maxBytes;
    const [{ deleted }] = await store.commit([
      trimJournal({ olderThan: policy.olderThan, tooLarge, chunk: policy.chunk }),
    ]);
    total += deleted;
    if (deleted < policy.chunk) return { deleted: total, bytes: journalBytes(store) };
  }
}
