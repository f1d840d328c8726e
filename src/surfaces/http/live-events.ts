import type { AnyEvent, EventRouter } from "../../router/index.ts";
import { onTheWire } from "./on-the-wire.ts";

/** An event as text, and its place in the journal. */
export interface Heard {
  readonly seq: number | null;
  readonly text: string;
}

export interface LiveEvents {
  /** What was heard since the last call, and how many more there was no room for. */
  take(): {
    readonly heard: readonly Heard[];
    readonly missed: number;
    /** Those of the missed that no journal holds. */
    readonly lost: number;
  };
  /** Resolves when there is something to take, or when the given wait ends first. */
  more(wait: (wake: () => void) => () => void): Promise<void>;
  stop(): void;
}

/** Bytes that wait for one slow reader. */
const MOST_WAITING_BYTES = 4 * 1_024 * 1_024;
const MOST_FOR_ALL_BYTES = 64 * 1_024 * 1_024;

/** What waits for all slow readers together. */
export interface Waiting {
  bytes: number;
}

/** Listens to what other processes may see; what nobody takes is kept up to a bound of bytes and then only counted. */
export function listenLive(
  router: EventRouter,
  types: readonly string[] | undefined,
  fits: (event: AnyEvent) => boolean,
  all: Waiting,
): LiveEvents {
  let waiting: Heard[] = [];
  let bytes = 0;
  let missed = 0;
  let lost = 0;
  let wake: (() => void) | undefined;
  const hear = (event: AnyEvent) => {
    if (!fits(event)) return;
    const full = missed > 0 || bytes >= MOST_WAITING_BYTES || all.bytes >= MOST_FOR_ALL_BYTES;
    const text = full ? undefined : JSON.stringify(onTheWire(event));
    if (text === undefined) {
      missed += 1;
      if (event.seq === null) lost += 1;
    } else {
      bytes += text.length;
      all.bytes += text.length;
      waiting.push({ seq: event.seq, text });
    }
    wake?.();
  };
  const stops: (() => void)[] = [];
  const release = () => {
    all.bytes -= bytes;
    bytes = 0;
  };
  const stop = () => {
    for (const end of stops.splice(0)) end();
    release();
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
      const taken = { heard: waiting, missed, lost };
      waiting = [];
      release();
      missed = 0;
      lost = 0;
      return taken;
    },
    more: (wait) =>
      new Promise((resolve) => {
        if (waiting.length > 0 || missed > 0) return resolve();
        const end = wait(() => done());
        const done = () => {
          wake = undefined;
          end();
          resolve();
        };
        wake = done;
      }),
    stop,
  };
}
