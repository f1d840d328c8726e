import { type ResourceMonitorPorts, resourceMonitorDaemon } from "./resource-monitor.daemon.ts";

/** What the units of this room need of the program around them. */
export interface ClusterPorts {
  readonly nodeId: string;
  readonly resources: Pick<ResourceMonitorPorts, "sampler" | "settings">;
}

/** The units of this room, for `app` to put into its registry beside those of the other rooms. */
export const clusterUnits = ({ nodeId, resources }: ClusterPorts) =>
  [resourceMonitorDaemon({ nodeId, ...resources })] as const;
