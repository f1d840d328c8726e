import { resolve } from "node:path";
import type { Command } from "commander";
import { isOperatingError, OperatingError, sleep } from "../../kernel/index.ts";
import type { BackupProgress, BackupReports } from "../../sync/index.ts";
import { showAnswer } from "../cli/answers.ts";
import { askMain } from "../cli/main-process.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { wholeNumber } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { backupLines, backupProgress, restoreLines, statusLines, taskDetails, verifyLines } from "./view.ts";
import { type BackupTaskShown, listBackupTasks, showBackupTask, startBackupTask } from "./wire.ts";

interface At {
  readonly from?: string;
  readonly keyFile?: string;
}

/** What is done without the main process: at the place, by the settings of the command. */
export interface BackupReader {
  places(): readonly string[];
  read<K extends "list" | "verify" | "restore">(
    kind: K,
    at: At,
    order: Readonly<Record<string, unknown>>,
    options: { readonly signal: AbortSignal; readonly onProgress: (progress: BackupProgress) => void },
  ): Promise<BackupReports[K]>;
}

type Body = Input<typeof startBackupTask>["body"];

const LOOK_MS = 500;

/** Has the main process do it, and waits until it has ended; exit code 1 if it has failed. */
async function carryOut(shell: Shell, body: Body, wait: boolean, isGood: (report: unknown) => boolean): Promise<void> {
  await askMain(shell.main, async (main) => {
    /** One at a time: what runs by itself just now is waited for. */
    const begin = async (): Promise<BackupTaskShown> => {
      for (let isTold = false; ; isTold = true)
        try {
          return await main.call(startBackupTask, { body });
        } catch (thrown) {
          if (!wait || !isOperatingError(thrown, "BACKUP_BUSY")) throw thrown;
          if (!isTold) shell.note("waits for another task about backups to end; 'ringrift backup status' shows it");
          await sleep(shell.clock, LOOK_MS);
        }
    };
    let task = await begin();
    for (let last = ""; wait && task.state === "running"; ) {
      await sleep(shell.clock, LOOK_MS);
      task = await main.call(showBackupTask, { params: { id: task.task_id } });
      const line = task.progress && backupProgress(task.progress, (shell.clock.now() - task.started_at) / 1_000);
      if (line !== null && line !== last) shell.note(line);
      last = line ?? last;
    }
    const raw = await main.raw(showBackupTask, { params: { id: task.task_id } });
    answer(shell, { task: raw }, () => taskDetails(main.read(showBackupTask, raw), shell));
    if (task.state === "failed" || (task.state === "completed" && !isGood(task.report))) throw negative();
  });
}

const PLACE = "the place: folder or s3; default: the first one that is set";

/** What the running system does. */
function registerTasks(backup: Command, shell: Shell): void {
  backup
    .command("run")
    .description("back up now, and wait until it is done; exit code 1 if it fails, or a file that is needed is missing")
    .option("--place <name>", PLACE)
    .option("--no-wait", "only begin it; 'ringrift backup status' shows how far it is")
    .action(({ place, wait }: { place?: string; wait: boolean }) =>
      carryOut(
        shell,
        { kind: "run", place },
        wait,
        (report) => (report as { missing: unknown[] }).missing.length === 0,
      ),
    );
  backup
    .command("drill")
    .description(
      "restore a backup into a folder of its own, start from it, check its books and hashes, and remove it again",
    )
    .argument("[backup]", "its id, or the beginning of it; default: the newest")
    .option("--place <name>", PLACE)
    .option("--no-wait", "only begin it")
    .action((id: string | undefined, { place, wait }: { place?: string; wait: boolean }) =>
      carryOut(shell, { kind: "drill", place, backup: id }, wait, () => true),
    );
  backup
    .command("prune")
    .description(
      "take away backups beyond those that are kept, and what no other one needs; exit code 1 if it refuses to",
    )
    .option("--place <name>", PLACE)
    .option("--max <files>", "remove at most this many files", wholeNumber("--max", 1, 1_000_000))
    .option("--dry-run", "only say what would go")
    .action(({ place, max, dryRun }: { place?: string; max?: number; dryRun?: boolean }) =>
      carryOut(
        shell,
        { kind: "prune", place, max_files: max, dry_run: dryRun ?? false },
        true,
        (report) => (report as { refused: string | null }).refused === null,
      ),
    );
  backup
    .command("status")
    .description("show the places, how old the last backup and the last drill of each are, and what was done lately")
    .action(() => showAnswer(shell, listBackupTasks, { query: {} }, (status) => statusLines(status, shell)));
}

