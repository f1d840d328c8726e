import type { EventRouter, Store } from "../router/index.ts";
import { type DaemonControlPorts, daemonControl } from "./daemon-control.coordinator.ts";
import { type DaemonWatchdogPorts, daemonWatchdog } from "./daemon-watchdog.daemon.ts";
import { dlqRetryDaemon } from "./dlq-retry.daemon.ts";
import { type EventRouterDaemonPorts, eventRouterDaemon } from "./event-router.daemon.ts";
import { untilTheyCome } from "./excuse.ts";
import { type MaintenancePorts, maintenanceDaemon } from "./maintenance.daemon.ts";
import { bootstrapPart, daemonManagerPart, routerPart, unitRuntimePart } from "./parts.ts";
import type { Unit } from "./unit.ts";

export interface OwnUnitsPorts {
  readonly router: EventRouterDaemonPorts["router"] & Pick<EventRouter, "deadLetters" | "nodeId">;
  readonly store: Store;
  /** The one supervisor of this process; without it cluster events pause nothing. */
  readonly supervisor?: DaemonControlPorts["supervisor"];
  /** All units that run only where the cluster is led from; those of this room unless said. */
  readonly leaderUnits?: DaemonControlPorts["leaderUnits"];
  /** From `watchMainLoop`; without it nobody watches the main loop. */
  readonly mainLoop?: DaemonWatchdogPorts["mainLoop"];
  /** The database file behind the store; without it nobody checks it. */
  readonly database?: MaintenancePorts["database"];
  /** The log file of this process; without it there is none to rotate. */
  readonly logFile?: MaintenancePorts["logFile"];
  readonly maintenance?: MaintenancePorts["settings"];
  readonly chores?: MaintenancePorts["chores"];
}

/** The units of this room, for `app` to put into its registry beside those of the other rooms. */
export const ownUnits = ({ router, store, supervisor, mainLoop, leaderUnits, ...rest }: OwnUnitsPorts) => {
  const { database, logFile, maintenance, chores = [] } = rest;
  const { nodeId } = router;
  const leaders = (): ReadonlySet<string> =>
    new Set((units as readonly Unit[]).filter(({ placement }) => placement === "leader").map(({ name }) => name));
  const control: DaemonControlPorts = { supervisor, nodeId, leaderUnits: leaderUnits ?? leaders };
  const units = [
    eventRouterDaemon({ router, store }),
    daemonControl(control),
    daemonWatchdog({ nodeId, mainLoop }),
    dlqRetryDaemon({ router, store }),
    maintenanceDaemon({ store, nodeId, database, logFile, chores, settings: maintenance ?? {} }),
  ] as const;
  return units;
};

/** The parts that speak without being units: of this room, and of the router below it. */
export const ownParts = [routerPart, unitRuntimePart, daemonManagerPart, bootstrapPart] as const;

/** What this room hears although nobody says it yet. Each goes when its other end comes: the audit insists. */
export const ownExcuses = {
  deadSubscriptions: untilTheyCome([
    {
      unit: "cluster_monitor",
      stage: "ha",
      emits: ["P2P_CLUSTER_HEALTHY", "P2P_CLUSTER_UNHEALTHY", "CLUSTER_STATUS_CHANGED"],
    },
    { unit: "leader_lease", stage: "ha", emits: ["LEADER_ELECTED", "LEADER_LOST", "LEADER_STEPDOWN"] },
  ]),
} as const;
