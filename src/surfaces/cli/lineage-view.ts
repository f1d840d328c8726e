/** Where something comes from and what came of it, as two trees. What hangs in several places is drawn out in the first. */
import type { Lineage } from "../http/ports.ts";
import { lineOf, type Pieces } from "./loop-pieces.ts";
import { agoWords, shortModel } from "./loop-words.ts";
import type { Shell } from "./shell.ts";
import { printable } from "./text.ts";

const MOST_LINES = 200;
const MOST_DEPTH = 40;

type Node = Lineage["nodes"][number];

export function lineageLines(lineage: Lineage, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const { paint, width, clock } = shell;
  const now = clock.now() / 1_000;
  const nodes = new Map(lineage.nodes.map((node) => [node.id, node]));
  const lines: Pieces[] = [];
  let hidden = 0;
  const add = (line: Pieces) => {
    if (lines.length < MOST_LINES) lines.push(line);
    else hidden += 1;
  };
  const words = (id: string): Pieces => {
    const { kind, about, at }: Pick<Node, "kind" | "about" | "at"> = nodes.get(id) ?? { kind: "", about: "", at: null };
    return [
      ...(kind === "" ? [] : [`${printable(kind)} `]),
      { text: shortModel(id), paint: paint.yellow },
      ...(about === "" ? [] : [`  ${printable(about)}`]),
      ...(at === null ? [] : [{ text: `  ${agoWords(at, now)}`, paint: paint.dim }]),
    ];
  };
  const drawn = new Set<string>();
  const walk = (id: string, next: (id: string) => readonly string[], stem: string, depth: number): void => {
    const below = next(id);
    for (const [i, each] of below.entries()) {
      const isLast = i === below.length - 1;
      const isKnown = drawn.has(each);
      const goesOn = next(each).length > 0;
      const cut = !goesOn ? "" : isKnown ? "  (drawn above)" : depth >= MOST_DEPTH ? "  (goes on)" : "";
      add([
        { text: `${stem}${isLast ? "└─ " : "├─ "}`, paint: paint.dim },
        ...words(each),
        ...(cut === "" ? [] : [{ text: cut, paint: paint.dim }]),
      ]);
      if (isKnown || cut !== "") continue;
      drawn.add(each);
      walk(each, next, `${stem}${isLast ? "   " : "│  "}`, depth + 1);
    }
  };
  const sources = (id: string) => lineage.edges.filter(({ to }) => to === id).map(({ from }) => from);
  const products = (id: string) => lineage.edges.filter(({ from }) => from === id).map(({ to }) => to);
  add(words(lineage.asked));
  for (const [title, next] of [
    ["comes from", sources],
    ["led to", products],
  ] as const) {
    if (next(lineage.asked).length === 0) continue;
    add([{ text: title, paint: paint.bold }]);
    drawn.clear();
    drawn.add(lineage.asked);
    walk(lineage.asked, next, "", 1);
  }
  if (lines.length === 1)
    add([{ text: "nothing is known of where it comes from or what came of it", paint: paint.dim }]);
  const all = hidden > 0 ? [...lines, [{ text: `and ${hidden} more; --json has all`, paint: paint.dim }]] : lines;
  return all.map((line) => lineOf(line, width));
}
