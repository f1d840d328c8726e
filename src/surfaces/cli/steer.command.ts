import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import type { LoopDecided } from "../http/ports.ts";
import { shortModel } from "./loop-words.ts";
import { askMain } from "./main-process.ts";
import type { Shell } from "./shell.ts";
import { printable } from "./text.ts";

interface SteerOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

const valueWords = (value: string | number | null): string => (value === null ? "nothing" : shortModel(String(value)));

function decidedLines({ config_key, applied, changes }: LoopDecided): string[] {
  const key = printable(config_key);
  if (changes.length === 0) return [`${key}: there is nothing to do`];
  const lines = changes.map(
    ({ what, before, after }) => `${key}: ${printable(what)}: ${valueWords(before)} -> ${valueWords(after)}`,
  );
  return applied ? lines : [...lines, "nothing was changed: this was a dry run"];
}

const decide = (path: string, { reason, dryRun }: SteerOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const body = { ...(reason === undefined ? {} : { reason }), ...(dryRun === true ? { dry_run: true } : {}) };
    const decided = await main.post<LoopDecided>(path, body);
    if (shell.json) return shell.print(decided);
    for (const line of decidedLines(decided)) shell.say(line);
  });

const reasonOption = (text: string): string => {
  if (text.trim() === "" || text.length > 500)
    throw new OperatingError("INVALID_OPTION", "--reason is a sentence of at most 500 characters");
  return text;
};

const VERBS = {
  pause: "hold a config: what runs ends, and nothing new begins until 'resume'",
  resume: "let a config that was held go on",
  rollback: "put the last good champion of a config back",
} as const;

/** `ringrift promote`, `rollback`, `pause` and `resume`: what a person may decide about the loop. */
export function registerSteering(program: Command, shell: Shell): void {
  const withOptions = (command: Command) =>
    command
      .option("--reason <text>", "why; kept on record", reasonOption)
      .option("--dry-run", "only say what would change");
  withOptions(
    program
      .command("promote")
      .description("make a model the champion of its config by hand; if it turns out worse it is rolled back")
      .argument("<model>", "its id, or the first digits of it as 'ringrift models' shows them"),
  ).action((model: string, options: SteerOptions) =>
    decide(`/v1/models/${encodeURIComponent(model)}/promote`, options, shell),
  );
  for (const verb of ["rollback", "pause", "resume"] as const)
    withOptions(program.command(verb).description(VERBS[verb]).argument("<config>", "as in othello6_2p")).action(
      (configKey: string, options: SteerOptions) =>
        decide(`/v1/loop/${encodeURIComponent(configKey)}/${verb}`, options, shell),
    );
}
