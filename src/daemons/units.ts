import { bootstrapPart, daemonManagerPart, routerPart, unitRuntimePart } from "./parts.ts";
import type { DaemonsServices } from "./services.ts";
import { daemonControl } from "./units/daemon-control/daemon-control.unit.ts";
import { daemonWatchdog } from "./units/daemon-watchdog/daemon-watchdog.unit.ts";
import { dlqRetry } from "./units/dlq-retry/dlq-retry.unit.ts";
import { eventRouter } from "./units/event-router/event-router.unit.ts";
import { httpServer } from "./units/http-server/http-server.unit.ts";
import { maintenance } from "./units/maintenance/maintenance.unit.ts";

/** The units of this room; a new one is a new line here. Told besides: which units run only where the cluster is led from. */
export const daemonsUnits = (services: DaemonsServices, leaderUnits?: () => ReadonlySet<string>) =>
  [
    eventRouter(services),
    daemonControl(services, leaderUnits),
    daemonWatchdog(services),
    dlqRetry(services),
    maintenance(services),
    httpServer(services),
  ] as const;

/** The parts that emit without being units: of this room, and of the router below it. */
export const daemonsParts = [routerPart, unitRuntimePart, daemonManagerPart, bootstrapPart] as const;
