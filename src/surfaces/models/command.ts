import type { Command } from "commander";
import { defaultList, showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { wholeNumber } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { modelDetails, modelLines } from "./view.ts";
import { getModel, listModels } from "./wire.ts";

interface ListOptions {
  readonly configKey?: NonNullable<Input<typeof listModels>["query"]>["config_key"];
  readonly stage?: string;
  readonly limit: number;
}

const list = ({ configKey: config_key, stage, limit }: ListOptions, shell: Shell) =>
  showAnswer(shell, listModels, { query: { config_key, stage, limit } }, ({ models }) =>
    models.length === 0 ? "no model fits" : modelLines(models, shell),
  );

/** `ringrift models`: what the pipeline has made. */
export function registerModels(models: Command, shell: Shell): void {
  defaultList(models, "list them, newest first; this is what 'ringrift models' does")
    .option("--config-key <config>", "only those of a config")
    .option("--stage <name>", "only those at a stage of the registry, as in production or rolled_back")
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .action((options: ListOptions) => list(options, shell));
  models
    .command("show")
    .description("all of one: losses, gate, what it learned from, and what it was when")
    .argument("<model>", "its id, or the first digits of it")
    .action((id: string) =>
      showAnswer(shell, getModel, { params: { id } }, (model) => modelDetails(model, shell), "model"),
    );
}