const withPlace = (command: Command): Command =>
  command
    .option(
      "--from <place>",
      "folder or s3 of the settings, or a folder with backups; default: the first one that is set",
    )
    .option("--key-file <file>", "file with the key; default: RINGRIFT_BACKUP_KEY_FILE");

const TELL_MS = 1_000;

/** What works where nothing runs, and where nothing is left. */
function registerReading(backup: Command, shell: Shell, reader: BackupReader): void {
  const watch = () => {
    const began = shell.clock.now();
    let [last, toldAt] = ["", Number.NEGATIVE_INFINITY];
    const onProgress = (progress: BackupProgress): void => {
      const now = shell.clock.now();
      const line = backupProgress(progress, (now - began) / 1_000);
      if (line === last || now - toldAt < TELL_MS) return;
      [last, toldAt] = [line, now];
      shell.note(line);
    };
    return { signal: new AbortController().signal, onProgress };
  };
  withPlace(backup.command("list", { isDefault: true }))
    .description("list the backups of every place, newest first; also when nothing is running")
    .action(async (given: At) => {
      const places = given.from === undefined ? reader.places() : [given.from];
      if (places.length === 0)
        throw OperatingError.invalid("BACKUP_NO_PLACE", "no place for backups is set", {
          hint: "Set RINGRIFT_BACKUP_FOLDER or RINGRIFT_BACKUP_S3_URL, or name a folder with --from.",
        });
      const found: { place: string; backups: BackupReports["list"] }[] = [];
      for (const place of places)
        found.push({ place, backups: await reader.read("list", { ...given, from: place }, {}, watch()) });
      answer(shell, { places: found }, () => found.flatMap(({ place, backups }) => backupLines(place, backups, shell)));
    });
  withPlace(backup.command("verify"))
    .description("read every byte of a backup and compare its hash; exit code 1 if something is damaged or gone")
    .argument("[backup]", "its id, or the beginning of it; default: the newest")
    .option("--quick", "look at the listing and the sizes alone")
    .action(async (id: string | undefined, given: At & { quick?: boolean }) => {
      const report = await reader.read("verify", given, { backup: id, read: given.quick !== true }, watch());
      answer(shell, { verify: report }, () => verifyLines(report, shell));
      if (report.damaged.length > 0) throw negative();
    });
  withPlace(backup.command("restore"))
    .description("bring a backup into a data folder that is empty or not there; nothing is ever written over")
    .argument("[backup]", "its id, or the beginning of it; default: the newest")
    .option("--to <folder>", "the new data folder; default: that of --data-dir")
    .option("--allow-missing", "go on where files of the backup are damaged; what can be is made again after the start")
    .option("--dry-run", "only say what would come, and whether it may")
    .action(async (id: string | undefined, given: At & { to?: string; allowMissing?: boolean; dryRun?: boolean }) => {
      const to = given.to === undefined ? shell.main.dataDir : resolve(shell.io.cwd, given.to);
      const { allowMissing = false, dryRun = false } = given;
      const report = await reader.read("restore", given, { backup: id, to, dryRun, allowMissing }, watch());
      answer(shell, { restore: report }, () => [
        ...restoreLines(report, shell),
        ...(report.dry_run ? [] : [`'ringrift up --data-dir ${to}' starts from it`]),
      ]);
    });
}

/** `ringrift backup`: keep what was trained, and get it back. */
export function registerBackup(backup: Command, shell: Shell, reader: BackupReader): void {
  registerReading(backup, shell, reader);
  registerTasks(backup, shell);
}
