/**
 * Alerts and what is to be told of them, as rows. A step of an alert and the messages it asks for are one operation of the
 * writer: whoever raises it need not know what it was before, so that ten thousand handlers do not wait for each other.
 */
import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Transaction } from "../../router/store.port.ts";
import { type AlertPolicy, type AlertRow, type AlertSeverity, type AlertSnapshot, isWorse, shownOf } from "./alert.ts";
import { addMessage } from "./alert-outbox.ts";
import { acknowledge, age, close, dueAt, isSameTrouble, raise, type Step } from "./lifecycle.ts";

export const alertMigrations: readonly Migration[] = [
  {
    id: 1,
    name: "alerts, and messages to be sent",
    sql: `
      CREATE TABLE alerts (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL,
        severity TEXT NOT NULL,
        status TEXT NOT NULL,
        title TEXT NOT NULL,
        message TEXT NOT NULL,
        event_type TEXT,
        event_id TEXT,
        subject TEXT,
        count INTEGER NOT NULL,
        opened_at REAL NOT NULL,
        last_seen_at REAL NOT NULL,
        closed_at REAL,
        severe_since REAL NOT NULL,
        alarmed INTEGER NOT NULL,
        told_at REAL,
        reminders INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        due_at REAL,
        acknowledged_by TEXT,
        closed_by TEXT,
        note TEXT,
        policy TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX alerts_by_key ON alerts (key, opened_at);
      CREATE INDEX alerts_by_status ON alerts (status, opened_at);
      CREATE INDEX alerts_due ON alerts (due_at) WHERE due_at IS NOT NULL;
      CREATE TABLE alert_outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        sink TEXT NOT NULL,
        alert_id TEXT,
        transition TEXT NOT NULL,
        severity TEXT NOT NULL,
        body TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        created_at REAL NOT NULL,
        ended_at REAL,
        error TEXT
      ) STRICT;
      CREATE UNIQUE INDEX alert_outbox_once ON alert_outbox (sink, alert_id, transition);
      CREATE INDEX alert_outbox_by_status ON alert_outbox (sink, status, id);
      CREATE INDEX alert_outbox_by_alert ON alert_outbox (alert_id, id);
      CREATE INDEX alert_outbox_ended ON alert_outbox (sink, ended_at);
      CREATE TABLE alert_sinks (
        sink TEXT PRIMARY KEY,
        failures INTEGER NOT NULL,
        next_at REAL NOT NULL,
        error TEXT,
        delivered_at REAL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE alert_watches (
        rule TEXT NOT NULL,
        subject TEXT NOT NULL,
        seen_at REAL NOT NULL,
        quiet_ms REAL NOT NULL,
        raised INTEGER NOT NULL,
        PRIMARY KEY (rule, subject)
      ) STRICT, WITHOUT ROWID;
    `,
  },
];

/** Alerts by severity and status, kept instead of counted. */
export const alertCountsMigration = (id: number): Migration => ({
  id,
  name: "alerts by severity and status, kept instead of counted",
  sql: `
    CREATE TABLE alert_counts (
      severity TEXT NOT NULL,
      status TEXT NOT NULL,
      alerts INTEGER NOT NULL,
      PRIMARY KEY (severity, status)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX alerts_by_time ON alerts (opened_at, id);
    CREATE INDEX alerts_by_severity ON alerts (severity, opened_at, id);
    CREATE INDEX alerts_by_severity_and_status ON alerts (severity, status, opened_at, id);
    INSERT INTO alert_counts SELECT severity, status, count(*) FROM alerts GROUP BY severity, status;

    -- In the database, so that no statement can change an alert past its count. A step writes its row anew.
    CREATE TRIGGER alert_counts_add AFTER INSERT ON alerts BEGIN
      INSERT INTO alert_counts VALUES (NEW.severity, NEW.status, 1) ON CONFLICT DO UPDATE SET alerts = alerts + 1;
    END;
    CREATE TRIGGER alert_counts_move AFTER UPDATE OF severity, status ON alerts BEGIN
      UPDATE alert_counts SET alerts = alerts - 1 WHERE severity = OLD.severity AND status = OLD.status;
      INSERT INTO alert_counts VALUES (NEW.severity, NEW.status, 1) ON CONFLICT DO UPDATE SET alerts = alerts + 1;
    END;
    CREATE TRIGGER alert_counts_remove AFTER DELETE ON alerts BEGIN
      UPDATE alert_counts SET alerts = alerts - 1 WHERE severity = OLD.severity AND status = OLD.status;
    END;
  `,
});

/** Who is told, and from which severity up. */
export interface Recipient {
  readonly sink: string;
  readonly minSeverity: AlertSeverity;
}

const policyOf = ({ policy }: AlertRow) => JSON.parse(policy) as AlertPolicy;

/** As sinks are told it. */
const snapshotOf = (row: AlertRow): AlertSnapshot => ({
  ...shownOf(row),
  opened_at: row.opened_at / 1_000,
  last_seen_at: row.last_seen_at / 1_000,
  closed_at: row.closed_at === null ? null : row.closed_at / 1_000,
});

