/**
 * cluster: the state of the machines, of the system as a whole, and who is told when it is bad.
 *
 * It guarantees that
 * - a node measures itself cheaply, and each crossing of a limit is told once, also over a restart.
 */
export { type ClusterPorts, clusterUnits } from "./cluster-units.ts";
export { clusterExcuses } from "./excuses.ts";
export {
  type ResourceMonitorPorts,
  type ResourceMonitorSettings,
  resourceMonitorDaemon,
  resourceMonitorDefaults,
} from "./resource-monitor.daemon.ts";
export type { GpuSample, ResourceSample, ResourceSampler } from "./resources/sample.ts";
export { type SystemSamplerOptions, systemSampler } from "./resources/system-sampler.ts";
