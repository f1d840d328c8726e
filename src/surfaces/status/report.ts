/** What `/status` shows, instants in milliseconds: the state of the whole process, from counters and indexes alone, so that asking costs little. */
import { journalBytes, suppressions } from "../../router/index.ts";
import type { ControlPorts } from "../http/ports.ts";

export type StatusSources = Pick<
  ControlPorts,
  "router" | "daemons" | "units" | "readiness" | "phase" | "started" | "version"
>;

const isUp = ({ state }: { readonly state: string }) => state === "running" || state === "degraded";

/** The same in a few figures. */
export function overviewOf(sources: StatusSources & Pick<ControlPorts, "alerts">) {
  const { router, daemons, started, version } = sources;
  const stats = router.getStats();
  const rows = daemons.report();
  const present = router.consumersBehind();
  const { pending, retrying } = router.deadLetters.counts();
  const { critical, error, warning } = sources.alerts.counts("open");
  return {
    version,
    pid: process.pid,
    node_id: router.nodeId,
    uptime_seconds: started.agoMs() / 1_000,
    daemons: {
      running: rows.filter(isUp).length,
      wanted: rows.filter(({ wanted }) => wanted).length,
      all: rows.length,
    },
    events: { since_start: stats.total_events, head: stats.journal_head, bytes: journalBytes(router.store) },
    consumers: {
      present: present.length,
      last: present[0] ?? null,
    },
    dead_letters: { pending, retrying },
    copies: sources.units(["replication_daemon"])[0]?.message ?? "",
    alerts: { critical, error, warning },
  };
}

/** What is judged with every look: of all that `statusOf` tells, only what says that something is wrong. */
export const troubleFacts = ({
  router,
  daemons,
  readiness,
  started,
}: Pick<StatusSources, "router" | "daemons" | "readiness" | "started">) => ({
  started_at: started.at,
  uptime_seconds: started.agoMs() / 1_000,
  fault: router.store.fault,
  router: { open_breakers: router.openBreakers() },
  journal: { consumers: router.consumersBehind() },
  dead_letters: router.deadLetters.counts(),
  readiness: readiness(),
  daemons: daemons.report(),
});

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
      consumers: router.consumers(),
    },
    suppressed: suppressions(router.store, 20),
    dead_letters: router.deadLetters.counts(),
    readiness: sources.readiness(),
    coordinators: Object.fromEntries(units.map(({ name, status, message }) => [name, { status, message }])),
    units,
    daemons: daemons.report(),
  };
}
