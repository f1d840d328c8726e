/** What `/status` shows, instants in milliseconds: the state of the whole process, from counters and indexes alone, so that asking costs little. */
import { consumerStatus, journalBytes, suppressions } from "../../router/index.ts";
import type { ControlPorts } from "../http/ports.ts";

export type StatusSources = Pick<
  ControlPorts,
  "router" | "daemons" | "units" | "readiness" | "phase" | "started" | "version"
>;

/** Seed 003's runbook greps for `event_subscription_status` and `handler_timeouts`. */
export function statusOf(sources: StatusSources) {
  const { router, daemons, started, version } = sources;
  const stats = router.getStats();
  const units = sources.units();
  return {
    version,
    pid: process.pid,
    node_id: router.nodeId,
    phase: sources.phase(),
    started_at: started.at,
    uptime_seconds: started.agoMs() / 1_000,
    degraded: stats.degraded,
    fault: stats.fault,
    event_subscription_status: stats.subscribers,
    handler_timeouts: stats.handler_timeouts,
    router: stats,
    journal: {
      head: stats.journal_head,
      bytes: journalBytes(router.store),
      consumers: consumerStatus(router.store),
    },
    suppressed: suppressions(router.store, 20),
    dead_letters: router.deadLetters.counts(),
    readiness: sources.readiness(),
    coordinators: Object.fromEntries(units.map(({ name, status, message }) => [name, { status, message }])),
    units,
    daemons: daemons.report(),
  };
}
