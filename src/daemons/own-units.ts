import type { EventRouter, Store } from "../router/index.ts";
import { dlqRetryDaemon } from "./dlq-retry.daemon.ts";
import { type EventRouterDaemonPorts, eventRouterDaemon } from "./event-router.daemon.ts";
import { daemonManagerPart, routerPart, unitRuntimePart } from "./parts.ts";

export interface OwnUnitsPorts {
  readonly router: EventRouterDaemonPorts["router"] & Pick<EventRouter, "deadLetters">;
  readonly store: Store;
}

/** The units of this room, for `app` to put into its registry beside those of the other rooms. */
export const ownUnits = ({ router, store }: OwnUnitsPorts) =>
  [eventRouterDaemon({ router, store }), dlqRetryDaemon({ router, store })] as const;

/** The parts that speak without being units: of this room, and of the router below it. */
export const ownParts = [routerPart, unitRuntimePart, daemonManagerPart] as const;

/** What this room says although no unit hears it yet. Each goes when its listener comes: the audit insists. */
export const ownExcuses = { orphans: {} } as const;
