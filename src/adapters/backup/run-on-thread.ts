import { Worker } from "node:worker_threads";
import { moduleBeside, OperatingError } from "../../kernel/index.ts";
import type { BackupReports, BackupRunner, BackupTask } from "../../sync/index.ts";
import { fromPortable } from "../sqlite/portable-error.ts";
import type { FromBackupThread } from "./backup.thread.ts";

/** Does one task of a backup on a thread of its own. Called off, it ends when what it has in hand is put away. */
export const runBackupTask: BackupRunner = <T extends BackupTask>(
  task: T,
  { signal, onProgress }: Parameters<BackupRunner>[1],
) =>
  new Promise<BackupReports[T["kind"]]>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const thread = new Worker(moduleBeside(import.meta.url, "./backup.thread"), {
      name: `backup ${task.kind}`,
      workerData: task,
    });
    const stop = () => thread.postMessage("stop");
    signal.addEventListener("abort", stop, { once: true });
    thread.on("message", (message: FromBackupThread) => {
      if ("progress" in message) return onProgress?.(message.progress);
      if ("report" in message) return resolve(message.report as BackupReports[T["kind"]]);
      return reject(signal.aborted ? signal.reason : fromPortable(message.failed));
    });
    thread.once("error", reject);
    thread.once("exit", () => {
      signal.removeEventListener("abort", stop);
      // After an answer this says nothing new.
      reject(OperatingError.internal("BACKUP_FAILED", `'${task.kind}' ended without an answer`, { retryable: true }));
    });
  });
