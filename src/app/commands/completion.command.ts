import { Argument, type Command } from "commander";
import { answer, type Shell } from "../../surfaces/commands/index.ts";
import { completionScripts } from "./completion/scripts.ts";
import { completionTree } from "./completion/tree.ts";

type ShellName = keyof typeof completionScripts;
const SHELLS = Object.keys(completionScripts) as ShellName[];

const LINES: Readonly<Record<ShellName, string>> = {
  bash: "echo 'eval \"$(ringrift completion bash)\"' >> ~/.bashrc",
  zsh: "echo 'eval \"$(ringrift completion zsh)\"' >> ~/.zshrc",
  fish: "ringrift completion fish > ~/.config/fish/completions/ringrift.fish",
};

/** `whole` is the program with everything that every command has. */
export function registerCompletion(command: Command, shell: Shell, whole: () => Promise<Command>): void {
  command
    .addArgument(new Argument("<shell>", "the shell that you use").choices(SHELLS))
    .addHelpText("after", ["", "To set it up once:", ...SHELLS.map((name) => `  ${LINES[name]}`)].join("\n"))
    .action(async (name: ShellName) => {
      const script = completionScripts[name](completionTree(await whole()));
      answer(shell, { shell: name, script }, () => [script.trimEnd()]);
    });
}
