/** The tables of the house, those of artifacts among them, for the writer's thread of `artifact-keeper.ts`. */
import { storeModules as all } from "../../../src/app/store-modules.ts";
import { syncModule } from "../../../src/sync/tables.ts";

export const storeModules = [...all.filter(({ name }) => name !== syncModule.name), syncModule];
