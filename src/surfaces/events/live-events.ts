import { type Clock, sumOf } from "../../kernel/index.ts";
import type { AnyEvent, EventRouter } from "../../router/index.ts";
import type { Share } from "../http/backlog.ts";
import { onTheWire } from "../http/cloud-event.ts";

/** An event as text, and its place in the journal. */
export interface Heard {
  readonly seq: number | null;
  readonly text: string;
  readonly bytes: number;
}

export interface LiveEvents {
  /** The next piece of what was heard; at its end, how many more there was no room for. */
  take(): {
    readonly heard: readonly Heard[];
    readonly missed: number;
    /** Those of the missed that no journal holds. */
    readonly lost: number;
  };
  /** Waits until there is something to take, the signal aborts, or it is time for a sign of life: true for the last. */
  more(clock: Clock, beatMs: number, signal: AbortSignal): Promise<boolean>;
  stop(): void;
}

/** So much is written at once: what a connection has taken in waits for its reader as well. */
export const PIECE_BYTES = 256 * 1_024;

/** Listens to what other processes may see; what nobody takes is kept while there is room for it, and then only counted. */
export function listenLive(
  router: EventRouter,
  types: readonly string[] | undefined,
  fits: (event: AnyEvent) => boolean,
  share: Share,
): LiveEvents {
  const waiting: Heard[] = [];
  let missed = 0;
  let lost = 0;
  let wake: (() => void) | undefined;
  const hear = (event: AnyEvent) => {
    if (!fits(event)) return;
    const text = missed > 0 ? undefined : JSON.stringify(onTheWire(event));
    const bytes = text === undefined ? 0 : Buffer.byteLength(text);
    if (text === undefined || !share.take(bytes)) {
      missed += 1;
      if (event.seq === null) lost += 1;
    } else waiting.push({ seq: event.seq, text, bytes });
    wake?.();
  };
  const stops: (() => void)[] = [];
  const piece = (): Heard[] => {
    let bytes = 0;
    const over = waiting.findIndex((heard) => {
      bytes += heard.bytes;
      return bytes > PIECE_BYTES;
    });
    return waiting.splice(0, over === -1 ? waiting.length : Math.max(1, over));
  };
  const stop = () => {
    for (const end of stops.splice(0)) end();
    share.give(sumOf(waiting.splice(0), ({ bytes }) => bytes));
  };
  try {
    // A name that is refused is refused before the answer begins.
    for (const type of types ?? [null])
      stops.push(router.subscribe(type, hear, { name: "stream", view: "crossProcess" }));
  } catch (thrown) {
    stop();
    throw thrown;
  }
  return {
    take() {
      const heard = piece();
      share.give(sumOf(heard, ({ bytes }) => bytes));
      if (waiting.length > 0) return { heard, missed: 0, lost: 0 };
      const taken = { heard, missed, lost };
      missed = 0;
      lost = 0;
      return taken;
    },
    more: (clock, beatMs, signal) =>
      new Promise((resolve) => {
        if (waiting.length > 0 || missed > 0 || signal.aborted) return resolve(false);
        const done = (isTime: boolean) => {
          wake = undefined;
          timer.cancel();
          signal.removeEventListener("abort", end);
          resolve(isTime);
        };
        const end = () => done(false);
        const timer = clock.after(beatMs, () => done(true));
        signal.addEventListener("abort", end, { once: true });
        wake = end;
      }),
    stop,
  };
}
