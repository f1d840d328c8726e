/** What shells read to complete commands. Each script holds all it needs: pressing Tab starts no process. */
import { type CompletedCommand, type CompletedOption, everyCommand } from "./tree.ts";

/** As one word of a shell, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** fish reads backslashes inside quotes. */
const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const wordsAt = ({ commands, options, choices }: CompletedCommand): string[] => [
  ...commands.map(({ name }) => name),
  ...choices,
  ...options.map(({ flag }) => flag),
];

/** The places of all commands but the program's own, as the alternatives of a `case`. */
const places = (all: readonly CompletedCommand[]): string =>
  all
    .slice(1)
    .map(({ place }) => place)
    .join("|");

const withValue = (all: readonly CompletedCommand[]): (CompletedOption & { readonly place: string })[] =>
  all.flatMap(({ place, options }) =>
    options.filter(({ value }) => value !== "none").map((option) => ({ ...option, place })),
  );

function bashScript(tree: CompletedCommand): string {
  const all = everyCommand(tree);
  const values = withValue(all).map(({ place, flag, value }) => {
    // Without words of its own the shell completes file names.
    const words = typeof value === "string" ? "" : value.join(" ");
    return `    ${quoted(`${place} ${flag}`)}) COMPREPLY=($(compgen -W ${quoted(words)} -- "$cur")); return ;;`;
  });
  return [
    '# Completion of ringrift for bash: eval "$(ringrift completion bash)"',
    "_ringrift() {",
    `  local cur="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" at="" words="" i`,
    "  for ((i = 1; i < COMP_CWORD; i++)); do",
    `    case "$at/\${COMP_WORDS[i]}" in`,
    `      ${places(all)}) at="$at/\${COMP_WORDS[i]}" ;;`,
    "    esac",
    "  done",
    '  case "$at $before" in',
    ...values,
    "  esac",
    '  case "$at" in',
    ...all.map((command) => `    ${quoted(command.place)}) words=${quoted(wordsAt(command).join(" "))} ;;`),
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    "}",
    "complete -o default -F _ringrift ringrift",
    "",
  ].join("\n");
}

function zshScript(tree: CompletedCommand): string {
  const all = everyCommand(tree);
  const item = (word: string, about: string) => quoted(`${word.replaceAll(":", "\\:")}:${about}`);
  const values = withValue(all).map(({ place, flag, value }) =>
    typeof value === "string"
      ? `    ${quoted(`${place} ${flag}`)}) _files; return ;;`
      : `    ${quoted(`${place} ${flag}`)}) compadd -- ${value.map(quoted).join(" ")}; return ;;`,
  );
  const itemsAt = ({ commands, choices, options }: CompletedCommand) =>
    [
      ...commands.map(({ name, about }) => item(name, about)),
      ...choices.map(quoted),
      ...options.map(({ flag, about }) => item(flag, about)),
    ].join(" ");
  return [
    "#compdef ringrift",
    "# Completion of ringrift for zsh: eval \"$(ringrift completion zsh)\", or into a file '_ringrift' of $fpath",
    "_ringrift() {",
    '  local at="" word',
    "  local -a items",
    `  for word in \${words[2,CURRENT-1]}; do`,
    '    case "$at/$word" in',
    `      ${places(all)}) at="$at/$word" ;;`,
    "    esac",
    "  done",
    `  case "$at \${words[CURRENT-1]}" in`,
    ...values,
    "  esac",
    '  case "$at" in',
    ...all.map((command) => `    ${quoted(command.place)}) items=(${itemsAt(command)}) ;;`),
    "  esac",
    "  _describe ringrift items || _files",
    "}",
    "compdef _ringrift ringrift",
    "",
  ].join("\n");
}

function fishScript(tree: CompletedCommand): string {
  const all = everyCommand(tree);
  const linesAt = ({ place, commands, choices, options }: CompletedCommand): string[] => {
    const here = `complete -c ringrift -n ${fishQuoted(`__ringrift_at "${place}"`)}`;
    return [
      ...commands.map(({ name, about }) => `${here} -f -a ${fishQuoted(name)} -d ${fishQuoted(about)}`),
      ...choices.map((word) => `${here} -f -a ${fishQuoted(word)}`),
      ...options.map(({ flag, about, value }) => {
        const takes = value === "none" ? "" : value === "any" ? " -r" : ` -x -a ${fishQuoted(value.join(" "))}`;
        return `${here} -l ${fishQuoted(flag.replace(/^--/, ""))}${takes} -d ${fishQuoted(about)}`;
      }),
    ];
  };
  return [
    "# Completion of ringrift for fish: ringrift completion fish | source",
    "function __ringrift_at",
    "  set -l at ''",
    "  for word in (commandline -opc)[2..-1]",
    '    switch "$at/$word"',
    `      case ${all
      .slice(1)
      .map(({ place }) => fishQuoted(place))
      .join(" ")}`,
    '        set at "$at/$word"',
    "    end",
    "  end",
    '  test "$at" = "$argv[1]"',
    "end",
    ...all.flatMap(linesAt),
    "",
  ].join("\n");
}

export const completionScripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
