/** What zsh and fish themselves offer for a line: the shells on the path, or fetched from Debian into a private folder. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasProgram, unpackedPackages } from "./debian-programs.ts";

/** Takes a folder of its own, a script of completions, and a line that is still being typed. */
export type Offers = (folder: string, script: string, line: string) => string[];

const skip = (shell: string): undefined => {
  const why = `the completions of ${shell} cannot be tried: there is no ${shell}, and no package of it`;
  if (process.env.CI === "true") throw new Error(why);
  console.warn(`SKIPPED: ${why}`);
  return undefined;
};

const MOST_MS = 60_000;
const run = (program: string, args: readonly string[], folder: string, env: Readonly<Record<string, string>> = {}) => {
  const options = { cwd: folder, env: { ...process.env, HOME: folder, ...env }, timeout: MOST_MS } as const;
  const { status, stdout, stderr } = spawnSync(program, args, { ...options, encoding: "utf8" });
  if (status !== 0 || stderr !== "") throw new Error(`${program} ended with ${status}: ${stderr}${stdout}`);
  return stdout;
};

export function findFish(): Offers | undefined {
  const program = "usr/bin/fish";
  const root = hasProgram("fish") ? "" : unpackedPackages("fish", ["fish", "fish-common", "libpcre2-32-0"], program);
  if (root === undefined) return skip("fish");
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const env = root === "" ? {} : { LD_LIBRARY_PATH: join(root, `usr/lib/${machine}-linux-gnu`) };
  return (folder, script, line) => {
    writeFileSync(join(folder, "script"), script);
    const ask = "source script; complete -C $argv[1]";
    const said = run(root === "" ? "fish" : join(root, program), ["--no-config", "-c", ask, line], folder, env);
    // A description follows after a tab.
    return said.split("\n").flatMap((offer) => (offer === "" ? [] : [offer.split("\t")[0]!]));
  };
}

/** An unpacked zsh looks for its modules and functions where it would be installed. */
const PLACES = `if [[ -n $root ]]; then
  module_path=($root/usr/lib/*/zsh/*(/))
  fpath=($root/usr/share/zsh/functions $root/usr/share/zsh/functions/**/*(/))
fi`;

/** What is offered is printed between angle brackets; with the first answer the shell ends. */
const TYPED_IN = `${PLACES}
autoload -Uz compinit; compinit -u -D
source ./script
compadd() {
  builtin compadd "$@"; local code=$?
  if [[ \${@[(I)-[OAD]]} -eq 0 ]]; then
    local -a found; builtin compadd -A found "$@"; print -rl -- "<"$^found">"
  fi
  return code
}
finish() { print -r -- "<end>"; exit }
comppostfuncs=(finish)
bindkey '^I' complete-word
PS1=
# What is typed before the line editor listens is the terminal's, and it may make something else of it.
zle-line-init() { print -r -- "<ready>" }
zle -N zle-line-init
`;

/** zsh completes at a terminal alone: one of its own types the line and a tab into another. */
const TYPIST = `${PLACES}
zmodload zsh/zpty
zpty shell $zsh -f -i
zpty -w shell 'source ./typed-in'
zpty -r shell out '*<ready>*'
zpty -w -n shell "$1"$'\\t'
zpty -r shell out '*<end>*'
print -r -- "$out"
`;

export function findZsh(): Offers | undefined {
  const program = "bin/zsh";
  const root = hasProgram("zsh") ? "" : unpackedPackages("zsh", ["zsh", "zsh-common"], program);
  if (root === undefined) return skip("zsh");
  const zsh = root === "" ? "zsh" : join(root, program);
  return (folder, script, line) => {
    for (const [name, text] of Object.entries({ script, "typed-in": TYPED_IN }))
      writeFileSync(join(folder, name), text);
    const said = run(zsh, ["-f", "-c", TYPIST, "zsh", line], folder, { root, zsh, TERM: "dumb" });
    return [...said.matchAll(/<([^<>\n]+)>/g)].map(([, word]) => word!).filter((word) => word !== "end");
  };
}
