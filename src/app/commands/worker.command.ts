import type { Command } from "commander";
import { Option } from "commander";
import type { Random } from "../../kernel/index.ts";
import { type Shell, wholeNumber } from "../../surfaces/commands/index.ts";
import type { SettingOverrides, Settings } from "../settings.ts";
import { serveWorker } from "../worker/serve-worker.ts";

interface WorkerCommandOptions {
  readonly slots?: number;
  readonly under?: number;
}

/** `ringrift worker`: does jobs, in the foreground, for the main process of the folder or for the one it has joined. */
export function registerWorker(
  command: Command,
  shell: Shell,
  random: Random,
  readSettings: (given: SettingOverrides) => Settings,
): void {
  command
    .option("--slots <n>", "jobs at once; default: RINGRIFT_WORKER_SLOTS", wholeNumber("--slots", 1, 1_024))
    .addOption(
      new Option("--under <pid>", "end with this process, which started it")
        .argParser(wholeNumber("--under", 1, 2 ** 31))
        .hideHelp(),
    )
    .action(({ slots, under }: WorkerCommandOptions) =>
      serveWorker(readSettings({ worker: { slots } }), shell, random, under === undefined ? {} : { under }),
    );
}
