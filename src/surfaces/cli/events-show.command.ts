import type { Command } from "commander";
import { type Catalog, type EventRow, fieldsOf, payloadSchemaOf } from "../../events/index.ts";
import { examplePayload, exampleWords } from "./example-payload.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { wrap, wrapText } from "./text.ts";

const CLASS_MEANS: Readonly<Record<EventRow["class"], string>> = {
  durable: "journaled, crosses processes and nodes, every consumer gets it",
  volatile: "crosses processes and nodes, is not journaled",
  process: "stays in its process",
};

const repeats = ({ dedup }: EventRow): string => {
  if (dedup === "none") return "each is an event of its own";
  if (dedup === "content") return "suppressed within the window when the whole payload is equal";
  return `suppressed within the window when ${dedup.join(" and ")} ${dedup.length === 1 ? "is" : "are"} equal`;
};

function facts(row: EventRow): [string, string][] {
  const all: [string, string | false][] = [
    ["value", row.wire],
    ["category", row.category],
    ["class", `${row.class}: ${CLASS_MEANS[row.class]}`],
    ["order", row.orderKey === null ? "none is kept" : `kept per ${row.orderKey}`],
    ["repeats", repeats(row)],
    ["stage bus", row.stage ?? false],
    ["old names", row.legacy.length > 0 && row.legacy.join(", ")],
    ["version", `payload version ${row.version}`],
    ["critical", row.critical && "the pipeline cannot run without a subscriber"],
    ["provisional", row.provisional && "no part of the system emits it yet; its payload may still change"],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== false);
}

/** The command line that publishes an example, broken where the shell allows it. */
export function exampleCommand(row: EventRow, width: number): string[] {
  const pieces = exampleWords(row).map((text) => ({ text }));
  const lines = [
    `ringrift events publish ${row.name}`,
    ...wrap(pieces, width - 6).map((line) => `  ${line.map(({ text }) => text).join(" ")}`),
  ];
  return lines.map((line, i) => (i === lines.length - 1 ? line : `${line} \\`));
}

const MOST_TYPE_COLUMNS = 28;

/** Rows of a table whose cells may take several lines. */
const stacked = (columns: readonly (readonly string[])[]): string[][] =>
  Array.from({ length: Math.max(...columns.map((lines) => lines.length)) }, (_, i) =>
    columns.map((lines) => lines[i] ?? ""),
  );

function fieldRows(row: EventRow, width: number): string[][] {
  const fields = fieldsOf(row);
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const nameColumns = widest(fields.map(({ name }) => name)) + 2;
  const typeColumns = Math.min(MOST_TYPE_COLUMNS, widest(fields.map(({ type }) => type)));
  const meaningColumns = Math.max(20, width - nameColumns - typeColumns - "REQUIRED".length - 6);
  return fields.flatMap(({ name, type, required, meaning }) =>
    stacked([
      [`  ${name}`],
      wrapText(type.replaceAll("`", ""), MOST_TYPE_COLUMNS),
      [required ? "yes" : ""],
      wrapText(meaning, meaningColumns),
    ]),
  );
}

function show(row: EventRow, shell: Shell): void {
  const { paint } = shell;
  const width = Math.min(shell.width, 100);
  const sayTable = (rows: readonly (readonly Cell[])[]) => {
    for (const line of tableLines(rows, { width })) shell.say(line);
  };
  shell.say(paint.bold(paint.cyan(row.name)));
  for (const line of wrapText(row.about, width)) shell.say(line);
  shell.say();
  sayTable(
    facts(row).flatMap(([name, text]) =>
      stacked([[`  ${name}`], wrapText(text, width - 15)]).map(([left = "", right = ""]) => [
        { text: left, paint: paint.dim },
        { text: right },
      ]),
    ),
  );
  shell.say();
  if (fieldsOf(row).length === 0) shell.say("It carries no fields.");
  else
    sayTable([
      ["  FIELD", "TYPE", "REQUIRED", "MEANING"].map((text) => ({ text })),
      ...fieldRows(row, width).map(([name = "", ...rest]): Cell[] => [
        { text: name, paint: paint.yellow },
        ...rest.map((text) => ({ text })),
      ]),
    ]);
  shell.say("\nExample");
  for (const line of exampleCommand(row, width)) shell.say(`  ${line}`);
}

export function registerEventsShow(events: Command, shell: Shell, catalog: Catalog): void {
  events
    .command("show")
    .description("show one event: fields, class, order, repeats, an example; needs no running process")
    .argument("<name>", "the event in any spelling: TRAINING_COMPLETED, training_completed, an old name")
    .action((spelling: string) => {
      const resolved = catalog.names.resolve(spelling);
      const row = resolved === undefined ? undefined : catalog.row(resolved.name);
      if (row === undefined) throw catalog.names.unknown(spelling);
      if (!shell.json) return show(row, shell);
      shell.print({
        name: row.name,
        value: row.wire,
        category: row.category,
        class: row.class,
        order_key: row.orderKey,
        dedup: row.dedup,
        legacy: row.legacy,
        stage: row.stage,
        version: row.version,
        critical: row.critical,
        provisional: row.provisional,
        about: row.about,
        fields: fieldsOf(row),
        payload_schema: payloadSchemaOf(row),
        example: examplePayload(row),
      });
    });
}
