import type { CliIo } from "../../../surfaces/commands/index.ts";

/** The last lines of a terminal, drawn again and again while other lines scroll by above them. */
export type LiveRegion = ReturnType<typeof liveRegion>;

const UP = (lines: number) => (lines === 0 ? "\r" : `\r\u001b[${lines}A`);
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** A terminal that does not say how high it is. */
const USUAL_HEIGHT = 24;

export function liveRegion(io: Pick<CliIo, "out" | "rows">) {
  let shown: readonly string[] = [];
  // Ctrl-C leaves its mark where the cursor stands: begin at the left edge. Each line is cleared by itself: terminals keep a
  // screen that is cleared from its first line on in what scrolls back, and so would keep every frame.
  const over = (lines: readonly string[]) =>
    io.out(`${UP(shown.length)}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join("")}${CLEAR_BELOW}`);
  return {
    draw(lines: readonly string[]) {
      // The cursor stands below them: one line more, and the first would scroll away where nobody can clear it.
      const fitting = lines.slice(0, Math.max(1, (io.rows ?? USUAL_HEIGHT) - 1));
      over(fitting);
      shown = fitting;
    },
    /** Says something that stays. */
    above(line: string) {
      over([line, ...shown]);
    },
    /** Leaves nothing behind; drawing may begin again. */
    clear() {
      if (shown.length === 0) return;
      over(shown.map(() => ""));
      io.out(UP(shown.length));
      shown = [];
    },
  };
}
