import type { Command } from "commander";
import type { Catalog, EventClass, EventRow } from "../../events/index.ts";
import type { Shell } from "./shell.ts";
import { tableLines } from "./table.ts";
import { plural } from "./text.ts";
import { oneOf } from "./values.ts";

const CLASSES = ["durable", "volatile", "process"] as const satisfies readonly EventClass[];

interface ListOptions {
  readonly category?: string;
  readonly class?: EventClass;
  readonly provisional?: boolean;
}

const flags = (row: EventRow): string => (row.critical ? "critical" : row.provisional ? "provisional" : "");

const forPrograms = (row: EventRow) => ({
  name: row.name,
  value: row.wire,
  category: row.category,
  class: row.class,
  order_key: row.orderKey,
  version: row.version,
  critical: row.critical,
  provisional: row.provisional,
  about: row.about,
});

export function registerEventsList(events: Command, shell: Shell, catalog: Catalog): void {
  const rows = Object.values(catalog.rows);
  const categories = [...new Set(rows.map(({ category }) => category))];
  events
    .command("list")
    .description("list the events of the catalog; needs no running process")
    .option("--category <name>", `only this category: ${categories.join(", ")}`, oneOf("--category", categories))
    .option("--class <class>", `only this class: ${CLASSES.join(", ")}`, oneOf("--class", CLASSES))
    .option("--provisional", "only those that no part of the system emits yet")
    .action((options: ListOptions) => {
      const chosen = rows.filter(
        (row) =>
          (options.category === undefined || row.category === options.category) &&
          (options.class === undefined || row.class === options.class) &&
          (options.provisional !== true || row.provisional),
      );
      if (shell.json) return shell.print({ events: chosen.map(forPrograms) });
      const { paint } = shell;
      const lines = tableLines(
        [
          ["EVENT", "CLASS", "CATEGORY", "NOTE", "WHAT IT TELLS"],
          ...chosen.map((row) => [
            { text: row.name, paint: row.class === "durable" ? paint.cyan : paint.blue },
            row.class,
            row.category,
            { text: flags(row), paint: row.critical ? paint.yellow : paint.dim },
            row.about,
          ]),
        ],
        { width: shell.width },
      );
      for (const line of lines) shell.say(line);
      if (shell.io.isTerminal)
        shell.say(paint.dim(`\n${plural(chosen.length, "event")}; 'ringrift events show <name>' tells more.`));
    });
}
