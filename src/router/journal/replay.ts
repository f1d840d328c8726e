import { insertRow } from "../sql-rows.ts";
import { defineOperation, type Store } from "../store.port.ts";
import { LANE } from "./consumers.ts";

/** What shall be delivered to a consumer once more. Times are Unix seconds, as events have them. */
export interface ReplaySelection {
  readonly consumer: string;
  readonly since: number;
  readonly until?: number;
  /** Canonical names; all that it has asked for unless given. */
  readonly eventTypes?: readonly string[];
  readonly max: number;
}

export interface Replayable {
  readonly seq: number;
  readonly event_type: string;
  readonly timestamp: number;
}

/** Nothing of it waits already, and no letter of it does: those have their own way back. */
const NOT_WAITING = `NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.consumer = c.consumer AND d.seq = e.seq
    AND d.state IN ('parked', 'retrying'))
  AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.consumer = c.consumer AND l.seq = e.seq
    AND l.status IN ('pending', 'retrying'))`;

/**
 * Events that a consumer has behind it and still asks for, oldest first; one more than asked for says that there are more.
 * It goes through all of the journal, and so not on the main loop.
 */
export function scanReplayable(store: Pick<Store, "scan">, selection: ReplaySelection): Promise<readonly Replayable[]> {
  const { consumer, since, until = 9e15, eventTypes = [], max } = selection;
  const types = JSON.stringify(eventTypes);
  return store.scan<Replayable>(
    `SELECT e.seq, e.event_type, e.timestamp FROM consumers c JOIN events e ON e.seq <= c.low_water
     WHERE c.consumer = ? AND e.timestamp >= ? AND e.timestamp < ?
       AND (? = '[]' OR e.event_type IN (SELECT value FROM json_each(?)))
       AND (c.deaf_to IS NULL OR e.source <> c.deaf_to)
       AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.consumer = c.consumer AND s.end_seq IS NULL
         AND s.event_type IN ('*', e.event_type) AND e.views & s.view <> 0)
       AND ${NOT_WAITING}
     ORDER BY e.seq LIMIT ?`,
    [consumer, since, until, types, types, max + 1],
  );
}

/** Parks them for the consumer, each with all its tries; gives the lanes in which they wait. */
export const replayDeliveries = defineOperation<
  { consumer: string; seqs: readonly number[] },
  { lanes: string[]; events: number }
>("journal.replay", (tx, { consumer, seqs }) => {
  const lanes = new Set<string>();
  let events = 0;
  for (const seq of seqs) {
    const found = tx.get<{ lane: string }>(
      `SELECT ${LANE} AS lane FROM consumers c JOIN events e ON e.seq <= c.low_water
       WHERE c.consumer = ? AND e.seq = ? AND ${NOT_WAITING}`,
      consumer,
      seq,
    );
    // Trimmed, or sent back by somebody else meanwhile.
    if (found === undefined) continue;
    const { lane } = found;
    insertRow(
      tx,
      "deliveries",
      { consumer, seq, state: "parked", lane },
      "ON CONFLICT (consumer, seq) DO UPDATE SET state = 'parked', attempts = 0, next_at = 0, error = NULL",
    );
    lanes.add(lane);
    events += 1;
  }
  return { lanes: [...lanes], events };
});
