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
    models.length === 0 ? "no models" : modelLines(models, shell),
  );

/** `ringrift models`: what the pipeline has made. */
export function registerModels(models: Command, shell: Shell): void {
  defaultList(models, "list models, newest first; 'ringrift models' does the same")
    .option("--config-key <config>", "only of this config")
    .option("--stage <name>", "only at this stage of the registry, for example production or rolled_back")
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, 1_000), 50)
    .action((options: ListOptions) => list(options, shell));
  models
    .command("show")
    .description("show one model: losses, gate, what it was trained on, and its history")
    .argument("<model>", "its id, or the first characters of it")
    .action((id: string) =>
      showAnswer(shell, getModel, { params: { id } }, (model) => modelDetails(model, shell), "model"),
    );
}
