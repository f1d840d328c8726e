import { type StoreModule, stateModule } from "../router/index.ts";
import { outboxModule } from "../router/outbox/index.ts";

/** The tables and operations of a node's own file. The writer's thread imports this list. */
export const storeModules: readonly StoreModule[] = [outboxModule, stateModule];
