/** Messages that wait to be sent, as rows: what is not delivered stays, however often the process ends. */
import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Store, type Transaction } from "../../router/store.port.ts";
import { ALERT_SEVERITIES, type AlertSeverity, type AlertSnapshot, isWorse } from "./alert.ts";
import type { Mute } from "./mute.ts";

export interface OutboxRow {
  readonly id: number;
  readonly sink: string;
  /** Null for a summary. */
  readonly alert_id: string | null;
  readonly transition: string;
  readonly severity: AlertSeverity;
  readonly body: string;
  readonly attempts: number;
}

export interface SinkState {
  readonly failures: number;
  /** Nothing is sent before this. */
  readonly next_at: number;
  readonly error: string | null;
}

/** Many messages in one. */
export interface AlertSummary {
  /** How many changes it stands for. */
  readonly changes: number;
  readonly by_severity: Readonly<Record<AlertSeverity, number>>;
  /** The worst of them, and only so many. */
  readonly alerts: readonly (Pick<AlertSnapshot, "id" | "severity" | "status" | "title"> & {
    readonly transition: string;
  })[];
}

const LISTED = 20;

/** Sums messages up, earlier summaries among them. */
export function summaryOf(
  rows: readonly Pick<OutboxRow, "alert_id" | "transition" | "severity" | "body">[],
): AlertSummary {
  const by_severity = { info: 0, warning: 0, error: 0, critical: 0 };
  const listed: AlertSummary["alerts"][number][] = [];
  let changes = 0;
  for (const { alert_id, transition, severity, body } of rows) {
    if (alert_id === null) {
      const inner = JSON.parse(body) as AlertSummary;
      changes += inner.changes;
      for (const each of ALERT_SEVERITIES) by_severity[each] += inner.by_severity[each];
      listed.push(...inner.alerts);
      continue;
    }
    const { id, status, title } = JSON.parse(body) as AlertSnapshot;
    changes += 1;
    by_severity[severity] += 1;
    listed.push({ id, severity, status, title, transition });
  }
  const worstFirst = listed.sort((a, b) =>
    isWorse(a.severity, b.severity) ? -1 : isWorse(b.severity, a.severity) ? 1 : 0,
  );
  return { changes, by_severity, alerts: worstFirst.slice(0, LISTED) };
}

/** Puts a message in line, unless the same one has been there. */
export const addMessage = (
  tx: Transaction,
  message: Omit<OutboxRow, "id" | "attempts"> & { readonly created_at: number },
) => insertRow(tx, "alert_outbox", { ...message, status: "pending", attempts: 0 }, "ON CONFLICT DO NOTHING");

/** Puts one summary in the place of all messages for a sink that were never tried. */
export const summarizeOutbox = defineOperation<{ sink: string; at: number }, void>(
  "alerts.summarize",
  (tx, { sink, at }) => {
    const rows = tx.all<OutboxRow>(
      "SELECT * FROM alert_outbox WHERE sink = ? AND status = 'pending' AND attempts = 0 ORDER BY id",
      sink,
    );
    const last = rows.at(-1);
    if (last === undefined || rows.length < 2) return;
    const summary = summaryOf(rows);
    const severity = ALERT_SEVERITIES.findLast((each) => summary.by_severity[each] > 0) ?? "info";
    tx.run(
      `UPDATE alert_outbox SET status = 'summarized', ended_at = NULL
       WHERE sink = ? AND status = 'pending' AND attempts = 0`,
      sink,
    );
    addMessage(tx, {
      sink,
      alert_id: null,
      transition: `summary-${last.id}`,
      severity,
      body: JSON.stringify(summary),
      created_at: at,
    });
  },
);

/** Says that a message is about to be sent: from here on it may have arrived, and keeps its name. */
export const beginDelivery = defineOperation<{ id: number }, void>("alerts.begin_delivery", (tx, { id }) => {
  tx.run("UPDATE alert_outbox SET attempts = attempts + 1 WHERE id = ?", id);
});

