import { Command, Help } from "commander";
import {
  type CliIo,
  createJournals,
  createMainProcesses,
  createPaint,
  printableLines,
  type Shell,
  wantsColor,
} from "../../surfaces/commands/index.ts";
import {
  inspectSettings,
  readSettings,
  type SettingOverrides,
  type Settings,
  settingsReport,
  soundPlaces,
} from "../settings.ts";
import { readVersion } from "../version.ts";
import { type CliPorts, commandRows, loadCatalog } from "./commands.ts";

interface GlobalOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
  readonly color: boolean;
}

/** Settings that hold for all commands, as the command line gives them. */
const flagsOf = (program: Command) => {
  const { config, dataDir } = program.opts<GlobalOptions>();
  return { configFile: config, dataDir };
};

function shellOf(program: Command, io: CliIo, ports: CliPorts): Shell {
  const options = () => program.opts<GlobalOptions>();
  let read: Settings | undefined;
  const settings = () => (read ??= readSettings(io.env, io.cwd, flagsOf(program)));
  const main = createMainProcesses(
    () => settings().dataDir,
    async () =>
      (await import("./folder-replica.ts")).openReplica(settings().dataDir) ??
      (await import("./folder-process.ts")).openFolderProcess({ settings: settings(), ...ports }),
  );
  const openFolder = async (folder: string) => {
    const { openFolderJournal } = await import("./folder-journal.ts");
    return openFolderJournal(folder, await loadCatalog(), settings().nodeId);
  };
  return {
    io,
    clock: ports.clock,
    actor: ports.actor,
    journals: createJournals(main, openFolder, ports),
    main,
    get json() {
      return options().json === true;
    },
    get paint() {
      return createPaint(wantsColor(io, options().color));
    },
    get width() {
      return io.isTerminal ? io.columns : Number.POSITIVE_INFINITY;
    },
    say: (...lines) => io.out(lines.map((line) => `${line}\n`).join("")),
    print: (value) => io.out(`${JSON.stringify(value)}\n`),
    note: (line) => io.err(`${printableLines(line)}\n`),
  };
}

const usages = new Map(commandRows.map(([usage]) => [usage.split(" ")[0], usage]));

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
      // Most of the commands are not loaded, and do not know their options.
      subcommandTerm: (command) =>
        usages.get(command.parent === program ? command.name() : "") ?? new Help().subcommandTerm(command),
    })
    // A command that has an option of the same name as a global one is told of the global one.
    .hook("preAction", (_, action) => {
      if (shell().json && action.opts().json !== true) action.setOptionValue("json", true);
    });
}

/**
 * The command line, as a value: run it, or print its documentation from it. Commands that are among the words are there with
 * all they have, the others by name; without words all are.
 */
export async function createProgram(io: CliIo, ports: CliPorts, words?: readonly string[]): Promise<Command> {
  const program = new Command("ringrift");
  const shell = shellOf(program, io, ports);
  settle(program, io, () => shell);
  program
    .description("Coordination for self-play training clusters.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--config <file>", "settings file; default: RINGRIFT_CONFIG, or the nearest ringrift.config.json")
    .option("--data-dir <folder>", "data folder; default: RINGRIFT_DATA_DIR, or the nearest .ringrift")
    .option("--json", "print JSON: one object, or one per line for a stream")
    .option("--no-color", "print no colours")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command");
  const inspect = () => inspectSettings(io.env, io.cwd, flagsOf(program));
  const given = {
    shell,
    ports,
    settings: (said: SettingOverrides) => readSettings(io.env, io.cwd, { ...flagsOf(program), ...said }),
    inspect: () => settingsReport(inspect()),
    where: () => soundPlaces(inspect(), io.cwd),
    whole: () => createProgram(io, ports),
  };
  for (const [usage, about, fill] of commandRows) {
    const [name = ""] = usage.split(" ");
    const command = program.command(name).description(about);
    if (words === undefined || words.includes(name)) await fill(command, given);
  }
  return program;
}
