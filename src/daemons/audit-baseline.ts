import { builtinRows, type Rows } from "../events/index.ts";
import { type Finding, finding } from "./finding.ts";
import type { Registry } from "./registry.ts";
import { tiesOf } from "./wiring.ts";

/**
 * What the wiring is known to hold. An event with ten consumers is still heard when one of them is lost, so the graph alone
 * does not notice; what was written down does. It follows the code: a test fails when the two differ.
 */
export interface AuditBaseline {
  /** Built-in rows without emitter and consumer. This may only become less. */
  readonly openRows: number;
  /** By unit or part. */
  readonly ties: Readonly<Record<string, { readonly emits: readonly string[]; readonly hears: readonly string[] }>>;
}

/** The baseline that a registry would have. */
export function baselineOf(registry: Registry<Rows>): AuditBaseline {
  const open = tiesOf(registry).filter(
    ({ event, emitters, consumers }) =>
      Object.hasOwn(builtinRows, event) && emitters.length === 0 && consumers.length === 0,
  );
  const ties: Record<string, { emits: string[]; hears: string[] }> = {};
  for (const { name, emits } of registry.parts) ties[name] = { emits: [...emits].sort(), hears: [] };
  for (const { name, emits, hears } of registry.units)
    ties[name] = { emits: [...emits].sort(), hears: [...hears].sort() };
  return { openRows: open.length, ties };
}

/** Ties that were written down and are gone, and open rows that became more. */
export function againstBaseline(registry: Registry<Rows>, open: readonly string[], baseline: AuditBaseline): Finding[] {
  const live = new Map<string, { emits: readonly string[]; hears: readonly string[] }>();
  for (const { name, emits } of registry.parts) live.set(name, { emits, hears: [] });
  for (const { name, emits, hears } of registry.units) live.set(name, { emits, hears });
  const lost = Object.entries(baseline.ties).flatMap(([name, ties]) =>
    (["emits", "hears"] as const).flatMap((verb) =>
      ties[verb]
        .filter((event) => !live.get(name)?.[verb].includes(event))
        .map((event) =>
          finding(
            "lost_tie",
            "high",
            { event, units: [name] },
            `'${name}' no longer ${verb} it.`,
            "Restore it, or take it out of the baseline in the same change.",
          ),
        ),
    ),
  );
  const grown = open.length > baseline.openRows;
  const more = finding(
    "open_rows_grew",
    "high",
    {},
    `${open.length} rows have neither emitter nor consumer; at most ${baseline.openRows} may.`,
    "Wire the new rows, or restore the ties that were cut.",
  );
  return grown ? [...lost, more] : lost;
}

/** The wiring of the units and parts that exist. */
export const auditBaseline: AuditBaseline = {
  openRows: 186,
  ties: {
    router: {
      emits: ["HANDLER_FAILED", "HANDLER_TIMEOUT"],
      hears: [],
    },
    unit_runtime: {
      emits: ["COORDINATOR_HEARTBEAT", "ERROR"],
      hears: [],
    },
    daemon_manager: {
      emits: ["DAEMON_CRASH_LOOP_DETECTED", "DAEMON_PERMANENTLY_FAILED", "DAEMON_STARTED", "DAEMON_STOPPED", "ERROR"],
      hears: [],
    },
    bootstrap: {
      emits: ["COORDINATOR_HEALTHY", "COORDINATOR_INIT_FAILED", "COORDINATOR_SHUTDOWN", "STARTUP_STATE_VALIDATED"],
      hears: [],
    },
    event_router: {
      emits: ["ERROR"],
      hears: [],
    },
    daemon_control: {
      emits: [],
      hears: [
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED",
        "CLUSTER_STATUS_CHANGED",
        "DAEMON_STARTED",
        "DAEMON_STATUS_CHANGED",
        "DAEMON_STOPPED",
        "DISK_SPACE_LOW",
        "LEADER_ELECTED",
        "LEADER_LOST",
        "LEADER_STEPDOWN",
        "P2P_CLUSTER_HEALTHY",
        "P2P_CLUSTER_UNHEALTHY",
        "REGRESSION_CRITICAL",
        "RESOURCE_CONSTRAINT",
        "TRAINING_BLOCKED_BY_QUALITY",
      ],
    },
    daemon_watchdog: {
      emits: [
        "COORDINATOR_HEALTHY",
        "COORDINATOR_HEALTH_DEGRADED",
        "COORDINATOR_UNHEALTHY",
        "DAEMON_STATUS_CHANGED",
        "ERROR",
      ],
      hears: ["COORDINATOR_HEARTBEAT"],
    },
    dlq_retry: {
      emits: ["DLQ_EVENTS_PURGED", "DLQ_EVENTS_REPLAYED", "DLQ_STALE_EVENTS"],
      hears: ["HANDLER_FAILED", "HANDLER_TIMEOUT"],
    },
    maintenance: {
      emits: ["ERROR"],
      hears: [],
    },
    http_server: {
      emits: [],
      hears: ["METRICS_UPDATED"],
    },
  },
};
