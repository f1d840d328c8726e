import { type Command, CommanderError } from "commander";
import { didYouMean, OperatingError } from "../../kernel/index.ts";
import { type CliIo, EXIT, reportFailure } from "../../surfaces/commands/index.ts";
import type { CliPorts } from "./commands.ts";
import { createProgram } from "./program.ts";

const HELP = new Set(["commander.helpDisplayed", "commander.version"]);

/** The command that the words lead to: its help is the one to read. */
function commandAt(program: Command, args: readonly string[]): Command {
  let at = program;
  for (const word of args) at = at.commands.find((command) => command.name() === word) ?? at;
  return at;
}

/** A command as one types it. */
function typed(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(" ");
}

/** What a command takes, and where to read more. */
function usageOf(command: Command): string {
  const required = command.options.filter((option) => option.mandatory).map((option) => option.flags);
  const takes = [
    ...required,
    ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
  ];
  return `Type '${[typed(command), ...takes].join(" ")}'; '${typed(command)} --help' explains it.`;
}

const unknownCommand = (word: string, group: Command): OperatingError =>
  OperatingError.invalid("USAGE", `unknown command '${word}'`, {
    hint:
      didYouMean(
        word,
        group.commands.map((command) => command.name()),
      ).trim() || `'${typed(group)} --help' lists them.`,
  });

/** A word too many where commands were expected: what a group does by default was not meant. */
function misspelt(group: Command): string | undefined {
  if (group.commands.length === 0) return undefined;
  return [...group.commands, group].flatMap(({ args, registeredArguments }) =>
    args.slice(registeredArguments.length),
  )[0];
}

/** What is wrong with the command line, in our words: the suggestion is the hint. */
function usageError(error: CommanderError, command: Command): OperatingError {
  const word = error.code === "commander.excessArguments" ? misspelt(command) : undefined;
  if (word !== undefined) return unknownCommand(word, command);
  const [message = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = rest.join(" ").replace(/^\(|\)$/g, "");
  return OperatingError.invalid("USAGE", message, {
    hint:
      suggestion ||
      (error.code.startsWith("commander.missing")
        ? usageOf(command)
        : `'${typed(command)} --help' lists its arguments and options.`),
  });
}

const ASKS_FOR_HELP = new Set(["-h", "--help", "help"]);
/** Global options that take the next word. */
const WITH_VALUE = new Set(["--config", "--data-dir"]);

/** The words that name commands. */
function* commandWords(args: readonly string[]): Generator<string> {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]!;
    if (WITH_VALUE.has(word)) at += 1;
    else if (!word.startsWith("-") && word !== "help") yield word;
  }
}

/** Whoever asks for help on a command that is none is told so: the help of everything would be no answer. */
function assertKnown(program: Command, args: readonly string[]): void {
  if (!args.some((word) => ASKS_FOR_HELP.has(word))) return;
  let at = program;
  for (const word of commandWords(args)) {
    const next = at.commands.find((command) => command.name() === word);
    if (next === undefined && at.commands.length > 0 && at.registeredArguments.length === 0)
      throw unknownCommand(word, at);
    if (next === undefined) return;
    at = next;
  }
}

/** Runs one command line to its end; gives the exit code and never throws. */
export async function runCli(args: readonly string[], io: CliIo, ports: CliPorts): Promise<number> {
  const program = await createProgram(io, ports, args);
  try {
    assertKnown(program, args);
    await program.parseAsync([...args], { from: "user" });
    return EXIT.ok;
  } catch (thrown) {
    // On its way out everything may fail that is being waited for: that is how a command is cut short.
    const isOurs = thrown instanceof CommanderError && thrown.code.startsWith("ringrift.");
    if (io.signal.aborted && !isOurs && !(thrown instanceof OperatingError)) return EXIT.ok;
    const json = program.opts<{ json?: boolean }>().json === true || args.includes("--json");
    if (!(thrown instanceof CommanderError)) return reportFailure(thrown, io, json);
    if (HELP.has(thrown.code)) return EXIT.ok;
    if (thrown.code.startsWith("ringrift.")) return thrown.exitCode;
    // A group without its command: its help has been printed already.
    if (thrown.code === "commander.help") return EXIT.usage;
    return reportFailure(usageError(thrown, commandAt(program, args)), io, json);
  }
}
