import { Command } from "commander";
import { builtinRows, createCatalog } from "../../events/index.ts";
import type { Clock, Random } from "../../kernel/index.ts";
import {
  type CliIo,
  createJournals,
  createMainProcesses,
  createPaint,
  printableLines,
  registerAlerts,
  registerAudit,
  registerConfig,
  registerDaemons,
  registerDlq,
  registerElo,
  registerEvents,
  registerGames,
  registerHealth,
  registerLedger,
  registerLogs,
  registerModels,
  registerNodes,
  registerPipeline,
  registerPlay,
  registerQueue,
  registerStats,
  registerStatus,
  registerSteering,
  registerToken,
  registerTrace,
  registerWhy,
  registerWorkload,
  type Shell,
  wantsColor,
} from "../../surfaces/cli/index.ts";
import { createArenaConsole } from "../../workloads/arena/index.ts";
import { createWorkloadConsole } from "../../workloads/process/index.ts";
import { registerDemo } from "../demo/demo.command.ts";
import {
  findDataDir,
  inspectSettings,
  readSettings,
  type SettingOverrides,
  settingsReport,
  settingsSchema,
} from "../settings.ts";
import { readVersion } from "../version.ts";
import { auditDeclarations } from "./declarations.ts";
import { registerDoctor } from "./doctor.command.ts";
import { registerDown } from "./down.command.ts";
import { readFolderBooks } from "./folder-books.ts";
import { championsOfFolder } from "./folder-champion.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { registerJoin } from "./join.command.ts";
import { nodeOutboxes } from "./node-outboxes.ts";
import { configKeysOf, registerTrain } from "./train.command.ts";
import { registerUp } from "./up.command.ts";
import { registerWorker } from "./worker.command.ts";

/** What the program needs of the world beyond its terminal. */
export interface CliPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Who runs it; kept on record with what is changed. */
  readonly actor: string;
}

/** For defaults that depend on nothing. */
const NOWHERE = { hostName: "", dataDir: "", configFile: undefined };

interface GlobalOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
  readonly color: boolean;
}

/** Settings that hold for all commands, as the command line gives them. `train --config othello6_2p` names no file. */
const flagsOf = (program: Command) => {
  const { config, dataDir } = program.opts<GlobalOptions>();
  return { config: config === undefined || configKeysOf(config) !== undefined ? undefined : config, dataDir };
};

function shellOf(program: Command, io: CliIo, ports: CliPorts): Shell {
  const options = () => program.opts<GlobalOptions>();
  const settings = () => readSettings(io.env, io.cwd, flagsOf(program));
  const catalog = createCatalog(builtinRows);
  const journals = createJournals({
    dataDir: () => settings().dataDir,
    openFolder: (folder) => openFolderJournal(folder, catalog, settings().nodeId),
    clock: ports.clock,
    random: ports.random,
  });
  return {
    io,
    clock: ports.clock,
    actor: ports.actor,
    journals,
    main: createMainProcesses(() => settings().dataDir),
    get json() {
      return options().json === true;
    },
    get paint() {
      return createPaint(wantsColor(io, options().color));
    },
    get width() {
      return io.isTerminal ? io.columns : Number.POSITIVE_INFINITY;
    },
    say: (line = "") => io.out(`${line}\n`),
    print: (value) => io.out(`${JSON.stringify(value)}\n`),
    note: (line) => io.err(`${printableLines(line)}\n`),
  };
}

/** Help and errors go where the answers go, and nothing ends the process from inside. */
function settle(program: Command, io: CliIo, shell: () => Shell): void {
  program
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      // Errors are thrown, and said once by whoever runs the program.
      outputError: () => {},
      getOutHelpWidth: () => Math.min(io.columns, 120),
      getErrHelpWidth: () => Math.min(io.columns, 120),
      getOutHasColors: () => shell().paint.isColorSupported,
      getErrHasColors: () => shell().paint.isColorSupported,
    })
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (title) => shell().paint.bold(title),
    })
    // A command that has an option of the same name as a global one is told of the global one.
    .hook("preAction", (_, action) => {
      if (shell().json && action.opts().json !== true) action.setOptionValue("json", true);
    });
}

/** The whole command line, as a value: run it, or print its documentation from it. */
export function createProgram(io: CliIo, ports: CliPorts): Command {
  const program = new Command("ringrift");
  const shell = shellOf(program, io, ports);
  const catalog = createCatalog(builtinRows);
  settle(program, io, () => shell);
  program
    .description("Coordination for self-play training clusters.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--config <file>", "file with settings; RINGRIFT_CONFIG or the nearest ringrift.config.json unless given")
    .option("--data-dir <folder>", "data folder; RINGRIFT_DATA_DIR or the nearest .ringrift unless given")
    .option("--json", "print JSON: one object, or one a line where the output goes on")
    .option("--no-color", "no colours, not even on a terminal")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command");
  registerDemo(program, shell);
  const settingsWith = (given: SettingOverrides) => readSettings(io.env, io.cwd, { ...flagsOf(program), ...given });
  registerUp(program, shell, settingsWith);
  registerTrain(program, shell, settingsWith);
  registerDown(program, shell);
  registerWorker(program, shell, ports.random, settingsWith);
  registerJoin(program, shell, ports.random, settingsWith);
  registerStatus(program, shell);
  registerDaemons(program, shell, readFolderBooks);
  registerHealth(program, shell);
  registerAlerts(program, shell);
  registerNodes(program, shell);
  registerQueue(program, shell);
  registerPipeline(program, shell);
  registerModels(program, shell);
  registerElo(program, shell);
  registerLedger(program, shell);
  registerSteering(program, shell);
  registerTrace(program, shell);
  registerWhy(program, shell);
  registerLogs(program, shell);
  registerToken(program, shell);
  registerEvents(
    program,
    shell,
    catalog,
    nodeOutboxes(() => settingsWith({}), ports),
  );
  registerDlq(program, shell, catalog);
  const inspect = () => inspectSettings(io.env, io.cwd, flagsOf(program));
  registerConfig(program, shell, { inspect: () => settingsReport(inspect()) });
  registerDoctor(program, shell, {
    inspect: () => settingsReport(inspect()),
    where() {
      const { settings } = inspect();
      const [folder, port] = [settings.get("data_dir")!, settings.get("api.port")!];
      return {
        dataDir: folder.sound ? (folder.value as string) : findDataDir(io.cwd),
        port: port.sound ? (port.value as number) : settingsSchema["api.port"].fallback(NOWHERE),
      };
    },
  });
  registerStats(program, io);
  registerAudit(program, shell, (facts) => auditDeclarations(ports, facts));
  const arena = createArenaConsole();
  registerGames(program, io, arena);
  registerPlay(program, io, arena, championsOfFolder(shell.main));
  registerWorkload(program, shell, createWorkloadConsole({ ...ports, env: io.env, cwd: io.cwd }));
  return program;
}
