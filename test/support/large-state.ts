/** A data folder as it is after months: many jobs, events and artifacts, written by SQL, because the usual way takes long. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/store-modules.ts";

export interface LargeState {
  readonly jobs: number;
  readonly events: number;
  readonly artifacts: number;
}

const NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
const HASH = "printf('%064x', i)";

/** Most jobs are done, by ten nodes in batches of a hundred; some wait, some failed. Times are milliseconds since the epoch. */
const JOBS = `${NUMBERS} INSERT INTO work_jobs (seq, rev, lane, urgency, state, cost, timeout_ms, max_attempts, attempts, returns,
    fence, queued_at, ready_at, node_id, claimed_at, started_at, finished_at, batch_id, outcome)
  SELECT i, 1, 1 + i % 2, 1, CASE WHEN i % 10 < 6 THEN 'completed' WHEN i % 10 = 6 THEN 'failed' ELSE 'pending' END, 1, 60000, 3, 1, 0,
    1, $now, $now, CASE WHEN i % 10 < 7 THEN 'node' || i % 10 END, $now, $now, CASE WHEN i % 10 < 7 THEN $now END,
    'batch' || i / 100, CASE WHEN i % 10 < 6 THEN '{"counts":{"games":4,"outcome_0":2,"outcome_1":2}}'
      WHEN i % 10 = 6 THEN '{"error":"no","error_code":null,"stderr_tail":null}' END FROM n`;

const EVENTS = `${NUMBERS} INSERT INTO events (seq, event_id, event_type, order_key, payload, payload_version, timestamp, source,
    origin, node_id, trace_id, correlation_id, content_hash, views)
  SELECT i, printf('%032x', i), 'NEW_GAMES_AVAILABLE', 'hex8_2p', json_object('config_key', 'hex8_2p', 'new_games', 1, 'total_games', i),
    1, $now / 1000.0, 'large', 'router', 'large', printf('%032x', i / 5), printf('%032x', i), ${HASH}, 7 FROM n`;

const ARTIFACTS = `${NUMBERS} INSERT INTO sync_artifacts (seq, sha256, kind, bytes, rows, games, counted, config_key, producer, work_id,
    iteration, state, created_at, idle_since, verified_at)
  SELECT i, ${HASH}, 'games', 1000, 0, 4, 4, 'hex8_2p', 'node' || i % 10, 'w' || i, i / 100, 'durable', $now, $now, $now FROM n`;

const PRODUCED = `${NUMBERS} INSERT INTO sync_produced (work_id, config_key, producer, games, at)
  SELECT 'w' || i, 'hex8_2p', 'node' || i % 10, 4, $now FROM n`;

const NODE = `INSERT INTO cluster_nodes (node_id, label, version, protocol, capabilities, incarnation, state, state_since, joined_at,
    joined_by, last_seen_at, draining) VALUES ('node1', 'box1', '0.1.0', 1, '{}', 1, 'online', $now, $now, 'local', $now, 0)`;

/** Writes it into a folder on which nothing runs. */
export function fillLargeState(dataDir: string, { jobs, events, artifacts }: LargeState, now: number): string {
  const path = join(dataDir, "coordination.db");
  openWriter(path, storeModules).close();
  using closing = new DisposableStack();
  const db = closing.adopt(new DatabaseSync(path), (open) => open.close());
  db.exec("PRAGMA synchronous = OFF; BEGIN");
  for (const [lane, kind] of [
    [1, "selfplay"],
    [2, "evaluation"],
  ] as const)
    db.prepare("INSERT INTO work_lanes VALUES (?, ?, ?, 'hex8_2p', '{}', NULL, '[]')").run(lane, kind, kind);
  for (const [sql, rows] of [
    [JOBS, jobs],
    [EVENTS, events],
    [ARTIFACTS, artifacts],
    [PRODUCED, artifacts],
  ] as const)
    db.prepare(sql.replaceAll("$now", String(now))).run(rows);
  db.exec(NODE.replaceAll("$now", String(now)));
  db.prepare("INSERT INTO sync_books VALUES ('hex8_2p', 'node1', 'produced', '', ?)").run(artifacts * 4);
  db.prepare("INSERT INTO sync_books VALUES ('hex8_2p', 'node1', 'durable', '', ?)").run(artifacts * 4);
  db.exec("COMMIT");
  return path;
}