/** Writes an alert after a step, with what else changes, and the messages that the step asks for. */
function write(
  tx: Transaction,
  before: AlertRow,
  { state, transition }: Step,
  changes: Partial<AlertRow>,
  at: number,
  to: readonly Recipient[],
): void {
  const after = { ...before, ...state, ...changes };
  const row: AlertRow = {
    ...after,
    due_at: dueAt(state, policyOf(after)),
    acknowledged_by: state.status === "open" ? null : after.acknowledged_by,
    closed_by: state.status === "closed" ? after.closed_by : null,
  };
  tx.run("DELETE FROM alerts WHERE id = ?", row.id);
  insertRow(tx, "alerts", row);
  if (transition === null) return;
  const message = {
    alert_id: row.id,
    transition: `${transition}-${row.messages}`,
    severity: row.severity,
    body: JSON.stringify(snapshotOf(row)),
    created_at: at,
  };
  for (const { sink, minSeverity } of to) if (!isWorse(minSeverity, row.severity)) addMessage(tx, { sink, ...message });
}

const newest = (tx: Transaction, key: string) =>
  tx.get<AlertRow>("SELECT * FROM alerts WHERE key = ? ORDER BY opened_at DESC LIMIT 1", key);

export interface RaiseArgs
  extends Pick<AlertRow, "key" | "severity" | "title" | "message" | "event_type" | "event_id" | "subject"> {
  /** Becomes the alert's id if this opens one: the same for the same cause, however often it is tried. */
  readonly id: string;
  readonly policy: AlertPolicy;
  readonly at: number;
  readonly to: readonly Recipient[];
}

export const raiseAlert = defineOperation<RaiseArgs, void>("alerts.raise", (tx, args) => {
  const { key, id, severity, policy, at, to, title, message, event_type, event_id, subject } = args;
  const found = newest(tx, key);
  const same = found !== undefined && (found.status !== "closed" || isSameTrouble(found, at, policy));
  const step = raise(same ? found : null, severity, at, policy);
  const row = same ? found : ({ id, key, acknowledged_by: null, closed_by: null, note: null } as AlertRow);
  const news = { title, message, event_type, event_id, subject, policy: JSON.stringify(policy) };
  write(tx, row, step, news, at, to);
});

interface EndArgs {
  readonly at: number;
  readonly to: readonly Recipient[];
  /** Who closes it: an event, time, or a person. */
  readonly by: string;
  readonly note?: string | undefined;
}

/** Closes the open alert of a key, if there is one. */
export const closeAlertOf = defineOperation<EndArgs & { key: string }, void>(
  "alerts.close_key",
  (tx, { key, at, to, by }) => {
    const found = newest(tx, key);
    if (found !== undefined && found.status !== "closed") write(tx, found, close(found, at), { closed_by: by }, at, to);
  },
);

/** A person's word on an alert. Answers with how it is now; undefined where there is none. */
export const decideAlert = defineOperation<
  EndArgs & { id: string; decision: "acknowledge" | "close" },
  AlertRow | undefined
>("alerts.decide", (tx, { id, decision, at, to, by, note }) => {
  const found = tx.get<AlertRow>("SELECT * FROM alerts WHERE id = ?", id);
  if (found === undefined) return undefined;
  const noted = { note: note ?? found.note };
  if (decision === "close") write(tx, found, close(found, at), { ...noted, closed_by: found.closed_by ?? by }, at, to);
  else if (found.status === "open") write(tx, found, acknowledge(found, at), { ...noted, acknowledged_by: by }, at, to);
  return tx.get<AlertRow>("SELECT * FROM alerts WHERE id = ?", id);
});

/** Reminds, escalates and closes what is due by time. */
export const ageAlerts = defineOperation<{ now: number; max: number; to: readonly Recipient[] }, void>(
  "alerts.age",
  (tx, { now, max, to }) => {
    const due = tx.all<AlertRow>("SELECT * FROM alerts WHERE due_at <= ? ORDER BY due_at LIMIT ?", now, max);
    for (const row of due) {
      const step = age(row, now, policyOf(row));
      write(tx, row, step, step.state.status === "closed" ? { closed_by: "silence" } : {}, now, to);
    }
  },
);

/** Forgets alerts that closed long ago, and the oldest closed ones beyond a number; what is still to be told stays. */
export const forgetAlerts = defineOperation<
  { closedBefore: number; maxClosed: number; chunk: number },
  { deleted: number }
>("alerts.forget", (tx, { closedBefore, maxClosed, chunk }) => {
  const old = tx.all<{ id: string }>(
    `SELECT id FROM alerts WHERE status = 'closed'
         AND (closed_at < ? OR id NOT IN (SELECT id FROM alerts WHERE status = 'closed' ORDER BY opened_at DESC LIMIT ?))
         AND NOT EXISTS (SELECT 1 FROM alert_outbox o WHERE o.alert_id = alerts.id AND o.status = 'pending')
       ORDER BY opened_at LIMIT ?`,
    closedBefore,
    maxClosed,
    chunk,
  );
  for (const { id } of old) {
    tx.run("DELETE FROM alert_outbox WHERE alert_id = ?", id);
    tx.run("DELETE FROM alerts WHERE id = ?", id);
  }
  // One that went into a later summary never ended by itself.
  tx.run(
    "DELETE FROM alert_outbox WHERE alert_id IS NULL AND status <> 'pending' AND coalesce(ended_at, created_at) < ?",
    closedBefore,
  );
  return { deleted: old.length };
});
