import type { EventRouter, Store } from "../router/index.ts";
import { dlqRetryDaemon } from "./dlq-retry.daemon.ts";
import { type EventRouterDaemonPorts, eventRouterDaemon } from "./event-router.daemon.ts";
import { bootstrapPart, daemonManagerPart, routerPart, unitRuntimePart } from "./parts.ts";

export interface OwnUnitsPorts {
  readonly router: EventRouterDaemonPorts["router"] & Pick<EventRouter, "deadLetters">;
  readonly store: Store;
}

/** The units of this room, for `app` to put into its registry beside those of the other rooms. */
export const ownUnits = ({ router, store }: OwnUnitsPorts) =>
  [eventRouterDaemon({ router, store }), dlqRetryDaemon({ router, store })] as const;

/** The parts that speak without being units: of this room, and of the router below it. */
export const ownParts = [routerPart, unitRuntimePart, daemonManagerPart, bootstrapPart] as const;

const shown = (where: string) => `${where}; alert_manager and health_manager are to hear it`;

/** What this room says although no unit hears it yet. Each goes when its listener comes: the audit insists. */
export const ownExcuses = {
  orphans: {
    ERROR: shown("operators read it in 'ringrift events tail'"),
    COORDINATOR_HEARTBEAT: "dashboards read it live; daemon_watchdog and health_manager are to hear it",
    DAEMON_STARTED: "operators see it in '/status' under daemons; daemon_control and health_manager are to hear it",
    DAEMON_STOPPED: "operators see it in '/status' under daemons; daemon_control and health_manager are to hear it",
    DAEMON_PERMANENTLY_FAILED: shown("operators see it in '/status' under daemons"),
    DAEMON_CRASH_LOOP_DETECTED: shown("operators see it in '/status' under daemons"),
    COORDINATOR_HEALTHY: "operators see it in the status of the bootstrap; health_manager is to hear it",
    COORDINATOR_INIT_FAILED: shown("operators see it in the status of the bootstrap"),
    COORDINATOR_SHUTDOWN: "health_manager is to hear it",
    STARTUP_STATE_VALIDATED: "operators see it in the status of the bootstrap; health_manager is to hear it",
    DLQ_STALE_EVENTS: shown("operators see the same in 'ringrift dlq'"),
    DLQ_EVENTS_REPLAYED: shown("operators see the same in 'ringrift dlq'"),
    DLQ_EVENTS_PURGED: shown("operators see the same in 'ringrift dlq'"),
  },
} as const;
