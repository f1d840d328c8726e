import type { DeadLetter, Store } from "../../../router/index.ts";
import type { DlqRetryLimits } from "../../limits.ts";

type Reader = Pick<Store, "read">;

/** The wait after the last failure before a letter is sent back once more. */
export const retryWaitMs = ({ firstMs, maxMs }: Pick<DlqRetryLimits, "firstMs" | "maxMs">, retries: number): number =>
  Math.min(maxMs, firstMs * 2 ** retries);

/** Letters that may be sent back now, the longest dead first. A consumer that is away gets none: it could not take them. */
export function dueLetters(
  store: Reader,
  policy: DlqRetryLimits,
  present: readonly string[],
  now: number,
  limit: number,
): DeadLetter[] {
  const due: DeadLetter[] = [];
  for (let retries = 0; retries < policy.maxRetries; retries += 1)
    due.push(
      ...store.read<DeadLetter>(
        `SELECT * FROM dead_letters
         WHERE status = 'pending' AND retry_count = ? AND last_failed_at <= ?
           AND consumer IN (SELECT value FROM json_each(?))
         ORDER BY last_failed_at, id LIMIT ?`,
        retries,
        now - retryWaitMs(policy, retries),
        JSON.stringify(present),
        limit,
      ),
    );
  return due.sort((a, b) => a.last_failed_at - b.last_failed_at || a.id - b.id).slice(0, limit);
}

/** Letters of one consumer, summed up. */
interface LetterGroup {
  readonly consumer: string;
  readonly letters: number;
  /** When the first of them failed first, in milliseconds since the epoch. */
  readonly oldest_at: number;
  readonly event_types: readonly string[];
}

const groups = (store: Reader, condition: string, ...params: number[]): LetterGroup[] =>
  store
    .read<Omit<LetterGroup, "event_types"> & { event_types: string }>(
      `SELECT consumer, count(*) AS letters, min(first_failed_at) AS oldest_at,
         group_concat(DISTINCT event_type) AS event_types
       FROM dead_letters WHERE ${condition} GROUP BY consumer ORDER BY letters DESC, consumer LIMIT 1000`,
      ...params,
    )
    .map((group) => ({ ...group, event_types: group.event_types.split(",").sort() }));

export const pendingByConsumer = (store: Reader): LetterGroup[] => groups(store, "status = 'pending'");

/** How many letters of one consumer wait, by their kept counts, and since when by the first of them; undefined if none does. */
export function pendingOf(store: Reader, consumer: string) {
  const [found] = store.read<{ pending: number; oldestAt: number }>(
    `SELECT (SELECT coalesce(sum(letters), 0) FROM dead_letter_counts WHERE consumer = ?1 AND status = 'pending') AS pending,
       (SELECT min(first_failed_at) FROM
         (SELECT first_failed_at FROM dead_letters WHERE consumer = ?1 AND status = 'pending' ORDER BY seq LIMIT 100)) AS oldestAt`,
    consumer,
  );
  return found === undefined || found.pending === 0 ? undefined : found;
}

/** Discarded letters that clean-up would delete. */
export const discardedBefore = (store: Reader, resolvedBefore: number): LetterGroup[] =>
  groups(store, "status = 'discarded' AND resolved_at < ?", resolvedBefore);

interface RecoveredLetter {
  readonly id: number;
  readonly consumer: string;
  readonly event_type: string;
}

/** Letters that were delivered in the end and are not among the rows of `table`, where the reported ones are noted. */
export const unreportedRecoveries = (store: Reader, table: string, limit: number): RecoveredLetter[] =>
  store.read<RecoveredLetter>(
    `SELECT id, consumer, event_type FROM dead_letters WHERE status = 'recovered'
       AND NOT EXISTS (SELECT 1 FROM state_rows s WHERE s.table_name = ? AND s.key = CAST(dead_letters.id AS TEXT))
     ORDER BY id LIMIT ?`,
    table,
    limit,
  );

/** Recovered letters that clean-up would delete. */
export const recoveredBefore = (store: Reader, resolvedBefore: number): number[] =>
  store
    .read<{ id: number }>(
      "SELECT id FROM dead_letters WHERE status = 'recovered' AND resolved_at < ? ORDER BY id",
      resolvedBefore,
    )
    .map(({ id }) => id);
