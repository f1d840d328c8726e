/**
 * Alerts and what is to be told of them, as rows. A step of an alert and the messages it asks for are one operation of the
 * writer: whoever raises it need not know what it was before, so that ten thousand handlers do not wait for each other.
 */
import { defineOperation, type Migration, type Transaction } from "../../router/index.ts";
import { type AlertPolicy, type AlertSeverity, type AlertSnapshot, type AlertStatus, isWorse } from "./alert.ts";
import { type AlertState, acknowledge, age, close, dueAt, isSameTrouble, raise, type Step } from "./lifecycle.ts";

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

export interface AlertRow {
  readonly id: string;
  readonly key: string;
  readonly severity: AlertSeverity;
  readonly status: AlertStatus;
  readonly title: string;
  readonly message: string;
  readonly event_type: string | null;
  readonly event_id: string | null;
  readonly subject: string | null;
  readonly count: number;
  readonly opened_at: number;
  readonly last_seen_at: number;
  readonly closed_at: number | null;
  readonly severe_since: number;
  readonly alarmed: number;
  readonly told_at: number | null;
  readonly reminders: number;
  readonly messages: number;
  readonly due_at: number | null;
  readonly acknowledged_by: string | null;
  readonly closed_by: string | null;
  readonly note: string | null;
  readonly policy: string;
}

/** Who is told, and from which severity up. */
export interface Recipient {
  readonly sink: string;
  readonly least: AlertSeverity;
}

/** Repeats and changes by people keep what they do not know. */
type Words = Pick<AlertRow, "title" | "message" | "event_type" | "event_id" | "subject">;

const stateOf = (row: AlertRow): AlertState => ({
  status: row.status,
  severity: row.severity,
  count: row.count,
  openedAt: row.opened_at,
  lastSeenAt: row.last_seen_at,
  closedAt: row.closed_at,
  severeSince: row.severe_since,
  alarmed: row.alarmed === 1,
  toldAt: row.told_at,
  reminders: row.reminders,
  messages: row.messages,
});

const inSeconds = (ms: number): number => ms / 1_000;

/** An alert in Unix seconds, without how it was delivered. */
export const snapshotOf = (row: AlertRow): AlertSnapshot => ({
  id: row.id,
  key: row.key,
  severity: row.severity,
  status: row.status,
  title: row.title,
  message: row.message,
  event_type: row.event_type,
  event_id: row.event_id,
  subject: row.subject,
  opened_at: inSeconds(row.opened_at),
  last_seen_at: inSeconds(row.last_seen_at),
  count: row.count,
  closed_at: row.closed_at === null ? null : inSeconds(row.closed_at),
  acknowledged_by: row.acknowledged_by,
});

