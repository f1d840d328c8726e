import { storeModules as journal } from "../../src/app/store-modules.ts";
import type { StoreModule } from "../../src/router/index.ts";
import { workModule } from "../../src/work/tables.ts";

/** For the writer's thread: the journal and the queue. */
export const storeModules: readonly StoreModule[] = [
  ...journal.filter(({ name }) => name !== workModule.name),
  workModule,
];
