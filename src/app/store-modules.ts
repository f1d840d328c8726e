import { fleetModule } from "../cluster/fleet/tables.ts";
import { recoveryModule } from "../cluster/recovery/tables.ts";
import { clusterModule } from "../cluster/tables.ts";
import { maintenanceModule } from "../daemons/units/maintenance/store-chores.ts";
import { evaluationModule } from "../pipeline/evaluation/tables.ts";
import { modelsModule } from "../pipeline/models/tables.ts";
import { pipelineModule } from "../pipeline/tables.ts";
import { journalModule } from "../router/journal/tables.ts";
import type { StoreModule } from "../router/store.port.ts";
import { stateModule } from "../router/write-set.ts";
import { apiModule } from "../surfaces/tables.ts";
import { backupModule } from "../sync/backup/tables.ts";
import { syncModule } from "../sync/tables.ts";
import { workModule } from "../work/tables.ts";

/** The rooms' tables and operations, in the order their migrations run. The writer's thread imports this list. */
export const storeModules: readonly StoreModule[] = [
  journalModule,
  stateModule,
  maintenanceModule,
  clusterModule,
  fleetModule,
  recoveryModule,
  apiModule,
  workModule,
  syncModule,
  backupModule,
  pipelineModule,
  evaluationModule,
  modelsModule,
];
