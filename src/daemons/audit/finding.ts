export const SEVERITIES = ["critical", "high", "medium", "low"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Stable names: reports are compared and filtered by them. */
export type FindingKind =
  | "orphan"
  | "dead_subscription"
  | "unbridged"
  | "provisional_emitted"
  | "strict_unemitted"
  | "unknown_event"
  | "duplicate_name"
  | "duplicate_alias"
  | "shared_table"
  | "dependency_circle"
  | "missing_dependency"
  | "layer_order"
  | "busy_placeholder"
  | "no_subscriptions"
  | "broken_delegation"
  | "lost_tie"
  | "open_rows_grew"
  | "stale_excuse"
  | "write_only"
  | "never_seen"
  | "undeclared_emission"
  | "not_subscribed"
  | "stray_consumer";

export interface Finding {
  readonly kind: FindingKind;
  readonly severity: Severity;
  /** Whether it makes the audit fail while no reason is written down. */
  readonly fails: boolean;
  readonly event: string | null;
  readonly units: readonly string[];
  /** What is the matter, in one sentence. */
  readonly message: string;
  /** What to do, in one sentence. */
  readonly action: string;
  /** The written reason why it is right as it is. */
  readonly excuse: string | null;
}

/** One that fails the audit while nobody excuses it, unless it says otherwise. */
export const finding = (
  kind: FindingKind,
  severity: Severity,
  about: Partial<Pick<Finding, "event" | "units" | "fails">>,
  message: string,
  action: string,
): Finding => ({ kind, severity, fails: true, event: null, units: [], message, action, excuse: null, ...about });
