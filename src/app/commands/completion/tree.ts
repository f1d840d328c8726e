import type { Command, Option } from "commander";

export interface CompletedOption {
  /** As in `--data-dir`. */
  readonly flag: string;
  readonly about: string;
  /** What may follow it: nothing, one of these words, or anything. */
  readonly value: "none" | "any" | readonly string[];
}

/** A command as shells complete it; its place is the way to it, as in `/queue/list`. */
export interface CompletedCommand {
  readonly place: string;
  readonly name: string;
  readonly about: string;
  readonly options: readonly CompletedOption[];
  /** Words that may be its first argument, where it says which. */
  readonly choices: readonly string[];
  readonly commands: readonly CompletedCommand[];
}

/** The first sentence is enough beside a word. */
const inShort = (text: string): string => text.split(/[;\n]|\. /)[0]!.trim();

const optionOf = ({ long, description, argChoices, required, optional }: Option): CompletedOption[] => {
  if (!long) return [];
  const value = argChoices ?? (required || optional ? "any" : "none");
  return [{ flag: long, about: inShort(description), value }];
};

const HELP: CompletedOption = { flag: "--help", about: "print help", value: "none" };

/** Everything that can be typed, taken from the program itself. Options of the program can be given to every command. */
export function completionTree(program: Command): CompletedCommand {
  const shared = program.options.flatMap(optionOf).filter(({ flag }) => flag !== "--version");
  const treeOf = (command: Command, place: string): CompletedCommand => ({
    place,
    name: command.name(),
    about: inShort(command.description()),
    options: [...command.options.flatMap(optionOf), ...(command === program ? [] : shared), HELP],
    choices: command.registeredArguments[0]?.argChoices ?? [],
    commands: command.commands.map((each) => treeOf(each, `${place}/${each.name()}`)),
  });
  return treeOf(program, "");
}

export const everyCommand = (tree: CompletedCommand): CompletedCommand[] => [
  tree,
  ...tree.commands.flatMap(everyCommand),
];
