import { type Clock, type Listening, OperatingError } from "../../kernel/index.ts";

export interface StallWatch {
  /** The bytes of a source; rejects when it is silent for too long or when the signal aborts, whether it listens or not. */
  over(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

const stalled = (place: string, stallMs: number) =>
  OperatingError.unavailable("TRANSFER_STALLED", `not a byte came from ${place} for ${stallMs / 1_000} s`, {
    hint: "The next way continues where this one stopped.",
  });

/**
 * Silence is counted while somebody waits for the next bytes, and only in the time in which this process could have heard
 * them: neither a budget that holds a transfer back nor a machine that slept is the other side's silence.
 */
export function watchStall({
  clock,
  listening,
  stallMs,
  place,
}: {
  readonly clock: Clock;
  readonly listening: Pick<Listening, "listened">;
  readonly stallMs: number;
  readonly place: string;
}): StallWatch {
  return {
    async *over(bytes, signal) {
      const from = bytes[Symbol.asyncIterator]();
      let since: number | undefined;
      let stop = (_reason: unknown): void => {};
      const look = () => {
        if (since !== undefined && listening.listened() - since >= stallMs) stop(stalled(place, stallMs));
        timer = clock.after(stallMs / 8, look);
      };
      let timer = clock.after(stallMs / 8, look);
      const abort = () => stop(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      let ended = false;
      try {
        for (;;) {
          signal.throwIfAborted();
          since = listening.listened();
          const next = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
            stop = reject;
            from.next().then(resolve, reject);
          });
          since = undefined;
          if (next.done) {
            ended = true;
            return;
          }
          yield next.value;
        }
      } finally {
        timer.cancel();
        signal.removeEventListener("abort", abort);
        // One that hangs cannot be waited for.
        if (!ended) from.return?.()?.catch(() => undefined);
      }
    },
  };
}