export type DeliveryOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly error: string; readonly nextAt: number }
  /** It will never be taken; others may. */
  | { readonly kind: "refused"; readonly error: string };

export const endDelivery = defineOperation<{ id: number; sink: string; at: number; outcome: DeliveryOutcome }, void>(
  "alerts.end_delivery",
  (tx, { id, sink, at, outcome }) => {
    const isDelivered = outcome.kind === "delivered";
    const error = isDelivered ? null : outcome.error;
    const status = isDelivered ? "delivered" : "failed";
    if (outcome.kind === "retry") tx.run("UPDATE alert_outbox SET error = ? WHERE id = ?", error, id);
    else tx.run("UPDATE alert_outbox SET status = ?, ended_at = ?, error = ? WHERE id = ?", status, at, error, id);
    const next_at = outcome.kind === "retry" ? outcome.nextAt : 0;
    insertRow(
      tx,
      "alert_sinks",
      { sink, failures: isDelivered ? 0 : 1, next_at, error, delivered_at: isDelivered ? at : null },
      `ON CONFLICT (sink) DO UPDATE SET failures = CASE WHEN excluded.failures = 0 THEN 0 ELSE failures + 1 END,
         next_at = excluded.next_at, error = excluded.error, delivered_at = coalesce(excluded.delivered_at, delivered_at)`,
    );
  },
);

/** Ends what waits for receivers that are no longer configured: nobody will ever take it. */
export const dropReceivers = defineOperation<{ keep: readonly string[]; at: number }, { dropped: number }>(
  "alerts.drop_receivers",
  (tx, { keep, at }) => {
    const gone = "sink NOT IN (SELECT value FROM json_each(?))";
    tx.run(`DELETE FROM alert_sinks WHERE ${gone}`, JSON.stringify(keep));
    const { changes } = tx.run(
      `UPDATE alert_outbox SET status = 'failed', ended_at = ?, error = 'the receiver is no longer configured'
       WHERE status = 'pending' AND ${gone}`,
      at,
      JSON.stringify(keep),
    );
    return { dropped: changes };
  },
);

export const sinkState = (store: Pick<Store, "read">, sink: string): SinkState =>
  store.read<SinkState>("SELECT failures, next_at, error FROM alert_sinks WHERE sink = ?", sink)[0] ?? {
    failures: 0,
    next_at: 0,
    error: null,
  };

/** The first message in line: one that was tried before goes first, since it may have arrived already. */
export const headOf = (store: Pick<Store, "read">, sink: string): OutboxRow | undefined =>
  store.read<OutboxRow>(
    `SELECT id, sink, alert_id, transition, severity, body, attempts FROM alert_outbox
     WHERE sink = ? AND status = 'pending' ORDER BY attempts > 0 DESC, id LIMIT 1`,
    sink,
  )[0];

export const waitingFor = (store: Pick<Store, "read">, sink: string): number =>
  store.read<{ n: number }>("SELECT count(*) AS n FROM alert_outbox WHERE sink = ? AND status = 'pending'", sink)[0]!.n;

/** How many that nobody has tried to send came within a time. */
export const heldBack = (store: Pick<Store, "read">, sink: string, { since, until }: Pick<Mute, "since" | "until">) =>
  store.read<{ n: number }>(
    `SELECT count(*) AS n FROM alert_outbox WHERE sink = ? AND status = 'pending' AND attempts = 0
     AND alert_id IS NOT NULL AND created_at >= ? AND created_at < ?`,
    sink,
    since,
    until,
  )[0]!.n;

/** When messages to a sink ended since a moment, oldest first. */
export const sentSince = (store: Pick<Store, "read">, sink: string, since: number): number[] =>
  store
    .read<{ ended_at: number }>(
      "SELECT ended_at FROM alert_outbox WHERE sink = ? AND ended_at > ? ORDER BY ended_at",
      sink,
      since,
    )
    .map(({ ended_at }) => ended_at);
