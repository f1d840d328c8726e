import { defineStoreModule } from "../../router/store.port.ts";
import { championMigrations, recordCheck, recordCrowning } from "./champion-history.ts";
import {
  changeModel,
  derivedMigration,
  registerDerived,
  registerModel,
  registryMigration,
  registryOrderMigration,
  registryStandingMigration,
} from "./registry.ts";
import { recipeMigration, recordRun, trainingRunMigration } from "./training-runs.ts";

/** Champions, training runs and the registry of models, as they are kept in the store. */
export const modelsModule = defineStoreModule({
  name: "models",
  migrations: [
    ...championMigrations,
    trainingRunMigration(2),
    registryMigration(3),
    recipeMigration(4),
    registryOrderMigration(5),
    registryStandingMigration(6),
    derivedMigration(7),
  ],
  operations: [recordCrowning, recordCheck, recordRun, registerModel, registerDerived, changeModel],
});
