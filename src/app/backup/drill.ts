/** A restore drill: a backup that was never restored is a hope. */
import { fork } from "node:child_process";
import { rm } from "node:fs/promises";
import { runBackupTask } from "../../adapters/backup/run-on-thread.ts";
import { moduleBeside, OperatingError } from "../../kernel/index.ts";
import type { BackupReports, createBackups } from "../../sync/index.ts";
import type { Drilled } from "./drilled.ts";

type Ports = Parameters<typeof createBackups>[0];

const failed = (why: string) =>
  OperatingError.conflict("DRILL_FAILED", `the backup was restored, and ${why}`, {
    hint: "Do not rely on it: make a new one with 'ringrift backup run', and drill that.",
  });

/** A process of its own, without anything of this one's environment: what is started there must not speak to anybody. */
async function startFrom(dataDir: string, signal: AbortSignal): Promise<Drilled> {
  const child = fork(moduleBeside(import.meta.url, "./drill.worker"), [dataDir], {
    env: { PATH: process.env.PATH ?? "" },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  try {
    return await new Promise<Drilled>((resolve, reject) => {
      child.once("message", resolve);
      child.once("error", reject);
      child.once("exit", (code) => resolve({ error: `its process ended with code ${code}` }));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  } finally {
    child.kill("SIGKILL");
  }
}

/** Games that were produced are those of the backup, and each is accounted for. */
function differs(was: BackupReports["restore"]["books"], is: BackupReports["restore"]["books"]): string | undefined {
  const found = new Map(is.map((books) => [books.config_key, books]));
  for (const { config_key, produced } of was) {
    const books = found.get(config_key);
    const accounted = (books?.durable ?? 0) + (books?.in_flight ?? 0) + (books?.rejected ?? 0);
    if (books?.produced !== produced || accounted !== produced)
      return `the books of ${config_key} say ${books?.produced ?? 0} games produced and ${accounted} accounted for, not ${produced}`;
  }
  return undefined;
}

/** Restores into the folder, which goes whatever happens, starts from it, and compares. */
export const createDrill =
  (folder: string): Ports["drill"] =>
  async (at, { signal, onProgress }) => {
    await rm(folder, { recursive: true, force: true });
    try {
      const order = { kind: "restore", ...at, to: folder, dryRun: false, allowMissing: false } as const;
      const report = await runBackupTask(order, { signal, ...(onProgress === undefined ? {} : { onProgress }) });
      const { restored_files: files, restored_bytes: bytes, backup_id } = report;
      onProgress?.({ phase: "start", files, files_done: files, bytes, bytes_done: bytes });
      const answer = await startFrom(folder, signal);
      if ("error" in answer) throw failed(`it does not start: ${answer.error}`);
      const { books, lost } = answer;
      if (lost.length > report.missing!) throw failed(`${lost.length} files are not there, such as ${lost[0]}`);
      const difference = differs(report.books, books);
      if (difference !== undefined) throw failed(difference);
      return { backup_id, files, bytes, books_equal: true };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
