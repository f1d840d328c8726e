/** Errors, components and repairs, as bounded rows that the writer keeps: no handler waits for another. */
import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store, type Transaction } from "../../router/store.port.ts";
import { breakerDefaults, type ComponentBreaker, closedBreaker, failed, worked } from "./component-breaker.ts";
import type { ErrorSeverity } from "./health-events.ts";

export const healthMigrations: readonly Migration[] = [
  {
    id: 2,
    name: "errors, components, nodes and repairs",
    sql: `
      CREATE TABLE health_errors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        component TEXT NOT NULL,
        severity TEXT NOT NULL,
        error TEXT NOT NULL,
        event_type TEXT NOT NULL,
        event_id TEXT NOT NULL,
        at REAL NOT NULL
      ) STRICT;
      CREATE INDEX health_errors_by_time ON health_errors (at);
      CREATE TABLE health_components (
        component TEXT PRIMARY KEY,
        breaker TEXT NOT NULL,
        critical INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        last_error TEXT,
        last_error_at REAL,
        changed_at REAL NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE health_nodes (
        node_id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        heard_at REAL NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE health_recoveries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        node_id TEXT NOT NULL,
        action TEXT NOT NULL,
        begun_at REAL NOT NULL,
        ended_at REAL,
        worked INTEGER
      ) STRICT;
      CREATE INDEX health_recoveries_by_node ON health_recoveries (node_id, id);
    `,
  },
];

/** How nodes do is kept by `node_health`. */
export const nodesElsewhereMigration = (id: number): Migration => ({
  id,
  name: "nodes are judged elsewhere",
  sql: "DROP TABLE health_nodes;",
});

const KEPT_ERRORS = 1_000;
const KEPT_RECOVERIES = 500;
const KEPT_COMPONENTS = 1_000;

export interface ComponentRow {
  readonly component: string;
  readonly breaker: string;
  readonly critical: number;
  readonly errors: number;
  readonly last_error: string | null;
  readonly last_error_at: number | null;
}

const breakerOf = (row: Pick<ComponentRow, "breaker"> | undefined): ComponentBreaker =>
  row === undefined ? closedBreaker : (JSON.parse(row.breaker) as ComponentBreaker);

const componentOf = (tx: Transaction, component: string) =>
  tx.get<ComponentRow>("SELECT * FROM health_components WHERE component = ?", component);

export interface FailureArgs {
  readonly component: string;
  readonly severity: ErrorSeverity;
  readonly error: string;
  readonly held: boolean;
  readonly event_type: string;
  readonly event_id: string;
  readonly at: number;
}

export const noteFailure = defineOperation<FailureArgs, void>(
  "health.failure",
  (tx, { component, severity, error, held, event_type, event_id, at }) => {
    const row = { component, severity, error, event_type, event_id, at };
    const { lastId } = insertRow(tx, "health_errors", row);
    tx.run("DELETE FROM health_errors WHERE id <= ?", lastId - KEPT_ERRORS);
    const before = componentOf(tx, component);
    // A warning is written down; it opens nothing, unless it says itself that it lasts.
    const breaker =
      severity === "warning" && !held ? breakerOf(before) : failed(breakerOf(before), at, held, breakerDefaults);
    tx.run(
      `INSERT INTO health_components (component, breaker, critical, errors, last_error, last_error_at, changed_at)
       VALUES (:component, :breaker, :critical, 1, :error, :at, :at)
       ON CONFLICT (component) DO UPDATE SET breaker = :breaker, critical = max(critical, :critical), errors = errors + 1,
         last_error = :error, last_error_at = :at, changed_at = :at`,
      { component, breaker: JSON.stringify(breaker), critical: held && severity === "critical" ? 1 : 0, error, at },
    );
    if (before === undefined)
      tx.run(
        `DELETE FROM health_components WHERE component IN
           (SELECT component FROM health_components ORDER BY changed_at DESC LIMIT -1 OFFSET ?)`,
        KEPT_COMPONENTS,
      );
  },
);

export const noteWell = defineOperation<{ component: string; at: number }, void>(
  "health.well",
  (tx, { component, at }) => {
    const before = componentOf(tx, component);
    if (before === undefined) return;
    const breaker = worked(breakerOf(before), at, breakerDefaults);
    const critical = breaker === closedBreaker ? 0 : before.critical;
    tx.run(
      `UPDATE health_components SET breaker = :breaker, critical = :critical, changed_at = :at
       WHERE component = :component`,
      { breaker: JSON.stringify(breaker), critical, at, component },
    );
  },
);

export const noteRecovery = defineOperation<
  { node_id: string; step: "begun" | "worked" | "failed"; action: string; at: number },
  void
>("health.recovery", (tx, { node_id, step, action, at }) => {
  const open = tx.get<{ id: number }>(
    "SELECT id FROM health_recoveries WHERE node_id = ? AND ended_at IS NULL ORDER BY id DESC LIMIT 1",
    node_id,
  );
  const hasWorked = step === "worked" ? 1 : 0;
  if (step !== "begun" && open !== undefined) {
    tx.run("UPDATE health_recoveries SET ended_at = ?, worked = ? WHERE id = ?", at, hasWorked, open.id);
    return;
  }
  const end = step === "begun" ? {} : { ended_at: at, worked: hasWorked };
  const { lastId } = insertRow(tx, "health_recoveries", { node_id, action, begun_at: at, ...end });
  tx.run("DELETE FROM health_recoveries WHERE id <= ?", lastId - KEPT_RECOVERIES);
});

type Reader = Pick<Store, "read">;

export const storedComponents = (store: Reader): (ComponentRow & { readonly state: ComponentBreaker })[] =>
  store
    .read<ComponentRow>("SELECT component, breaker, critical, errors, last_error, last_error_at FROM health_components")
    .map((row) => ({ ...row, state: breakerOf(row) }));

/** Errors since a moment: a critical one counts twice, a warning not at all. */
export const errorsSince = (store: Reader, since: number): number =>
  store.read<{ n: number | null }>(
    "SELECT sum(CASE severity WHEN 'critical' THEN 2 WHEN 'error' THEN 1 ELSE 0 END) AS n FROM health_errors WHERE at > ?",
    since,
  )[0]?.n ?? 0;

export interface RecoveryCounts {
  readonly succeeded: number;
  readonly failed: number;
  readonly under_way: number;
}

/** How repairs ended since a moment. One that began and told no end in time has failed. */
export function recoveriesSince(store: Reader, since: number, overdueBefore: number): RecoveryCounts {
  const [row] = store.read<Record<keyof RecoveryCounts, number | null>>(
    `SELECT sum(worked = 1) AS succeeded, sum(worked = 0 OR (ended_at IS NULL AND begun_at < ?2)) AS failed,
       sum(ended_at IS NULL AND begun_at >= ?2) AS under_way
     FROM health_recoveries WHERE begun_at > ?1`,
    since,
    overdueBefore,
  );
  return { succeeded: row?.succeeded ?? 0, failed: row?.failed ?? 0, under_way: row?.under_way ?? 0 };
}
