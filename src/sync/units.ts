import type { SyncUnitServices } from "./services.ts";
import { diskSpaceManager } from "./units/disk-space-manager/disk-space-manager.unit.ts";
import { replicationDaemon } from "./units/replication/replication.unit.ts";

/** The units of this room, for `app` to put into its registry. */
export const syncUnits = (services: SyncUnitServices) =>
  [replicationDaemon(services), diskSpaceManager(services)] as const;
