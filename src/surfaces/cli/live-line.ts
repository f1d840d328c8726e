/** One line about something that goes on. A terminal has it drawn anew in its place; anything else gets a line now and then. */
import type { Shell } from "./shell.ts";

const CLEAR_LINE = "\u001b[K";
/** A log that nobody reads live needs no more of them. */
const SAY_EVERY_MS = 5_000;

export interface LiveLine {
  show(line: string): void;
  /** Takes it away, so that what follows stands alone. */
  end(): void;
}

export function liveLine({ io, clock, note }: Pick<Shell, "io" | "clock" | "note">): LiveLine {
  let shown = "";
  if (io.errIsTerminal === true)
    return {
      show(line) {
        // In the last column some terminals go to the next line.
        const fitted = line.slice(0, Math.max(1, io.columns - 1));
        if (fitted !== shown) io.err(`\r${fitted}${CLEAR_LINE}`);
        shown = fitted;
      },
      end() {
        if (shown !== "") io.err(`\r${CLEAR_LINE}`);
        shown = "";
      },
    };
  let saidAt = Number.NEGATIVE_INFINITY;
  return {
    show(line) {
      if (line === shown || clock.monotonic() - saidAt < SAY_EVERY_MS) return;
      saidAt = clock.monotonic();
      shown = line;
      note(line);
    },
    end() {},
  };
}
