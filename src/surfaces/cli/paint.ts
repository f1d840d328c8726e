import pc from "picocolors";
import type { CliIo } from "./io.ts";

/** Colours, or the plain text where there are none. */
export type Paint = ReturnType<typeof pc.createColors>;

export const createPaint = (on: boolean): Paint => pc.createColors(on);

/** Colours belong to a terminal; `--no-color` and NO_COLOR take them away, FORCE_COLOR brings them anywhere. */
export function wantsColor(io: Pick<CliIo, "env" | "isTerminal">, allowed: boolean): boolean {
  if (!allowed || (io.env.NO_COLOR ?? "") !== "") return false;
  const forced = io.env.FORCE_COLOR ?? "";
  if (forced !== "") return forced !== "0";
  return io.isTerminal && io.env.TERM !== "dumb";
}

type Color = "green" | "yellow" | "red" | "cyan" | "dim";

/** How words of a kind are painted: a colour for some of them, and one for all others. */
export const painter =
  (colors: Readonly<Record<string, Color>>, others: Color) =>
  (paint: Paint, word: string): ((text: string) => string) =>
    paint[colors[word] ?? others];
