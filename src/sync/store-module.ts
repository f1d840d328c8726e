import { defineStoreModule } from "../router/index.ts";
import { countProduced, judgeArtifacts, noteDamaged, noteSound, recordArtifacts } from "./entry-operations.ts";
import { disownFile, forgetArtifacts, freeArtifacts, noteRemoved, pinArtifacts } from "./keep-operations.ts";
import { beginRun, endRun, noteAnnounced } from "./run-operations.ts";
import { syncMigrations } from "./schema.ts";

/** What this room keeps in the store. */
export const syncModule = defineStoreModule({
  name: "sync",
  migrations: syncMigrations,
  operations: [
    recordArtifacts,
    countProduced,
    judgeArtifacts,
    noteSound,
    noteDamaged,
    pinArtifacts,
    freeArtifacts,
    disownFile,
    noteRemoved,
    forgetArtifacts,
    beginRun,
    endRun,
    noteAnnounced,
  ],
});
