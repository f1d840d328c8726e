import type { FleetServices } from "./services.ts";
import { idleShutdown } from "./units/idle-shutdown/idle-shutdown.unit.ts";
import { multiProvider } from "./units/multi-provider/multi-provider.unit.ts";
import { provisionerDaemon } from "./units/provisioner/provisioner.unit.ts";

/** The units of the fleet, for `app` to put into its registry. */
export const fleetUnits = (services: FleetServices) =>
  [multiProvider(services), provisionerDaemon(services), idleShutdown(services)] as const;
