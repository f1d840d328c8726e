/** A data folder as it is after months: many jobs, events and artifacts, written by SQL, because the usual way takes long. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/store-modules.ts";

export interface LargeState {
  readonly jobs: number;
  readonly events: number;
  readonly artifacts: number;
  /** Rows of each other table that grows: letters, alerts, writes, matches, rounds and what was recorded of them. At most half the events. */
  readonly others: number;
  /** Whose games, rounds and models they are; hex8_2p unless said. */
  readonly configKey?: string;
  /** Machines that joined; one unless said. */
  readonly nodes?: number;
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

const CAPABILITIES = JSON.stringify({ cpu: 4, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [] });
const NODES = `${NUMBERS} INSERT INTO cluster_nodes (node_id, label, public_key, version, protocol, capabilities, incarnation, state,
    state_since, joined_at, joined_by, last_seen_at, draining)
  SELECT 'node' || i, 'box' || i, 'key' || i, '0.1.0', 1, '${CAPABILITIES}', 1, 'online', $now, $now, 'lab', $now, 0 FROM n`;

/** A consumer of another process that fell far behind, and failed on many events. */
const CONSUMER = `INSERT INTO consumers (consumer, kind, low_water, handler_version, created_at, last_seen_at)
  VALUES ('behind', 'process', 0, '1', $now, $now)`;
const SUBSCRIPTION = "INSERT INTO subscriptions VALUES ('behind', 'NEW_GAMES_AVAILABLE', 7, 0, NULL, NULL)";

/** Every table of its own kind, as SQL over the numbers 1 to n. */
const OTHERS = [
  `dead_letters (consumer, seq, event_id, event_type, lane, error, fingerprint, attempts, first_failed_at, last_failed_at,
    handler_version, status, resolved_at) SELECT 'behind', 2 * i, printf('%032x', 2 * i), 'NEW_GAMES_AVAILABLE', 'l' || i % 50, 'no ' || i % 9,
    'f' || i % 9, 5, $now, $now - i, '1', CASE WHEN i % 5 < 4 THEN 'pending' ELSE 'recovered' END, CASE WHEN i % 5 = 4 THEN $now END`,
  "deliveries (consumer, seq, state, lane) SELECT 'behind', 2 * i - 1, 'parked', 'l' || i % 50",
  "dedup SELECT 'NEW_GAMES_AVAILABLE:' || i, printf('%032x', i), $now / 1000.0, i % 3",
  `alerts (id, key, severity, status, title, message, subject, count, opened_at, last_seen_at, closed_at, severe_since, alarmed,
    reminders, messages, policy) SELECT 'a' || i, 'k' || i, CASE i % 4 WHEN 0 THEN 'info' WHEN 1 THEN 'warning' WHEN 2 THEN 'error'
    ELSE 'critical' END, CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'acknowledged' ELSE 'closed' END, 'old', 'still there', 'node1', 1,
    $now - i, $now, CASE WHEN i % 3 = 2 THEN $now END, $now, 1, 0, 1, '{}'`,
  `alert_outbox (sink, alert_id, transition, severity, body, status, attempts, created_at, ended_at)
    SELECT 'log', 'a' || i, 'opened 1', 'error', '{}', 'delivered', 1, $now, $now`,
  `health_errors (component, severity, error, event_type, event_id, at)
    SELECT 'unit' || i % 20, 'ERROR', 'no', 'HANDLER_FAILED', printf('%032x', i), $now`,
  `health_recoveries (node_id, action, begun_at, ended_at, worked) SELECT 'node' || i % 10, 'restart', $now, $now, 1`,
  `api_writes (at, actor, scope, method, path, status, request_id, came_from)
    SELECT $now, 'token:t' || i % 5, 'worker', 'POST', '/v1/work/claim', 200, 'r' || i, '127.0.0.1'`,
  `sync_past (sha256, work_id, kind, config_key, producer, counted, outcome, reason, at)
    SELECT printf('%064x', 1000000 + i), 'p' || i, 'games', 'hex8_2p', 'node' || i % 10, 4, 'freed', 'out of the window', $now`,
  `pipeline_history (config_key, iteration, stage, attempt, state, since, ended_at, outputs, evidence)
    SELECT 'hex8_2p', i, 'training', 1, 'done', $now, $now, '{}', '{}'`,
  `match_ledger (work_id, block, config_key, budget, purpose, candidate, opponent, opening, scores, at)
    SELECT 'm' || i, 0, 'hex8_2p', 'b', 'gate', ${HASH}, printf('%064x', i / 100), 'o', '[1,0]', $now`,
  `match_tallies SELECT 'hex8_2p', 'b', 'gate', ${HASH}, printf('%064x', i / 100), 1, 2, 1, 0, 1`,
  `gate_verdicts SELECT 'hex8_2p', i, 1, ${HASH}, printf('%064x', i - 1), 'b', 'reject', 'no', 1, 2, 0.5, '[0,0,1,0,0]', 0, 0, 10, 0.05,
    0.05, 1, 0, -10, 10, 0, $now`,
  `training_runs (config_key, iteration, attempt, job_id, work_id, model, model_bytes, inputs, fresh, steps, rows, losses, ended_at)
    SELECT 'hex8_2p', i, 1, 't' || i, 'w' || i, ${HASH}, 1000, '[]', 0, 1, 1, '{}', $now`,
  `model_registry (config_key, model, state, iteration, job_id, work_id, bytes, inputs, losses, created_at, updated_at)
    SELECT 'hex8_2p', ${HASH}, 'archived', i, 't' || i, 'w' || i, 1000, '[]', '{}', $now, $now`,
  `champion_history SELECT 'hex8_2p', i, ${HASH}, printf('%064x', i - 1), i, 'gate', 'auto_promotion', '{}', $now`,
];

/** Writes it into a folder on which nothing runs. */
export function fillLargeState(
  dataDir: string,
  { jobs, events, artifacts, others, configKey = "hex8_2p", nodes = 1 }: LargeState,
  now: number,
): string {
  const filled = (sql: string) => sql.replaceAll("$now", String(now)).replaceAll("hex8_2p", configKey);
  const path = join(dataDir, "coordination.db");
  openWriter(path, storeModules).close();
  using closing = new DisposableStack();
  const db = closing.adopt(new DatabaseSync(path), (open) => open.close());
  db.exec("PRAGMA synchronous = OFF; BEGIN");
  for (const [lane, kind] of [
    [1, "selfplay"],
    [2, "evaluation"],
  ] as const)
    db.prepare(filled("INSERT INTO work_lanes VALUES (?, ?, ?, 'hex8_2p', '{}', NULL, '[]')")).run(lane, kind, kind);
  for (const [sql, rows] of [
    [JOBS, jobs],
    [EVENTS, events],
    [ARTIFACTS, artifacts],
    [PRODUCED, artifacts],
    [NODES, nodes],
  ] as const)
    db.prepare(filled(sql)).run(rows);
  for (const sql of [CONSUMER, SUBSCRIPTION]) db.exec(filled(sql));
  for (const sql of OTHERS) db.prepare(`${NUMBERS} INSERT INTO ${filled(sql)} FROM n`).run(others);
  for (const entry of ["produced", "durable"])
    db.prepare(filled(`INSERT INTO sync_books VALUES ('hex8_2p', 'node1', '${entry}', '', ?)`)).run(artifacts * 4);
  db.exec("COMMIT");
  return path;
}
