import { defined } from "../../kernel/index.ts";
import { idleLimits, multiProviderLimits, provisionerLimits } from "./limits.ts";
import type { FleetServices } from "./services.ts";
import { idleShutdown } from "./units/idle-shutdown/idle-shutdown.unit.ts";
import { multiProvider } from "./units/multi-provider/multi-provider.unit.ts";
import { provisionerDaemon } from "./units/provisioner/provisioner.unit.ts";

/** The units of the fleet, for `app` to put into its registry. */
export const fleetUnits = (services: FleetServices, everyMs?: number) => {
  const pace = defined({ everyMs });
  return [
    multiProvider(services, { ...multiProviderLimits, ...pace }),
    provisionerDaemon(services, { ...provisionerLimits, ...pace }),
    idleShutdown(services, { ...idleLimits, ...pace }),
  ] as const;
};
