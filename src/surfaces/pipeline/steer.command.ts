import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { printable } from "../cli/text.ts";
import { sentence } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { type Decided, pausePipeline, promoteModel, resumePipeline, retryPipeline, rollbackPipeline } from "./wire.ts";
import { shortModel } from "./words.ts";

type ConfigKey = Input<typeof pausePipeline>["params"]["config"];

interface SteerOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

const valueWords = (value: string | number | null): string => (value === null ? "nothing" : shortModel(String(value)));

export function decidedLines({ config_key, applied, changes }: Decided): string[] {
  const key = printable(config_key);
  if (changes.length === 0) return [`${key}: there is nothing to do`];
  const lines = changes.map(
    ({ what, before, after }) => `${key}: ${printable(what)}: ${valueWords(before)} -> ${valueWords(after)}`,
  );
  return applied ? lines : [...lines, "nothing was changed: this was a dry run"];
}

const steer = <W extends typeof promoteModel | typeof pausePipeline>(
  route: W,
  params: Input<W>["params"],
  { reason, dryRun }: SteerOptions,
  shell: Shell,
) => showAnswer(shell, route, { params, body: { reason, dry_run: dryRun } } as Input<W>, decidedLines);

export const withDecision = (command: Command) =>
  command
    .option("--reason <text>", "the reason; it is recorded", sentence("--reason"))
    .option("--dry-run", "only show what would change");

/** What a person may decide about the loop: `ringrift promote`, and of a config `rollback`, `pause`, `resume` and `retry`. */
export const registerPromote = (command: Command, shell: Shell): void => {
  command.argument("<model>", "its id, or the first characters of it, as 'ringrift models' shows them");
  withDecision(command).action((id: string, options: SteerOptions) => steer(promoteModel, { id }, options, shell));
};

const ofConfig = (route: typeof pausePipeline) => (command: Command, shell: Shell) => {
  command.argument("<config>", "the config, for example othello6_2p");
  withDecision(command).action((config: ConfigKey, options: SteerOptions) => steer(route, { config }, options, shell));
};

export const registerRollback = ofConfig(rollbackPipeline);
export const registerPause = ofConfig(pausePipeline);
export const registerResume = ofConfig(resumePipeline);
export const registerRetry = ofConfig(retryPipeline);
