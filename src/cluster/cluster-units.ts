import type { Clock, Random } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import { type AlertManagerPorts, alertManagerCoordinator } from "./alert-manager.coordinator.ts";
import {
  errorCoordinator,
  type HealthManagerPorts,
  healthManagerCoordinator,
  recoveryManager,
} from "./health-manager.coordinator.ts";
import { type MembershipPorts, membershipDaemon } from "./membership.daemon.ts";
import { type ResourceCoordinatorPorts, resourceCoordinator } from "./resource.coordinator.ts";
import { type ResourceMonitorPorts, resourceMonitorDaemon } from "./resource-monitor.daemon.ts";

/** What the units of this room need of the program around them. */
export interface ClusterPorts {
  readonly nodeId: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly resources: Pick<ResourceMonitorPorts, "sampler" | "settings">;
  readonly health: Pick<HealthManagerPorts, "work" | "settings">;
  readonly alerts: Pick<AlertManagerPorts, "sinks" | "absence" | "settings">;
  readonly nodes: Pick<MembershipPorts, "book" | "refusals" | "clusterId" | "settings"> & {
    readonly capacity?: ResourceCoordinatorPorts["settings"];
  };
}

/** The units of this room, for `app` to put into its registry beside those of the other rooms. */
export const clusterUnits = ({ nodeId, store, clock, random, resources, health, alerts, nodes }: ClusterPorts) =>
  [
    resourceMonitorDaemon({ nodeId, ...resources }),
    membershipDaemon({ ...nodes, clock }),
    resourceCoordinator({ ...nodes, settings: nodes.capacity ?? {} }),
    healthManagerCoordinator({ nodeId, store, ...health }),
    errorCoordinator,
    recoveryManager,
    alertManagerCoordinator({ store, clock, random, ...alerts }),
  ] as const;
