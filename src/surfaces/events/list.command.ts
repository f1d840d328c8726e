import type { Command } from "commander";
import type { Catalog, EventClass, EventRow } from "../../events/index.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { plural } from "../cli/text.ts";
import { oneOf } from "../cli/values.ts";

const CLASSES = ["durable", "volatile", "process"] as const satisfies readonly EventClass[];

interface ListOptions {
  readonly category?: string;
  readonly class?: EventClass;
  readonly provisional?: boolean;
}

const flags = (row: EventRow): string => (row.critical ? "critical" : row.provisional ? "provisional" : "");

/** A row of the catalog as programs read it. */
export const rowForPrograms = (row: EventRow) => ({
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
    .description("list all events of the catalog; needs no running process")
    .option("--category <name>", `only this category: ${categories.join(", ")}`, oneOf("--category", categories))
    .option("--class <class>", `only this class: ${CLASSES.join(", ")}`, oneOf("--class", CLASSES))
    .option("--provisional", "only events that no part of the system emits yet")
    .action((options: ListOptions) => {
      const chosen = rows.filter(
        (row) =>
          (options.category === undefined || row.category === options.category) &&
          (options.class === undefined || row.class === options.class) &&
          (options.provisional !== true || row.provisional),
      );
      if (shell.json) return shell.print({ events: chosen.map(rowForPrograms) });
      const { paint } = shell;
      const lines = chosen.map((row) => [
        (row.class === "durable" ? paint.cyan : paint.blue)(row.name),
        row.class,
        row.category,
        (row.critical ? paint.yellow : paint.dim)(flags(row)),
        row.about,
      ]);
      shell.say(...tableLines([["EVENT", "CLASS", "CATEGORY", "NOTE", "MEANING"], ...lines], shell));
      if (shell.io.isTerminal)
        shell.say(paint.dim(`\n${plural(chosen.length, "event")}; 'ringrift events show <name>' shows details.`));
    });
}
