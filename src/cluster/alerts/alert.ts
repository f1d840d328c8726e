/** The words of alerts. Times in here are milliseconds since the epoch; only what sinks are told is in Unix seconds. */
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

/** What the life of an alert is decided on. */
export interface AlertState {
  readonly status: AlertStatus;
  readonly severity: AlertSeverity;
  readonly count: number;
  readonly opened_at: number;
  readonly last_seen_at: number;
  readonly closed_at: number | null;
  /** When it became as severe as it is. */
  readonly severe_since: number;
  /** 1: those who are told believe that it is bad. */
  readonly alarmed: number;
  /** When somebody was last told so. */
  readonly told_at: number | null;
  /** Reminders since it opened or became worse. */
  readonly reminders: number;
  /** Messages so far: numbers the transitions, so that each has a name of its own. */
  readonly messages: number;
}

/** An alert as it is stored. */
export interface AlertRow extends AlertState {
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly message: string;
  readonly event_type: string | null;
  readonly event_id: string | null;
  readonly subject: string | null;
  readonly due_at: number | null;
  readonly acknowledged_by: string | null;
  readonly closed_by: string | null;
  readonly note: string | null;
  /** Its AlertPolicy as JSON. */
  readonly policy: string;
}

/** Without what only the writer needs. */
export const shownOf = (row: AlertRow) => {
  const { severe_since, alarmed, told_at, reminders, messages, due_at, closed_by, note, policy, ...shown } = row;
  return shown;
};

/** What a sink is told of an alert, in Unix seconds: as it was at that moment, however late it arrives. */
export type AlertSnapshot = ReturnType<typeof shownOf>;

/** An alert as the book shows it. */
export interface Alert extends AlertSnapshot {
  readonly deliveries: readonly AlertDelivery[];
}

export interface AlertDelivery {
  readonly sink: string;
  readonly status: "pending" | "delivered" | "summarized" | "failed";
  readonly at: number;
  readonly error: string | null;
}
