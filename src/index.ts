/**
 * What `import ... from "ringrift-coordination"` gives: a running coordination, the language of events, the router
 * that carries them, and of the kernel what one needs to build and to test them.
 */
export {
  type BootstrapOptions,
  bootstrapCoordination,
  type Coordination,
  getBootstrapStatus,
  shutdownCoordination,
} from "./app/bootstrap.ts";
export type { BootstrapStatus, CoordinatorState, FeatureSwitches } from "./app/bootstrap-status.ts";
export * from "./app/settings.ts";
export * from "./daemons/index.ts";
export * from "./events/index.ts";
export {
  type Clock,
  createLog,
  isOperatingError,
  type Log,
  type LogLevel,
  OperatingError,
  type Random,
  seededRandom,
  silentLog,
  systemClock,
  systemRandom,
  type VirtualClock,
  virtualClock,
} from "./kernel/index.ts";
export * from "./router/index.ts";
