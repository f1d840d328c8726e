import type { Clock } from "../../kernel/index.ts";
import { providerErrors } from "./provider-errors.ts";

/** Asks a provider and waits for so long, also for one that does not listen. What is not answered in time may have had its effect. */
export async function askWithin<T>(
  { clock, ms, signal, who, what }: { clock: Clock; ms: number; signal: AbortSignal; who: string; what: string },
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const over = new AbortController();
  const gone = Promise.withResolvers<never>();
  const end = (reason: unknown) => {
    over.abort(reason);
    gone.reject(reason);
  };
  const stop = () => end(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const timer = clock.after(ms, () =>
    end(providerErrors.unavailable(who, `no answer to '${what}' in ${Math.round(ms / 1_000)} s`)),
  );
  try {
    return await Promise.race([run(over.signal), gone.promise]);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stop);
    gone.promise.catch(() => undefined);
  }
}
