/** A Markdown table. Bars and line breaks in a cell would end it. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`)
    .join("\n");

/** The parts of a page, with an empty line between them. */
export const page = (...parts: readonly string[]): string => `${parts.join("\n\n")}\n`;
