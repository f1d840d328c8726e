/** The end of a node: what lies here alone goes home first. */
import { type Clock, type Log, sleep } from "../../kernel/index.ts";

/** Pause between two rounds of a node that is about to end. */
export const LEAVING_MS = 200;

/** Whether a node is about to end, and what the main process says of its files. */
export interface Leaving {
  isLeaving: boolean;
  /** Files that lie nowhere else; undefined until it was said since this node is about to end. */
  alone: number | undefined;
  /** Wakes whoever pauses; another one for each pause. */
  hurry: AbortController;
}

export const createLeaving = (): Leaving => ({ isLeaving: false, alone: undefined, hurry: new AbortController() });

export interface LeaveLimits {
  /** For all of it. */
  readonly limitMs: number;
  /** While the main process does not answer: what stays on a disk that stays is not lost. */
  readonly unansweredMs: number;
}

/** Waits until all that lies here alone was sent home; gives how much of it is left when the time is over. */
export async function sendHome(
  leaving: Leaving,
  { limitMs, unansweredMs }: LeaveLimits,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<number> {
  leaving.isLeaving = true;
  leaving.hurry.abort(new Error("the node is about to end"));
  const beganMs = clock.monotonic();
  const isTime = () => clock.monotonic() - beganMs < (leaving.alone === undefined ? unansweredMs : limitMs);
  while (leaving.alone !== 0 && isTime() && !signal.aborted)
    await sleep(clock, LEAVING_MS / 2, signal).catch(() => undefined);
  const left = leaving.alone ?? 0;
  if (left > 0) log.error("files are only on this node, and it shuts down", { files: left });
  return left;
}
