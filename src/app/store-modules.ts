import { clusterModule } from "../cluster/cluster-module.ts";
import { maintenanceModule } from "../daemons/store-chores.ts";
import { evaluationModule, modelsModule, pipelineModule } from "../pipeline/index.ts";
import { journalModule, type StoreModule, stateModule } from "../router/index.ts";
import { apiModule } from "../surfaces/http/api-store.ts";
import { syncModule } from "../sync/index.ts";
import { workModule } from "../work/store-module.ts";

/** The rooms' tables and operations, in the order their migrations run. The writer's thread imports this list. */
export const storeModules: readonly StoreModule[] = [
  journalModule,
  stateModule,
  maintenanceModule,
  clusterModule,
  apiModule,
  workModule,
  syncModule,
  pipelineModule,
  evaluationModule,
  modelsModule,
];
