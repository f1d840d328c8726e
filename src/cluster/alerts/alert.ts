/** The words of alerts. Times in here are milliseconds since the epoch; the book tells them in Unix seconds. */
export const ALERT_SEVERITIES = ["info", "warning", "error", "critical"] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

export const ALERT_STATUSES = ["open", "acknowledged", "closed"] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

const rank = (severity: AlertSeverity): number => ALERT_SEVERITIES.indexOf(severity);

export const isWorse = (one: AlertSeverity, other: AlertSeverity): boolean => rank(one) > rank(other);

export const worse = (one: AlertSeverity, other: AlertSeverity): AlertSeverity => (isWorse(other, one) ? other : one);

/** One step up, as far as `worst`. */
export const stepUp = (severity: AlertSeverity, worst: AlertSeverity): AlertSeverity =>
  isWorse(worst, severity) ? ALERT_SEVERITIES[rank(severity) + 1]! : severity;

/** How an alert behaves while it lives. It travels with its row, so that the writer needs no other knowledge. */
export interface AlertPolicy {
  /** Pause between the first message and the reminder; it doubles from reminder to reminder, up to a day. */
  readonly coolDownMs: number;
  /** Open and unacknowledged for so long, it becomes one step worse, again and again; null for never. */
  readonly escalateAfterMs: number | null;
  /** At each of these counts it becomes one step worse. */
  readonly escalateAtCounts: readonly number[];
  /** It never becomes worse than this by itself. */
  readonly worst: AlertSeverity;
  /** It closes by itself when it was not seen for so long; null for never. */
  readonly closeAfterSilenceMs: number | null;
}

/** An alert as the API and the commands tell it; times in Unix seconds. */
export interface Alert {
  readonly id: string;
  readonly key: string;
  readonly severity: AlertSeverity;
  readonly status: AlertStatus;
  readonly title: string;
  readonly message: string;
  readonly event_type: string | null;
  readonly event_id: string | null;
  readonly subject: string | null;
  readonly opened_at: number;
  readonly last_seen_at: number;
  readonly count: number;
  readonly closed_at: number | null;
  readonly acknowledged_by: string | null;
  readonly deliveries: readonly AlertDelivery[];
}

export interface AlertDelivery {
  readonly sink: string;
  readonly status: "pending" | "delivered" | "summarized" | "failed";
  readonly at: number;
  readonly error: string | null;
}

/** What a sink is told of an alert: as it was at that moment, however late it arrives. */
export type AlertSnapshot = Omit<Alert, "deliveries">;