/** Writes an alert after a step, and the messages that the step asks for. */
function write(tx: Transaction, before: AlertRow, { state, told }: Step, at: number, to: readonly Recipient[]): void {
  const policy = JSON.parse(before.policy) as AlertPolicy;
  const row: AlertRow = {
    ...before,
    status: state.status,
    severity: state.severity,
    count: state.count,
    opened_at: state.openedAt,
    last_seen_at: state.lastSeenAt,
    closed_at: state.closedAt,
    severe_since: state.severeSince,
    alarmed: state.alarmed ? 1 : 0,
    told_at: state.toldAt,
    reminders: state.reminders,
    messages: state.messages,
    due_at: dueAt(state, policy),
    acknowledged_by: state.status === "open" ? null : before.acknowledged_by,
    closed_by: state.status === "closed" ? before.closed_by : null,
  };
  const columns = Object.keys(row);
  tx.run(
    `INSERT OR REPLACE INTO alerts (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...(Object.values(row) as (string | number | null)[]),
  );
  if (told === null) return;
  const body = JSON.stringify(snapshotOf(row));
  for (const { sink, least } of to)
    if (!isWorse(least, row.severity))
      tx.run(
        `INSERT OR IGNORE INTO alert_outbox (sink, alert_id, transition, severity, body, status, attempts, created_at)
         VALUES (?, ?, ?, ?, ?, 'pending', 0, ?)`,
        sink,
        row.id,
        `${told}-${row.messages}`,
        row.severity,
        body,
        at,
      );
}

const newest = (tx: Transaction, key: string) =>
  tx.get<AlertRow>("SELECT * FROM alerts WHERE key = ? ORDER BY opened_at DESC LIMIT 1", key);

export interface RaiseArgs extends Words {
  readonly key: string;
  /** Becomes the alert's id if this opens one: the same for the same cause, however often it is tried. */
  readonly id: string;
  readonly severity: AlertSeverity;
  readonly policy: AlertPolicy;
  readonly at: number;
  readonly to: readonly Recipient[];
}

export const raiseAlert = defineOperation<RaiseArgs, { id: string }>("alerts.raise", (tx, args) => {
  const { key, id, severity, policy, at, to, title, message, event_type, event_id, subject } = args;
  const found = newest(tx, key);
  const same = found !== undefined && (found.status !== "closed" || isSameTrouble(stateOf(found), at, policy));
  const step = raise(same ? stateOf(found) : null, severity, at, policy);
  const blank = { acknowledged_by: null, closed_by: null, note: null };
  const row = { ...(same ? found : { ...blank, id, key }), title, message, event_type, event_id, subject } as AlertRow;
  write(tx, { ...row, policy: JSON.stringify(policy) }, step, at, to);
  return { id: row.id };
});

interface EndArgs {
  readonly at: number;
  readonly to: readonly Recipient[];
  /** Who closes it: an event, time, or a person. */
  readonly by: string;
  readonly note?: string | undefined;
}

/** Closes the open alert of a key, if there is one. */
export const closeAlertOf = defineOperation<EndArgs & { key: string }, { closed: boolean }>(
  "alerts.close_key",
  (tx, { key, at, to, by }) => {
    const found = newest(tx, key);
    if (found === undefined || found.status === "closed") return { closed: false };
    write(tx, { ...found, closed_by: by }, close(stateOf(found), at), at, to);
    return { closed: true };
  },
);

/** A person's word on an alert. Answers with how it is now; undefined where there is none. */
export const decideAlert = defineOperation<
  EndArgs & { id: string; decision: "acknowledge" | "close" },
  AlertRow | undefined
>("alerts.decide", (tx, { id, decision, at, to, by, note }) => {
  const found = tx.get<AlertRow>("SELECT * FROM alerts WHERE id = ?", id);
  if (found === undefined) return undefined;
  const noted = { ...found, note: note ?? found.note };
  if (decision === "close")
    write(tx, { ...noted, closed_by: found.closed_by ?? by }, close(stateOf(found), at), at, to);
  else if (found.status === "open")
    write(tx, { ...noted, acknowledged_by: by }, acknowledge(stateOf(found), at), at, to);
  return tx.get<AlertRow>("SELECT * FROM alerts WHERE id = ?", id);
});

/** Reminds, escalates and closes what is due by time. */
export const ageAlerts = defineOperation<{ now: number; most: number; to: readonly Recipient[] }, { aged: number }>(
  "alerts.age",
  (tx, { now, most, to }) => {
    const due = tx.all<AlertRow>("SELECT * FROM alerts WHERE due_at <= ? ORDER BY due_at LIMIT ?", now, most);
    for (const row of due) {
      const step = age(stateOf(row), now, JSON.parse(row.policy) as AlertPolicy);
      write(tx, step.state.status === "closed" ? { ...row, closed_by: "silence" } : row, step, now, to);
    }
    return { aged: due.length };
  },
);

/** Forgets alerts that closed long ago, and the oldest closed ones beyond a number; what is still to be told stays. */
export const forgetAlerts = defineOperation<
  { closedBefore: number; mostClosed: number; chunk: number },
  { deleted: number }
>("alerts.forget", (tx, { closedBefore, mostClosed, chunk }) => {
  const old = tx.all<{ id: string }>(
    `SELECT id FROM alerts WHERE status = 'closed'
         AND (closed_at < ? OR id NOT IN (SELECT id FROM alerts WHERE status = 'closed' ORDER BY opened_at DESC LIMIT ?))
         AND NOT EXISTS (SELECT 1 FROM alert_outbox o WHERE o.alert_id = alerts.id AND o.status = 'pending')
       ORDER BY opened_at LIMIT ?`,
    closedBefore,
    mostClosed,
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
