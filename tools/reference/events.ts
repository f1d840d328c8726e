import { type EventRow, fieldsOf, type Rows } from "../../src/events/index.ts";
import { page, table } from "./markdown.ts";

/** The reference page of all events, as Markdown: printed from the rows, never written by hand. */
export function printReference(rows: Rows): string {
  const all = Object.values(rows);
  const categories = Map.groupBy(all, (row) => row.category);
  const critical = all.filter((row) => row.critical);
  return page(
    "# Events",
    "Printed from the catalog in `src/events/catalog/`; change the rows, then print it again.",
    summary(all, categories.size),
    ...(critical.length === 0
      ? []
      : [`The pipeline cannot run without a subscriber of each of these: ${names(critical)}.`]),
    "## By category",
    ...[...categories].map(([category, of]) => `### ${titleOf(category)}\n\n${overview(of)}`),
    "## Each event",
    ...all.map(chapter),
    "## Provisional payloads",
    "No part of the system emits these yet. Their payloads may still change, and outside publishers may leave fields out.",
    names(all.filter((row) => row.provisional)),
  );
}

const titleOf = (category: string): string => `${category[0]!.toUpperCase()}${category.slice(1).replaceAll("_", " ")}`;
const anchor = (row: EventRow): string => `[\`${row.name}\`](#${row.name.toLowerCase()})`;
const names = (rows: readonly EventRow[]): string => rows.map(anchor).join(", ") || "None.";

function summary(rows: readonly EventRow[], categories: number): string {
  const counted = (what: string, test: (row: EventRow) => boolean) => [what, String(rows.filter(test).length)];
  return table(
    ["What", "Events"],
    [
      ["all", `${rows.length} in ${categories} categories`],
      counted("durable: journaled, crosses processes and nodes", (row) => row.class === "durable"),
      counted("volatile: crosses, is not journaled", (row) => row.class === "volatile"),
      counted("process: stays in its process", (row) => row.class === "process"),
      counted("with a twin on the stage bus", (row) => row.stage !== null),
      counted("critical", (row) => row.critical),
      counted("provisional", (row) => row.provisional),
    ],
  );
}

const overview = (rows: readonly EventRow[]): string =>
  table(
    ["Event", "Value", "Class", "What it tells"],
    rows.map((row) => [anchor(row), `\`${row.wire}\``, row.class, row.about]),
  );

function chapter(row: EventRow): string {
  const facts = [
    `- Value: \`${row.wire}\`, class ${row.class}, category ${row.category}, payload version ${row.version}`,
    `- Order: ${row.orderKey === null ? "none is kept" : `kept per \`${row.orderKey}\``}`,
    `- Repeats: ${repeats(row)}`,
    row.stage === null ? undefined : `- On the stage bus: \`${row.stage}\``,
    row.legacy.length === 0 ? undefined : `- Older spellings: ${row.legacy.map((name) => `\`${name}\``).join(", ")}`,
    row.critical ? "- Critical: the pipeline cannot run without a subscriber" : undefined,
    row.provisional ? "- Provisional: no part of the system emits it yet" : undefined,
  ];
  const lines = facts.filter((line) => line !== undefined).join("\n");
  return `### ${row.name}\n\n${row.about}\n\n${lines}\n\n${payload(fieldsOf(row))}`;
}

function repeats({ dedup }: EventRow): string {
  if (dedup === "none") return "each is an event of its own";
  if (dedup === "content") return "suppressed within the window when the whole payload is equal";
  const fields = dedup.map((field) => `\`${field}\``).join(" and ");
  return `suppressed within the window when ${fields} ${dedup.length === 1 ? "is" : "are"} equal`;
}

const payload = (fields: ReturnType<typeof fieldsOf>): string =>
  fields.length === 0
    ? "It carries no fields."
    : table(
        ["Field", "Type", "Required", "Meaning"],
        fields.map(({ name, type, required, meaning }) => [`\`${name}\``, type, required ? "yes" : "", meaning]),
      );
