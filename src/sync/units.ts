import type { SyncUnitServices } from "./services.ts";
import { replicationDaemon } from "./units/replication/replication.unit.ts";

/** The units of this room, for `app` to put into its registry. */
export const syncUnits = (services: SyncUnitServices) => [replicationDaemon(services)] as const;
