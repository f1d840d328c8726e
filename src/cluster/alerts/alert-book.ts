import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import {
  ALERT_SEVERITIES,
  ALERT_STATUSES,
  type Alert,
  type AlertDelivery,
  type AlertSeverity,
  type AlertStatus,
} from "./alert.ts";
import { type AlertRow, decideAlert, type Recipient, snapshotOf } from "./alert-rows.ts";

export interface AlertFilter {
  readonly status?: AlertStatus | undefined;
  readonly severity?: AlertSeverity | undefined;
  readonly limit?: number | undefined;
}

/** Alerts for people: what there is, and their word on it. */
export interface AlertBook {
  /** Newest first. */
  list(filter?: AlertFilter): Alert[];
  get(id: string): Alert;
  /** How many are not closed, by severity. */
  counts(): Readonly<Record<AlertSeverity, number>>;
  acknowledge(id: string, actor: string, note?: string): Promise<Alert>;
  close(id: string, actor: string, note?: string): Promise<Alert>;
}

export interface AlertBookPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** Who is told of what people decide. */
  readonly recipients?: readonly Recipient[];
}

const MOST_LISTED = 1_000;
const MOST_DELIVERIES = 20;
const MOST_NOTE = 2_000;

const notFound = (id: string) =>
  new OperatingError("ALERT_NOT_FOUND", `there is no alert '${id.slice(0, 100)}'`, {
    hint: "Closed alerts are forgotten after 30 days.",
  });

export function alertBook({ store, clock, recipients = [] }: AlertBookPorts): AlertBook {
  const deliveriesOf = (id: string): AlertDelivery[] =>
    store
      .read<AlertDelivery>(
        `SELECT sink, status, coalesce(ended_at, created_at) / 1000.0 AS at, error FROM alert_outbox
         WHERE alert_id = ? ORDER BY id DESC LIMIT ?`,
        id,
        MOST_DELIVERIES,
      )
      .map(({ sink, status, at, error }) => ({ sink, status, at, error }))
      .reverse();
  const told = (row: AlertRow): Alert => ({ ...snapshotOf(row), deliveries: deliveriesOf(row.id) });
  const decide = async (id: string, decision: "acknowledge" | "close", by: string, note: string | undefined) => {
    const [row] = await store.commit([
      decideAlert({
        id,
        decision,
        by: by.slice(0, 200),
        note: note?.slice(0, MOST_NOTE),
        at: clock.now(),
        to: recipients,
      }),
    ]);
    if (row === undefined) throw notFound(id);
    if (decision === "acknowledge" && row.status === "closed")
      throw new OperatingError("ALERT_CLOSED", `alert '${id}' is closed`, { hint: "There is nothing to acknowledge." });
    return told(row);
  };
  return {
    list({ status, severity, limit = 100 } = {}) {
      const statuses = JSON.stringify(status === undefined ? ALERT_STATUSES : [status]);
      const severities = JSON.stringify(severity === undefined ? ALERT_SEVERITIES : [severity]);
      return store
        .read<AlertRow>(
          `SELECT * FROM alerts WHERE status IN (SELECT value FROM json_each(?))
             AND severity IN (SELECT value FROM json_each(?)) ORDER BY opened_at DESC, id DESC LIMIT ?`,
          statuses,
          severities,
          Math.max(0, Math.min(MOST_LISTED, Math.floor(limit))),
        )
        .map(told);
    },
    get(id) {
      const row = store.read<AlertRow>("SELECT * FROM alerts WHERE id = ?", id)[0];
      if (row === undefined) throw notFound(id);
      return told(row);
    },
    counts() {
      const found = store.read<{ severity: AlertSeverity; n: number }>(
        "SELECT severity, count(*) AS n FROM alerts WHERE status IN ('open', 'acknowledged') GROUP BY severity",
      );
      return {
        info: 0,
        warning: 0,
        error: 0,
        critical: 0,
        ...Object.fromEntries(found.map((row) => [row.severity, row.n])),
      };
    },
    acknowledge: (id, actor, note) => decide(id, "acknowledge", actor, note),
    close: (id, actor, note) => decide(id, "close", actor, note),
  };
}
