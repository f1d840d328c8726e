import type { Command } from "commander";
import { Option } from "commander";
import type { Random } from "../../kernel/index.ts";
import { type Shell, wholeNumber } from "../../surfaces/cli/index.ts";
import type { SettingOverrides, Settings } from "../settings.ts";
import { workUntilTold } from "../worker/work-until-told.ts";

interface WorkerCommandOptions {
  readonly slots?: number;
  readonly under?: number;
}

/** `ringrift worker`: does jobs, in the foreground, for the main process of the folder or for the one it has joined. */
export function registerWorker(
  program: Command,
  shell: Shell,
  random: Random,
  readSettings: (given: SettingOverrides) => Settings,
): void {
  program
    .command("worker")
    .description(
      "do jobs in the foreground until SIGTERM or Ctrl-C; running jobs then have their grace, and what does not end is given back",
    )
    .option("--slots <n>", "jobs at once; RINGRIFT_WORKER_SLOTS unless given", wholeNumber("--slots", 1, 1_024))
    .addOption(
      new Option("--under <pid>", "end with this process, which started it")
        .argParser(wholeNumber("--under", 1, 2 ** 31))
        .hideHelp(),
    )
    .action(({ slots, under }: WorkerCommandOptions) =>
      workUntilTold(readSettings({ slots }), shell, random, under === undefined ? {} : { under }),
    );
}
