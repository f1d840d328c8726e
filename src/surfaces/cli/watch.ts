import { isOperatingError, sleep } from "../../kernel/index.ts";
import type { Shell } from "./shell.ts";

/** A terminal that does not say how high it is. */
const USUAL_HEIGHT = 24;
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/**
 * Looks again and again until Ctrl-C. On a terminal every look is drawn over the one before; in a pipe it is one that is
 * added. A main process that restarts meanwhile is waited for.
 */
export async function watch(shell: Shell, everySeconds: number, look: () => Promise<readonly string[]>): Promise<void> {
  const { io, clock, paint } = shell;
  const live = io.isTerminal && !shell.json;
  if (live) io.out(`${HOME}${CLEAR_BELOW}`);
  while (!io.signal.aborted) {
    let lines: readonly string[] = [];
    try {
      lines = await look();
    } catch (thrown) {
      if (!(isOperatingError(thrown) && thrown.retryable)) throw thrown;
      lines = live ? [paint.red(thrown.message), ...(thrown.hint === undefined ? [] : [paint.dim(thrown.hint)])] : [];
      if (!live) shell.note(thrown.message);
    }
    if (live) {
      const foot = ["", paint.dim(`every ${everySeconds} s; Ctrl-C ends it`)];
      // One line more than there are, and the first would scroll away with every look.
      const all = [...lines.slice(0, Math.max(0, (io.rows ?? USUAL_HEIGHT) - 1 - foot.length)), ...foot];
      io.out(`${HOME}${all.map((line) => `${line}${CLEAR_LINE}\n`).join("")}${CLEAR_BELOW}`);
    } else shell.say(...lines);
    // Cut short by Ctrl-C, the wait ends the loop by itself.
    await sleep(clock, everySeconds * 1_000, io.signal).catch(() => undefined);
  }
}
