/** What `/status` says, as far as commands read it. What a neighbour of another version leaves out is not there. */

export interface DaemonCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly last_transition_at: number;
}

export interface DaemonRow {
  readonly name: string;
  readonly state: string;
  readonly critical: boolean;
  readonly wanted: boolean;
  readonly depends_on: readonly string[];
  readonly paused: string | null;
  readonly started_at: number | null;
  readonly uptime_seconds: number;
  readonly restarts: number;
  readonly max_restarts: number;
  readonly restart_at: number | null;
  readonly last_error: string | null;
  readonly permanently_failed: string | null;
  readonly health: { readonly status: string; readonly message: string };
  readonly conditions: readonly DaemonCondition[];
}

export interface StatusReport {
  readonly version: string;
  readonly pid: number;
  readonly node_id: string;
  readonly uptime_seconds: number;
  readonly degraded: boolean;
  /** Its time is in milliseconds since the epoch. */
  readonly fault: { readonly code: string; readonly message: string; readonly since: number } | null;
  readonly router: {
    readonly total_events: number;
    readonly handler_failures: number;
    readonly open_breakers: readonly { readonly consumer: string; readonly event_type: string }[];
  };
  readonly journal: {
    readonly head: number;
    readonly bytes: number;
    readonly consumers: readonly {
      readonly consumer: string;
      readonly lag: number;
      readonly parked: number;
      readonly dead: number;
      readonly expired_at: number | null;
    }[];
  };
  readonly dead_letters: Readonly<Record<"pending" | "retrying" | "recovered" | "discarded", number>>;
  readonly readiness?: {
    readonly ready: boolean;
    readonly unsubscribed: readonly string[];
    readonly subscriptions: readonly { readonly event: string; readonly missing: readonly string[] }[];
  };
  readonly daemons?: readonly DaemonRow[];
}
