import type { SyncUnitServices } from "./services.ts";
import { autoSync } from "./units/auto-sync/auto-sync.unit.ts";
import { backupDaemon } from "./units/backup/backup.unit.ts";
import { cacheOrchestrator } from "./units/cache-orchestrator/cache-orchestrator.unit.ts";
import { diskSpaceManager } from "./units/disk-space-manager/disk-space-manager.unit.ts";
import { ephemeralGuard } from "./units/ephemeral-guard/ephemeral-guard.unit.ts";
import { modelDistributionDaemon } from "./units/model-distribution/model-distribution.unit.ts";
import { orphanDetection } from "./units/orphan-detection/orphan-detection.unit.ts";
import { replicationDaemon } from "./units/replication/replication.unit.ts";
import { syncCoordinator } from "./units/sync-coordinator/sync-coordinator.unit.ts";
import { syncRouter } from "./units/sync-router/sync-router.unit.ts";
import { trainingActivity } from "./units/training-activity/training-activity.unit.ts";
import { transferVerifier } from "./units/transfer-verifier/transfer-verifier.unit.ts";

/** The units of this room, for `app` to put into its registry. */
export const syncUnits = (services: SyncUnitServices) =>
  [
    autoSync(services),
    transferVerifier(services),
    cacheOrchestrator(services),
    syncCoordinator(services),
    syncRouter(services),
    ephemeralGuard(services),
    replicationDaemon(services),
    modelDistributionDaemon(services),
    diskSpaceManager(services),
    trainingActivity(services),
    backupDaemon(services),
    orphanDetection(services),
  ] as const;
