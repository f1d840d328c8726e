/** One task of a backup: it hashes, seals and copies here, and the thread ends with it. */
import { rm } from "node:fs/promises";
import { parentPort, workerData } from "node:worker_threads";
import { assert, systemClock, systemRandom } from "../../kernel/index.ts";
import {
  type BackupProgress,
  type BackupTask,
  type BackupWorld,
  listBackups,
  pruneBackups,
  restoreBackup,
  runBackup,
  verifyBackup,
} from "../../sync/index.ts";
import { type PortableError, portable } from "../sqlite/portable-error.ts";
import { openBackupPlace, prepareBackupPlace } from "./open-place.ts";
import { privateFilesOf } from "./private-files.ts";
import { takeSnapshot } from "./snapshot.ts";

export type FromBackupThread =
  | { readonly progress: BackupProgress }
  | { readonly report: unknown }
  | { readonly failed: PortableError };

assert(parentPort, "this module runs in a worker thread");
const port = parentPort;
const tell = (message: FromBackupThread): void => port.postMessage(message);

async function run(task: BackupTask, world: BackupWorld): Promise<unknown> {
  switch (task.kind) {
    case "list":
      return listBackups(world);
    case "verify":
      return verifyBackup(world, task);
    case "prune":
      return pruneBackups(world, task);
    case "restore":
      return restoreBackup(world, { ...task, random: systemRandom() });
    case "run": {
      await prepareBackupPlace(task.place, task.isFirst, world.signal);
      await rm(task.scratch, { recursive: true, force: true });
      try {
        return await runBackup(world, {
          ...task,
          snapshot: (folder) => takeSnapshot(task.database, task.artifacts, folder),
          privateFiles: () => privateFilesOf(task.dataDir, task.otherFiles),
        });
      } finally {
        await rm(task.scratch, { recursive: true, force: true });
      }
    }
  }
}

const task = workerData as BackupTask;
const ended = new AbortController();
port.once("message", () => ended.abort(new Error("it is not wanted any more")));
const transport = openBackupPlace(task.place);
try {
  const onProgress = (progress: BackupProgress) => tell({ progress });
  const world = { transport, secret: task.secret, clock: systemClock(), signal: ended.signal, onProgress };
  tell({ report: await run(task, world) });
} catch (thrown) {
  tell({ failed: portable(thrown) });
} finally {
  await transport.close();
  port.close();
}
