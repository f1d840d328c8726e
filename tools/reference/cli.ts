import { Readable } from "node:stream";
import type { Command } from "commander";
import { createProgram, systemPorts } from "../../src/app/cli.ts";
import { EXIT } from "../../src/surfaces/commands/index.ts";
import { page, table } from "./markdown.ts";

const COLUMNS = 100;

/** A new exit code does not compile until it is explained. */
const MEANING: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "It worked.",
  negative: 'It worked, and the answer is "no": an audit that fails, a check that does not hold.',
  usage: "The command line itself is wrong.",
  notFound: "What was asked for does not exist.",
  unavailable: "The system is not there or cannot serve now; later it may.",
  failed: "Anything else went wrong.",
};

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** What `--help` prints for each command, examples and all; options that all commands share are told once. */
export async function printCommands(): Promise<string> {
  let heard = "";
  const program = await createProgram(
    {
      out: (text) => {
        heard += text;
      },
      err: () => {},
      env: {},
      cwd: "/",
      stdin: Readable.from([]),
      isTerminal: false,
      columns: COLUMNS,
      signal: new AbortController().signal,
    },
    systemPorts(),
  );
  const chapters = (command: Command): string[] => {
    heard = "";
    command.configureHelp({ ...command.configureHelp(), showGlobalOptions: false }).outputHelp();
    const own = `## ${nameOf(command)}\n\n\`\`\`text\n${heard.trim()}\n\`\`\``;
    return [own, ...command.commands.flatMap(chapters)];
  };
  return page(
    "# Commands",
    "Printed from the program. The options of `ringrift` itself can be given to every command.",
    "Exit codes never change their meaning:",
    table(
      ["Code", "Meaning"],
      Object.entries(EXIT).map(([name, code]) => [String(code), MEANING[name as keyof typeof EXIT]]),
    ),
    ...chapters(program),
  );
}
