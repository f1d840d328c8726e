/** What `/status` shows: the state of the whole process, from counters and indexes alone, so that asking costs little. */
import type { DaemonManager, Readiness, UnitStatus } from "../../daemons/index.ts";
import type { Clock } from "../../kernel/index.ts";
import { consumerStatus, type EventRouter, inUnixSeconds, journalBytes, suppressions } from "../../router/index.ts";
import type { Phase } from "./ports.ts";

export interface StatusSources {
  readonly router: EventRouter;
  readonly daemons: DaemonManager;
  readonly units: () => readonly UnitStatus[];
  readonly readiness: () => Readiness;
  readonly phase: () => Phase;
  readonly clock: Clock;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly version: string;
}

/** Units as others see them: all times are Unix seconds. */
export const unitsOnTheWire = (units: readonly UnitStatus[]): UnitStatus[] =>
  units.map((unit) => ({ ...unit, last_tick_at: unit.last_tick_at === null ? null : unit.last_tick_at / 1_000 }));

/** Seed 003's runbook greps for `event_subscription_status` and `handler_timeouts`. */
export function statusOf(sources: StatusSources): Record<string, unknown> {
  const { router, daemons, clock, startedAt, version } = sources;
  const stats = router.getStats();
  const units = unitsOnTheWire(sources.units());
  return {
    version,
    pid: process.pid,
    node_id: router.nodeId,
    phase: sources.phase(),
    uptime_seconds: (clock.now() - startedAt) / 1_000,
    degraded: stats.degraded,
    fault: stats.fault === null ? null : { ...stats.fault, since: stats.fault.since / 1_000 },
    event_subscription_status: stats.subscribers,
    handler_timeouts: stats.handler_timeouts,
    router: stats,
    journal: {
      head: stats.journal_head,
      bytes: journalBytes(router.store),
      consumers: consumerStatus(router.store).map(inUnixSeconds),
    },
    suppressed: suppressions(router.store, 20),
    dead_letters: router.deadLetters.counts(),
    readiness: sources.readiness(),
    coordinators: Object.fromEntries(units.map(({ name, status, message }) => [name, { status, message }])),
    units,
    daemons: daemons.report(),
  };
}
