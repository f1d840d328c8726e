/**
 * The queue's own tables and the journal's, and the statements that a job's life needs, prepared and bound by hand: no
 * checks, no fairness, one connection on the caller's thread, and events that were made before the clock ran.
 */
import { createIds, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { journalModule } from "../../src/router/index.ts";
import { workModule } from "../../src/work/tables.ts";
import { databaseByHand, eventInsertOf } from "./support/by-hand.ts";

type Bound = readonly (string | number | null)[];

/** One job of the hand-written queue: what is bound in each of its three steps. */
interface HandJob {
  readonly seq: number;
  readonly lane: number;
  readonly job: Bound;
  readonly payload: string;
  readonly events: readonly [queued: Bound, claimed: Bound, completed: Bound];
}

export function byHand(path: string, configs: number) {
  const db = databaseByHand(path, [journalModule, workModule]);
  for (let lane = 1; lane <= configs; lane += 1)
    db.exec(`INSERT INTO work_lanes VALUES (${lane}, '${lane}', 'selfplay', 'hex${lane}_2p', '{}', NULL, '[]')`);
  const insertEvent = eventInsertOf(db);
  const insertJob = db.prepare(
    `INSERT INTO work_jobs (seq, lane, urgency, state, cost, timeout_ms, max_attempts, queued_at, ready_at, deadline,
       dedup_key, batch_id, requested_by, rev, attempts, returns, fence)
     VALUES (?, ?, 1, 'pending', 1, 3600000, 3, ?, ?, NULL, NULL, NULL, NULL, 1, 0, 0, 0)`,
  );
  const insertInput = db.prepare("INSERT INTO work_inputs (seq, payload) VALUES (?, ?)");
  const pending = db.prepare(
    "SELECT seq, attempts, fence FROM work_jobs WHERE state = 'pending' AND lane = ? AND urgency = 1 ORDER BY seq LIMIT ?",
  );
  const input = db.prepare("SELECT payload FROM work_inputs WHERE seq = ?");
  const claim = db.prepare(
    `UPDATE work_jobs SET rev = rev + 1, state = 'claimed', attempts = ?, fence = ?, node_id = ?, claimed_at = ?,
       started_at = NULL, beat_by = ?, expires_at = ?, progress = NULL, stop_reason = NULL, stop_by = NULL,
       lapsed_attempts = NULL
     WHERE seq = ? AND state = 'pending'`,
  );
  const complete = db.prepare(
    `UPDATE work_jobs SET rev = rev + 1, state = 'completed', finished_at = ?, outcome = ?
     WHERE seq = ? AND fence = ? AND node_id = ? AND state = 'claimed'`,
  );
  const outcome = JSON.stringify({
    counts: { games: 50 },
    outputs: [{ name: "games", sha256: "a".repeat(64), bytes: 4_096 }],
  });
  const ids = createIds(systemClock(), systemRandom());
  const at = 1_700_000_000_000;
  let made = 0;
  const event = (type: string, workId: string, payload: object): Bound => {
    const id = ids.uuid();
    const hash = `${ids.traceId()}${ids.traceId()}`;
    const text = JSON.stringify(payload);
    return [id, type, workId, text, at / 1_000, "work_store", "router", "bench", ids.traceId(), id, hash];
  };
  const makeJob = (): HandJob => {
    made += 1;
    const seq = made;
    const lane = (seq % configs) + 1;
    const work_id = `w${seq}`;
    const item = { config_key: `hex${lane}_2p`, work_id, work_type: "selfplay" };
    const held = { ...item, attempts: 1, node_id: "node-17" };
    return {
      seq,
      lane,
      job: [seq, lane, at, at],
      payload: JSON.stringify({ games: 50, seed: seq }),
      events: [
        event("WORK_QUEUED", work_id, { ...item, priority: 50, timeout_seconds: 3_600 }),
        event("WORK_CLAIMED", work_id, { ...held, expires_at: at / 1_000, fence: 1 }),
        event("WORK_COMPLETED", work_id, {
          ...held,
          artifact_hash: "a".repeat(64),
          duration_seconds: 0.01,
          result: JSON.parse(outcome),
        }),
      ],
    };
  };
  const within = (body: () => void) => {
    db.exec("BEGIN IMMEDIATE");
    body();
    db.exec("COMMIT");
  };
  return {
    rows: (times: number): HandJob[] => Array.from({ length: times }, makeJob),
    runAll(all: readonly HandJob[], batch: number) {
      for (let from = 0; from < all.length; from += batch) {
        const part = all.slice(from, from + batch);
        within(() => {
          for (const { seq, job, payload, events } of part) {
            insertJob.run(...job);
            insertInput.run(seq, payload);
            insertEvent.run(...events[0]);
          }
        });
        const lanes = Map.groupBy(part, ({ lane }) => lane);
        within(() => {
          for (const [lane, jobs] of lanes) {
            const found = pending.all(lane, jobs.length) as { seq: number; attempts: number; fence: number }[];
            for (const [i, { seq, attempts, fence }] of found.entries()) {
              input.get(seq);
              claim.run(attempts + 1, fence + 1, "node-17", at, at + 60_000, at + 3_600_000, seq);
              insertEvent.run(...jobs[i]!.events[1]);
            }
          }
        });
        within(() => {
          for (const { seq, events } of part) {
            if (complete.run(at, outcome, seq, 1, "node-17").changes !== 1) throw new Error("not held");
            insertEvent.run(...events[2]);
          }
        });
      }
    },
    close: () => db.close(),
  };
}
