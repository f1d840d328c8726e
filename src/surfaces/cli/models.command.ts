import type { Command } from "commander";
import { didYouMean, OperatingError } from "../../kernel/index.ts";
import type { ModelDetails, ModelView } from "../http/ports.ts";
import { eloWords, gateNumbers, shortModel, VERDICT_WORDS } from "./loop-words.ts";
import { askMain } from "./main-process.ts";
import type { Paint } from "./paint.ts";
import type { Shell } from "./shell.ts";
import { bytes } from "./status-view.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, moment, number, printable } from "./text.ts";
import { wholeNumber } from "./values.ts";

interface ListOptions {
  readonly configKey?: string;
  readonly stage?: string;
  readonly limit: number;
}

const stageColor = (paint: Paint, stage: string): ((text: string) => string) => {
  if (stage === "production") return paint.green;
  if (stage === "rolled_back") return paint.red;
  return stage === "archived" ? paint.dim : paint.yellow;
};

function modelLines(models: readonly ModelView[], shell: Pick<Shell, "paint" | "clock" | "width">): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const right = (text: string): Cell => ({ text, align: "right" });
  const rows = models.map((model): Cell[] => [
    { text: shortModel(model.model_id), paint: paint.yellow },
    { text: printable(model.config_key) },
    right(number(model.iteration)),
    { text: printable(model.stage), paint: stageColor(paint, model.stage) },
    right(model.generation === null ? "" : number(model.generation)),
    { text: model.rating === null ? "" : eloWords(model.rating) },
    { text: ago(model.created_at * 1_000, now) },
  ]);
  const head = ["MODEL", "CONFIG", right("ITERATION"), "STAGE", right("GENERATION"), "ELO", "MADE"];
  return tableLines([head, ...rows], shell);
}

function modelDetails(model: ModelDetails, shell: Pick<Shell, "paint" | "clock" | "width">): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const { loss, gate, rating } = model;
  const at = (seconds: number) => `${moment(seconds * 1_000, now)} (${ago(seconds * 1_000, now)})`;
  const facts: [string, string][] = [
    ["config", printable(model.config_key)],
    ["iteration", number(model.iteration)],
    ["stage", printable(model.stage)],
    ["champion", model.generation === null ? "" : `generation ${model.generation}`],
    ["Elo", rating === null ? "" : `${eloWords(rating)} in ${number(rating.games)} games`],
    [
      "loss",
      loss === null
        ? ""
        : `policy ${loss.policy_loss.toFixed(3)}, value ${loss.value_loss.toFixed(3)}` +
          (loss.validation_loss === null ? "" : `, held out ${loss.validation_loss.toFixed(3)}`),
    ],
    [
      "gate",
      gate === null ? "" : `${gate.verdict === null ? "under way" : VERDICT_WORDS[gate.verdict]}: ${gateNumbers(gate)}`,
    ],
    ["goes on from", model.parent === null ? "" : shortModel(model.parent)],
    ["made", at(model.created_at)],
    ["size", model.bytes === null ? "" : bytes(model.bytes)],
  ];
  const files = model.files.map((file): Cell[] => [
    { text: `  ${shortModel(file.sha256)}`, paint: paint.yellow },
    { text: printable(file.kind) },
    { text: `${number(file.rows)} rows` },
  ]);
  const history = model.history.map((step): Cell[] => [
    { text: `  ${moment(step.at * 1_000, now)}`, paint: paint.dim },
    { text: printable(step.stage), paint: stageColor(paint, step.stage) },
    { text: `by ${printable(step.by)}` },
    { text: printable(step.reason), paint: paint.dim },
  ]);
  return [
    paint.bold(printable(model.model_id)),
    ...tableLines(
      facts
        .filter(([, text]) => text !== "")
        .map(([name, text]): Cell[] => [{ text: `  ${name}`, paint: paint.dim }, { text }]),
      shell,
    ),
    ...(files.length === 0 ? [] : ["", "learned from", ...tableLines(files, shell)]),
    ...(history.length === 0 ? [] : ["", "was", ...tableLines(history, shell)]),
  ];
}

const list = ({ configKey, stage, limit }: ListOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const query = new URLSearchParams({ limit: String(limit) });
    if (configKey !== undefined) query.set("config_key", configKey);
    if (stage !== undefined) query.set("stage", stage);
    const { models } = await main.get<{ models: ModelView[] }>(`/v1/models?${query}`);
    if (shell.json) return shell.print({ models });
    if (models.length === 0) return shell.say("no model fits");
    for (const line of modelLines(models, shell)) shell.say(line);
  });

const show = (id: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const model = await main.get<ModelDetails>(`/v1/models/${encodeURIComponent(id)}`);
    if (shell.json) return shell.print({ model });
    for (const line of modelDetails(model, shell)) shell.say(line);
  });

const COMMANDS = ["list", "show"];

/** `ringrift models`: what the loop has made. */
export function registerModels(program: Command, shell: Shell): void {
  const models = program.command("models").description("the models that the loop has made: list, show");
  models
    .command("list", { isDefault: true })
    .description("list them, newest first; this is what 'ringrift models' does")
    .option("--config-key <config>", "only those of a config")
    .option("--stage <name>", "only those at a stage of the registry, as in production or rolled_back")
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .allowExcessArguments(true)
    .action((options: ListOptions, command: Command) => {
      const [wrong] = command.args;
      if (wrong !== undefined)
        throw new OperatingError("USAGE", `unknown command '${wrong}'`, {
          hint: didYouMean(wrong, COMMANDS).trim() || "'ringrift models --help' shows what there is.",
        });
      return list(options, shell);
    });
  models
    .command("show")
    .description("all of one: losses, gate, what it learned from, and what it was when")
    .argument("<model>", "its id, or the first digits of it")
    .action((id: string) => show(id, shell));
}
