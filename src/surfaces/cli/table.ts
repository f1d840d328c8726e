import { shorten } from "./text.ts";

/** A piece of a table; painted only after it has been measured and padded. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
  readonly align?: "right";
}

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
    Math.max(options.least?.[i] ?? 0, ...cells.map((row) => row[i]?.text.length ?? 0)),
  );
  return cells.map((row) => {
    let room = options.width;
    const parts = row.map((cell, i) => {
      const isLast = i === row.length - 1;
      const text = shorten(cell.text, Math.max(0, isLast ? room : Math.min(room, widths[i]!)));
      room -= widths[i]! + 2;
      if (cell.align === "right") return paint(cell, text.padStart(widths[i]!));
      return isLast ? paint(cell, text) : paint(cell, text) + " ".repeat(Math.max(0, widths[i]! - text.length));
    });
    return parts.join("  ").trimEnd();
  });
}

const paint = (cell: Cell, text: string): string => (text === "" || !cell.paint ? text : cell.paint(text));
