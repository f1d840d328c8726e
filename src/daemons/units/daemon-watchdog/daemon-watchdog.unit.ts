import { defineTable } from "../../../router/index.ts";
import type { UnitHealth } from "../../health.ts";
import { type WatchRules, watchRules } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { defineDaemon, type Wiring } from "../../unit/shape.ts";
import { type Beat, follow, judgeBeat, type Level, missedMs, type Standing, settledAt } from "./decide.ts";

const wiring = {
  name: "daemon_watchdog",
  layer: 1,
  placement: "each-process",
  profiles: ["coordinator"],
  daemonTypes: ["DAEMON_WATCHDOG", "COORDINATOR_HEALTH_MONITOR"],
  alsoKnownAs: ["DaemonWatchdog"],
  dependsOn: ["event_router"],
  emits: [
    "COORDINATOR_HEALTHY",
    "COORDINATOR_UNHEALTHY",
    "COORDINATOR_HEALTH_DEGRADED",
    "DAEMON_STATUS_CHANGED",
    "ERROR",
  ],
} as const satisfies Wiring;

/** What was told of a unit that is not healthy, so that its recovery is told also by a later process. */
const levels = defineTable<{ level: Level }>("watchdog_levels");

interface Watched {
  readonly beats: Map<string, Beat>;
  readonly standings: Map<string, Standing>;
  lookedAt: number | undefined;
}

/** As the supervisor's states have it. */
const STATE_OF = { healthy: "running", degraded: "degraded", unhealthy: "failed" } as const;

/**
 * Notices units that are silent, stuck or late, and a main loop that was blocked. It tells each change once, after it has
 * lasted; it never restarts anything: that is the supervisor's alone.
 */
export const daemonWatchdog = (
  {
    router: { nodeId },
    mainLoop,
  }: Pick<DaemonsServices, "mainLoop"> & { readonly router: { readonly nodeId: string } },
  given: Partial<WatchRules> = {},
) => {
  const settings = { ...watchRules, ...given };

  const forgiveGap = (cache: Watched, now: number) => {
    const gapMs = missedMs(cache.lookedAt, now, settings.everyMs);
    if (gapMs > 0) for (const [name, beat] of cache.beats) cache.beats.set(name, { ...beat, at: beat.at + gapMs });
    cache.lookedAt = now;
  };

  return defineDaemon({
    ...wiring,
    state: {
      tables: { levels },
      cache: (rows): Watched => ({
        beats: new Map(),
        standings: new Map(rows.list(levels).map(([name, { level }]) => [name, settledAt(level)])),
        lookedAt: undefined,
      }),
    },
    on: {
      COORDINATOR_HEARTBEAT({ payload }, { cache, now, afterCommit }) {
        if (payload.node_id !== nodeId) return;
        const beat: Beat = {
          at: now,
          health: payload.health,
          message: payload.message ?? "",
          busyMs: (payload.busy_seconds ?? 0) * 1_000,
          overdueMs: (payload.overdue_seconds ?? 0) * 1_000,
          isPaused: payload.paused !== undefined,
          uptimeSeconds: payload.uptime_seconds ?? 0,
        };
        afterCommit(() => void cache.beats.set(payload.coordinator_name, beat));
      },
    },
    loop: {
      everyMs: settings.everyMs,
      tick({ now, cache, rows, emit, log, afterCommit }) {
        forgiveGap(cache, now);
        const reports = mainLoop?.reports() ?? [];
        for (const { since, blockedMs, stack } of reports)
          emit.ERROR({
            component: "main_loop",
            error: `the main loop did not answer for ${(blockedMs / 1_000).toFixed(1)} s${stack?.[0] === undefined ? "" : `: ${stack[0]}`}`,
            error_code: "MAIN_LOOP_BLOCKED",
            severity: "error",
            node_id: nodeId,
            details: { since: since / 1_000, blocked_seconds: blockedMs / 1_000, stack: stack ?? [] },
          });
        const standings = new Map<string, Standing>();
        for (const [name, beat] of cache.beats) {
          // One that is not to run is not judged; when it is back, what was told of it still counts.
          if (beat.isPaused) continue;
          const judgement = judgeBeat(beat, now, settings);
          const before = cache.standings.get(name) ?? settledAt("healthy");
          const { next, edge } = follow(before, judgement, now, settings);
          standings.set(name, next);
          if (edge === null) continue;
          if (edge === "healthy") rows.delete(levels, name);
          else rows.put(levels, name, { level: edge });
          const reason = (judgement.reason || "it works again").slice(0, 2_000);
          log.warn("a unit changed", { watched: name, from: before.emitted, to: edge, reason });
          const about = { coordinator_name: name, node_id: nodeId };
          if (edge === "healthy") emit.COORDINATOR_HEALTHY({ ...about, uptime_seconds: beat.uptimeSeconds });
          else if (edge === "degraded") emit.COORDINATOR_HEALTH_DEGRADED({ ...about, reason });
          else emit.COORDINATOR_UNHEALTHY({ ...about, reason });
          emit.DAEMON_STATUS_CHANGED({
            daemon_name: name,
            node_id: nodeId,
            daemon_state: STATE_OF[edge],
            previous_daemon_state: STATE_OF[before.emitted],
            reason,
          });
        }
        afterCommit(() => {
          mainLoop?.noted(reports);
          for (const [name, standing] of standings) cache.standings.set(name, standing);
        });
      },
    },
    health: ({ cache }): UnitHealth => {
      const emitted = (level: Level) =>
        [...cache.standings].filter(([, standing]) => standing.emitted === level).map(([name]) => name);
      const details = {
        unhealthy: emitted("unhealthy"),
        degraded: emitted("degraded"),
        ...(mainLoop === undefined ? {} : { loop_delay: mainLoop.loopDelay(), loop_blocks: mainLoop.blocks }),
      };
      // It reports on others and is well itself; only where it is blind it is not.
      return typeof mainLoop?.fault === "string"
        ? { status: "degraded", message: `the main loop is not being watched: ${mainLoop.fault}`, details }
        : { status: "running", message: "", details };
    },
  });
};
