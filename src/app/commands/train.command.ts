import { existsSync } from "node:fs";
import { availableParallelism, hostname } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { createLog, defined, OperatingError } from "../../kernel/index.ts";
import { configPlanSchema } from "../../pipeline/index.ts";
import { lengthOfTime, type Shell, wholeNumber } from "../../surfaces/commands/index.ts";
import { surfaceUrl } from "../../surfaces/index.ts";
import { DEFAULT_CONFIG_KEY } from "../../workloads/arena/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { plansFor } from "../pipeline/plans.ts";
import type { SettingOverrides, Settings } from "../settings.ts";
import { readVersion } from "../version.ts";
import { workloadList } from "../worker/workload-list.ts";
import { createChaos } from "./train/chaos/chaos.ts";
import { allowChaos, forgetChaos } from "./train/chaos/chaos-folder.ts";
import { startLines } from "./train/start-lines.ts";
import { createTrainGuest } from "./train/train-guest.ts";
import { logStreamFor } from "./up/log-stream.ts";
import { runMain } from "./up.command.ts";

/** Config keys in a list with commas; undefined if it is something else, as a file. */
function configKeysOf(text: string): string[] | undefined {
  const keys = text.split(",").map((key) => key.trim());
  const isKey = (key: string) => configPlanSchema().shape.config_key.safeParse(key).success;
  return keys.every(isKey) ? keys : undefined;
}

/** What is said before anything is done. */
const startOf = (settings: Settings, configs: readonly string[], options: TrainOptions, env: Shell["io"]["env"]) => ({
  version: readVersion(),
  configs,
  workers: settings.localWorkers,
  processors: availableParallelism(),
  dataDir: settings.dataDir,
  goesOn: existsSync(join(settings.dataDir, "coordination.db")),
  port: settings.port,
  page: surfaceUrl(
    { host: settings.api.host, port: settings.port, secure: settings.api.tlsCertFile !== undefined },
    { serverName: settings.api.serverName, hostname: hostname() },
  ),
  forMs: options.for,
  command: env.npm_lifecycle_event === "start" ? "npx ringrift" : "ringrift",
  report: options.report === false ? undefined : (options.report ?? join(settings.dataDir, "report.html")),
});

interface TrainOptions {
  readonly for?: number;
  readonly workers?: number;
  readonly headless?: boolean;
  readonly seed?: number;
  readonly iterations?: number;
  readonly port?: number;
  readonly report?: string | false;
  readonly chaos?: boolean;
  readonly yes?: boolean;
}

/** Under --chaos every file is looked at this often, so that damage is found while one watches; else once a day. */
const CHAOS_SCRUB = { everyMs: 5_000, againMs: 10_000, max: 1_000 } as const;

/** `ringrift train`: the main process with workers beside it and the loop in it, until it is told to stop. */
export function registerTrain(
  command: Command,
  shell: Shell,
  readSettings: (given: SettingOverrides) => Settings,
): void {
  command
    .argument("[configs...]", `what to train, for example ${DEFAULT_CONFIG_KEY}; --config does the same`)
    .option("--for <time>", "stop after this time, for example 5m", lengthOfTime("--for"))
    .option(
      "--iterations <n>",
      "stop when every config has done this many rounds",
      wholeNumber("--iterations", 1, 1_000_000),
    )
    .option(
      "--workers <n>",
      "jobs at once on this machine; default: one per processor. 0 leaves all work to machines that join",
      wholeNumber("--workers", 0, 1_024),
    )
    .option("--seed <n>", "seed of the whole run; default: 1", wholeNumber("--seed", 0, 0xffff_ffff))
    .option("--port <n>", "port of the API; 0 picks a free one", wholeNumber("--port", 0, 65_535))
    .option("--headless", "no live view: print one line for each thing that happens")
    .option("--report <file>", "file of the report; default: report.html in the data folder")
    .option("--no-report", "no report at the end")
    .option(
      "--chaos",
      "kill workers, damage files and poison a producer on purpose, and show how each is caught; exit code 1 if one is not caught in time",
    )
    .option("--yes", "allow --chaos in a folder whose champion was trained without it")
    .action(async (given: readonly string[], options: TrainOptions) => {
      const { config } = command.optsWithGlobals<{ config?: string }>();
      const named = config === undefined ? undefined : configKeysOf(config);
      const keys = given.length > 0 ? given : (named ?? [DEFAULT_CONFIG_KEY]);
      const workers = options.workers ?? availableParallelism();
      const settings = readSettings({
        port: options.port,
        localWorkers: workers,
        // `--config othello6_2p` names no file.
        configFile: named === undefined ? config : undefined,
      });
      const { configFile } = settings;
      const workloads = workloadList(configFile, settings.worker.graceMs / 1_000);
      const flags = {
        ...defined({ seed: options.seed, most_iterations: options.iterations }),
      };
      const plans = plansFor(keys, flags, { configFile, workloads, workers });
      if (options.chaos === true && settings.p2p.raftEnabled)
        throw OperatingError.invalid("USAGE", "--chaos is for a coordinator by itself", {
          hint: "Unset RINGRIFT_RAFT_ENABLED and choose a folder of its own with --data-dir.",
        });
      if (options.chaos === true) allowChaos(settings.dataDir, options.yes === true);
      else forgetChaos(settings.dataDir);
      const { clock } = shell;
      const stream = logStreamFor(shell, undefined, true);
      const log = createLog(settings.logLevel, defined({ stream }));
      const chaos = options.chaos === true ? createChaos({ seed: plans[0]!.plan.seed, clock, log }) : undefined;
      const guest = createTrainGuest({
        settings,
        shell,
        plans,
        forMs: options.for,
        report: options.report,
        plain: !shell.io.isTerminal || options.headless === true || shell.json,
        chaos,
        command: chaos === undefined ? "ringrift train" : "ringrift train --chaos",
      });
      if (!shell.json)
        shell.say(...startLines(startOf(settings, keys, options, shell.io.env), Math.min(shell.width, 120)));
      const scrub = chaos === undefined ? {} : { scrub: CHAOS_SCRUB };
      await runMain(
        { ...options, isStory: true },
        settings,
        shell,
        (start) => bootstrapCoordination({ ...start, ...scrub, plans }),
        guest,
      );
    });
}
