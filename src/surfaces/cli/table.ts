import type { Paint } from "./paint.ts";
import { lengthSeen, printable, shorten } from "./text.ts";

/** A piece of a table that is more than text; text may be painted, and is measured as it is seen. */
export interface Cell {
  readonly text: string;
  readonly align?: "right";
}

export const right = (text: string): Cell => ({ text, align: "right" });

const cellOf = (cell: Cell | string): Cell => (typeof cell === "string" ? { text: cell } : cell);

export interface TableOptions {
  /** Lines get no longer than this: the last column gives way. */
  readonly width: number;
  /** Smallest widths, for tables that grow line by line. */
  readonly least?: readonly number[];
}

/** Lines with aligned columns, two blanks between them. */
export function tableLines(rows: readonly (readonly (Cell | string)[])[], options: TableOptions): string[] {
  const cells = rows.map((row) => row.map(cellOf));
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(options.least?.[i] ?? 0, ...cells.map((row) => lengthSeen(row[i]?.text ?? ""))),
  );
  return cells.map((row) => {
    let room = options.width;
    const parts = row.map((cell, i) => {
      const isLast = i === row.length - 1;
      const text = shorten(cell.text, Math.max(0, isLast ? room : Math.min(room, widths[i]!)));
      room -= widths[i]! + 2;
      const seen = lengthSeen(text);
      const blanks = " ".repeat(Math.max(0, widths[i]! - seen));
      const shown = seen === 0 ? "" : text;
      if (cell.align === "right") return blanks + shown;
      return isLast ? shown : shown + blanks;
    });
    return parts.join("  ").trimEnd();
  });
}

/** What is known of one thing, a line for each fact, safe to show; where there is nothing to say, there is no line. */
export const factLines = (
  facts: readonly (readonly [name: string, text: string | null | undefined])[],
  { paint: { dim }, width }: { readonly paint: Paint; readonly width: number },
): string[] =>
  tableLines(
    facts.flatMap(([name, text]) => (text ? [[dim(`  ${name}`), printable(text)]] : [])),
    { width },
  );

/** A table under its title; nothing where it has no rows. */
export const sectionLines = (title: string, rows: Parameters<typeof tableLines>[0], options: TableOptions): string[] =>
  rows.length === 0 ? [] : ["", title, ...tableLines(rows, options)];
