import { defineStoreModule } from "../../router/store.port.ts";
import { appendMatches, ledgerMigration } from "./ledger.ts";
import { recordVerdict, verdictCountMigration, verdictMigration } from "./verdicts.ts";

/** The match ledger and the verdicts of gates, as they are kept in the store. */
export const evaluationModule = defineStoreModule({
  name: "evaluation",
  migrations: [ledgerMigration(1), verdictMigration(2), verdictCountMigration(3)],
  operations: [appendMatches, recordVerdict],
});
