/** What is backed up of a data folder, where to, and how: from its settings. */
import { join } from "node:path";
import { runBackupTask } from "../../adapters/backup/run-on-thread.ts";
import { type createSyncServices, placesOf } from "../../sync/index.ts";
import type { Settings } from "../settings.ts";
import { createDrill } from "./drill.ts";

type BackupPorts = NonNullable<Parameters<typeof createSyncServices>[0]["backup"]>;

export function backupPortsOf(settings: Settings, version: string, database: string): BackupPorts {
  const { dataDir, nodeId, configFile, api, backup } = settings;
  return {
    places: placesOf(backup),
    secret: backup.secret?.reveal(),
    retention: backup.retention,
    pace: backup,
    scratch: join(dataDir, "backup"),
    folder: {
      nodeId,
      version,
      dataDir,
      database,
      artifacts: join(dataDir, "artifacts"),
      otherFiles: [configFile, api.tlsCertFile, api.tlsKeyFile].filter((path) => path !== undefined),
    },
    run: runBackupTask,
    drill: createDrill(join(dataDir, "drill")),
  };
}
