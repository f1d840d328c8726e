import type { Command } from "commander";
import { type Catalog, type EventRow, fieldsOf, payloadSchemaOf } from "../../events/index.ts";
import { defined } from "../../kernel/index.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { duration, wrap, wrapText } from "../cli/text.ts";
import type { Answer } from "../http/wire.ts";
import { examplePayload, exampleWords } from "./example-payload.ts";
import { rowForPrograms } from "./list.command.ts";
import { getEventUse } from "./wire.ts";

const CLASS_MEANS: Readonly<Record<EventRow["class"], string>> = {
  durable: "journaled, crosses processes and nodes, every consumer gets it",
  volatile: "crosses processes and nodes, is not journaled",
  process: "stays in its process",
};

const repeats = ({ dedup }: EventRow): string => {
  if (dedup === "none") return "each is a separate event";
  if (dedup === "content") return "suppressed within the window when the whole payload is equal";
  return `suppressed within the window when ${dedup.join(" and ")} ${dedup.length === 1 ? "is" : "are"} equal`;
};

/** Where there is nothing to say, the text is empty. */
const factsOf = (row: EventRow): [name: string, text: string][] => [
  ["value", row.wire],
  ["category", row.category],
  ["class", `${row.class}: ${CLASS_MEANS[row.class]}`],
  ["order", row.orderKey === null ? "not kept" : `kept for each ${row.orderKey}`],
  ["repeats", repeats(row)],
  ["stage bus", row.stage ?? ""],
  ["old names", row.legacy.join(", ")],
  ["version", `payload version ${row.version}`],
  ["critical", row.critical ? "the pipeline cannot run without a subscriber" : ""],
  ["provisional", row.provisional ? "no part of the system emits it yet; its payload may still change" : ""],
];

/** The command line that publishes an example, broken where the shell allows it. */
export function exampleCommand(row: EventRow, width: number): string[] {
  const pieces = exampleWords(row).map((text) => ({ text }));
  const lines = [
    `ringrift events publish ${row.name}`,
    ...wrap(pieces, width - 6).map((line) => `  ${line.map(({ text }) => text).join(" ")}`),
  ];
  return lines.map((line, i) => (i === lines.length - 1 ? line : `${line} \\`));
}

const MAX_TYPE_COLUMNS = 28;

/** Rows of a table whose cells may take several lines. */
const stacked = (columns: readonly (readonly string[])[]): string[][] =>
  Array.from({ length: Math.max(...columns.map((lines) => lines.length)) }, (_, i) =>
    columns.map((lines) => lines[i] ?? ""),
  );

function fieldRows(row: EventRow, width: number): string[][] {
  const fields = fieldsOf(row);
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const nameColumns = widest(fields.map(({ name }) => name)) + 2;
  const typeColumns = Math.min(MAX_TYPE_COLUMNS, widest(fields.map(({ type }) => type)));
  const meaningColumns = Math.max(20, width - nameColumns - typeColumns - "REQUIRED".length - 6);
  return fields.flatMap(({ name, type, required, meaning }) =>
    stacked([
      [`  ${name}`],
      wrapText(type.replaceAll("`", ""), MAX_TYPE_COLUMNS),
      [required ? "yes" : ""],
      wrapText(meaning, meaningColumns),
    ]),
  );
}

const ago = (at: number, now: number): string => `${duration(Math.max(0, now - at))} ago`;

/** What a running process knows of it: who says it, who hears it, how often it comes. */
function useFacts(use: Answer<typeof getEventUse>, now: number): [name: string, text: string][] {
  const sources = use.sources.map((each) => `${each.source} (${each.events}, ${ago(each.last_seen_at, now)})`);
  const consumers = use.consumers.map(({ consumer, lag }) => (lag === 0 ? consumer : `${consumer} (${lag} behind)`));
  return [
    ["emitted by", use.emitters.join(", ") || "no unit"],
    ["seen from", sources.join(", ") || "nobody yet"],
    ["heard by", use.hearers.join(", ") || "no unit"],
    ["consumers", consumers.join(", ")],
    ["listeners", use.listeners.join(", ")],
    ["rate", `${use.last_hour} in the last hour, ${use.per_hour} per hour over the last day`],
    ["last seen", use.last_seen_at === null ? "never" : ago(use.last_seen_at, now)],
  ];
}

function show(row: EventRow, shell: Shell, use: Answer<typeof getEventUse> | undefined): void {
  const { paint } = shell;
  const width = Math.min(shell.width, 100);
  const facts = [...factsOf(row), ...(use === undefined ? [] : useFacts(use, shell.clock.now()))]
    .filter(([, text]) => text !== "")
    .flatMap(([name, text]) => stacked([[`  ${name}`], wrapText(text, width - 15)]));
  const paintedFirst = (rows: readonly string[][], color: (text: string) => string) =>
    rows.map(([first = "", ...rest]) => [color(first), ...rest]);
  const fields = [["  FIELD", "TYPE", "REQUIRED", "MEANING"], ...paintedFirst(fieldRows(row, width), paint.yellow)];
  shell.say(
    paint.bold(paint.cyan(row.name)),
    ...wrapText(row.about, width),
    "",
    ...tableLines(paintedFirst(facts, paint.dim), { width }),
    "",
    ...(fieldsOf(row).length === 0 ? ["It has no fields."] : tableLines(fields, { width })),
    "",
    "Example",
    ...exampleCommand(row, width).map((line) => `  ${line}`),
  );
}

export function registerEventsShow(events: Command, shell: Shell, catalog: Catalog): void {
  events
    .command("show")
    .description(
      "show one event: fields, class, order, repeats, an example; with a running process also who publishes and hears it, and how often",
    )
    .argument("<name>", "the event in any spelling: TRAINING_COMPLETED, training_completed, an old name")
    .action(async (spelling: string) => {
      const resolved = catalog.names.resolve(spelling);
      const row = resolved === undefined ? undefined : catalog.row(resolved.name);
      if (row === undefined) throw catalog.names.unknown(spelling);
      using main = await shell.main.find();
      const raw = await main?.raw(getEventUse, { params: { name: row.name } });
      if (!shell.json) return show(row, shell, raw === undefined ? undefined : main?.read(getEventUse, raw));
      shell.print({
        ...rowForPrograms(row),
        dedup: row.dedup,
        legacy: row.legacy,
        stage: row.stage,
        fields: fieldsOf(row),
        payload_schema: payloadSchemaOf(row),
        example: examplePayload(row),
        ...defined({ use: raw }),
      });
    });
}
