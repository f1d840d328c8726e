import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, moment, momentAgo, number, printable } from "../cli/text.ts";
import { figureOf, lossWords, otherCurves, totalLoss } from "../pipeline/curves.ts";
import { eloWords, gateNumbers, shortModel, VERDICT_WORDS } from "../pipeline/words.ts";
import { bytes } from "../status/view.ts";
import type { Model, ModelDetails } from "./wire.ts";

const stageColor = painter({ production: "green", rolled_back: "red", archived: "dim" }, "yellow");

export function modelLines(models: readonly Model[], shell: Shell): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  // Most loops make models of one kind only.
  const areKinds = models.some(({ kind }) => kind !== "standard");
  const rows = models.map((model) => [
    paint.yellow(shortModel(model.model_id)),
    printable(model.config_key),
    ...(areKinds ? [model.kind === "standard" ? "" : printable(model.kind)] : []),
    right(number(model.iteration)),
    stageColor(paint, model.stage)(printable(model.stage)),
    right(model.generation === null ? "" : number(model.generation)),
    model.rating === null ? "" : eloWords(model.rating),
    ago(model.created_at, now),
  ]);
  const kind = areKinds ? ["KIND"] : [];
  const head = ["MODEL", "CONFIG", ...kind, right("ITERATION"), "STAGE", right("GENERATION"), "ELO", "MADE"];
  return tableLines([head, ...rows], shell);
}

/** How a model did in games against the one that it was made of. */
function derivedWords(derived: NonNullable<Model["derived"]>): string {
  const { score, elo, low, high, games } = derived as { score: number } & Partial<
    Record<"elo" | "low" | "high" | "games", number>
  >;
  const won = `${Math.round(100 * score)} % of the points`;
  return elo === undefined || low === undefined || high === undefined || games === undefined
    ? won
    : `${eloWords({ elo, low, high })} in ${number(games)} games, ${won}`;
}

export function modelDetails(model: ModelDetails, shell: Shell): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const { loss, gate, rating } = model;
  const facts = [
    ["config", model.config_key],
    ["iteration", number(model.iteration)],
    ["stage", model.stage],
    ["champion", model.generation === null ? "" : `generation ${model.generation}`],
    ["Elo", rating && `${eloWords(rating)} in ${number(rating.games)} games`],
    ["loss", loss && [totalLoss(loss).toFixed(3), lossWords(loss, ", ")].filter((text) => text !== "").join(": ")],
    ["gate", gate && `${gate.verdict === null ? "under way" : VERDICT_WORDS[gate.verdict]}: ${gateNumbers(gate)}`],
    ["made as", model.derived === null ? "" : printable(`${model.derived.kind}: ${model.derived.architecture}`)],
    ["against its teacher", model.derived === null ? "" : derivedWords(model.derived)],
    [model.derived === null ? "goes on from" : "teacher", model.parent && shortModel(model.parent)],
    ["made", momentAgo(model.created_at, now)],
    ["size", model.bytes === null ? "" : bytes(model.bytes)],
  ] as const;
  const files = model.files.map((file) => [
    paint.yellow(`  ${shortModel(file.sha256)}`),
    printable(file.kind),
    `${number(file.rows)} rows`,
  ]);
  const numbers = (loss === null ? [] : otherCurves([loss])).map(({ name, points }) => [
    `  ${printable(name)}`,
    right(figureOf(points[0]!.value)),
  ]);
  const history = model.history.map((step) => [
    paint.dim(`  ${moment(step.at, now)}`),
    stageColor(paint, step.stage)(printable(step.stage)),
    `by ${printable(step.by)}`,
    paint.dim(printable(step.reason)),
  ]);
  return [
    paint.bold(printable(model.model_id)),
    ...factLines(facts, shell),
    ...sectionLines("reported", numbers, shell),
    ...sectionLines("learned from", files, shell),
    ...sectionLines("was", history, shell),
  ];
}
