/** Where something comes from and what came of it, as two trees. What hangs in several places is drawn out in the first. */
import type { Shell } from "../cli/shell.ts";
import { printable, shorten } from "../cli/text.ts";
import type { Lineage } from "./wire.ts";
import { agoWords, shortModel } from "./words.ts";

const MAX_LINES = 200;
const MAX_DEPTH = 40;

export function lineageLines(lineage: Lineage, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const { paint, width, clock } = shell;
  const { asked, edges } = lineage;
  const now = clock.now();
  const nodes = new Map(lineage.nodes.map((node) => [node.id, node]));
  const words = (id: string): string => {
    const { kind = "", about = "", at = null } = nodes.get(id) ?? {};
    return [
      kind === "" ? "" : `${printable(kind)} `,
      paint.yellow(shortModel(id)),
      about === "" ? "" : `  ${printable(about)}`,
      at === null ? "" : paint.dim(`  ${agoWords(at, now)}`),
    ].join("");
  };
  const lines = [words(asked)];
  const drawn = new Set<string>();
  const walk = (id: string, next: (id: string) => readonly string[], stem: string, depth: number): void => {
    const below = next(id);
    for (const [i, each] of below.entries()) {
      const isLast = i === below.length - 1;
      const isKnown = drawn.has(each);
      const goesOn = next(each).length > 0;
      const cut = !goesOn ? "" : isKnown ? "  (drawn above)" : depth >= MAX_DEPTH ? "  (more)" : "";
      lines.push(`${paint.dim(`${stem}${isLast ? "└─ " : "├─ "}`)}${words(each)}${paint.dim(cut)}`);
      if (isKnown || cut !== "") continue;
      drawn.add(each);
      walk(each, next, `${stem}${isLast ? "   " : "│  "}`, depth + 1);
    }
  };
  const sources = (id: string) => edges.filter(({ to }) => to === id).map(({ from }) => from);
  const products = (id: string) => edges.filter(({ from }) => from === id).map(({ to }) => to);
  for (const [title, next] of [
    ["comes from", sources],
    ["led to", products],
  ] as const) {
    if (next(asked).length === 0) continue;
    lines.push(paint.bold(title));
    drawn.clear();
    drawn.add(asked);
    walk(asked, next, "", 1);
  }
  if (lines.length === 1) lines.push(paint.dim("nothing is known of where it comes from or what came of it"));
  const hidden = lines.length - MAX_LINES;
  const more = hidden > 0 ? [paint.dim(`and ${hidden} more; --json has all`)] : [];
  return [...lines.slice(0, MAX_LINES), ...more].map((line) => shorten(line, width));
}
