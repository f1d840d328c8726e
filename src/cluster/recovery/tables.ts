import { defineStoreModule } from "../../router/store.port.ts";
import { beginAct, endActs, recoveryMigration } from "./recovery-rows.ts";

/** What repairs keep in the store, beside the rest of this room. */
export const recoveryModule = defineStoreModule({
  name: "recovery",
  migrations: [recoveryMigration(1)],
  operations: [beginAct, endActs],
});
