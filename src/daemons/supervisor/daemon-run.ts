import type { Clock, Log } from "../../kernel/index.ts";
import type { DaemonSpec } from "./daemon.ts";
import { createTimerSet } from "./timer-set.ts";

interface RunOptions {
  readonly spec: DaemonSpec;
  readonly run: number;
  readonly clock: Clock;
  readonly log: Log;
  /** How often `isReady` is asked. */
  readonly pollMs: number;
  readonly onReady: () => void;
  /** Not ready in time. */
  readonly onLate: () => void;
  /** Settled, whenever that is: also long after it was given up. */
  readonly onEnd: (end: RunEnd) => void;
  /** Told to end and did not, not even when it was forced. */
  readonly onHung: () => void;
}

export type RunEnd = { readonly kind: "returned" } | { readonly kind: "threw"; readonly thrown: unknown };

/** One run of a daemon, from the call of its factory until that has settled. It decides nothing; it tells. */
export type DaemonRun = ReturnType<typeof startRun>;

export function startRun(options: RunOptions) {
  const { spec, clock } = options;
  const stopping = new AbortController();
  const forced = new AbortController();
  const timers = createTimerSet(clock);
  let isReady = false;
  let settled = false;
  let deadline = Number.POSITIVE_INFINITY;
  let hungAt = Number.POSITIVE_INFINITY;

  const ready = () => {
    if (isReady || settled || stopping.signal.aborted) return;
    isReady = true;
    timers.clear();
    options.onReady();
  };
  const poll = () => {
    timers.after(options.pollMs, () => {
      let answer = false;
      try {
        answer = spec.isReady?.() === true;
      } catch (thrown) {
        options.log.warn("a daemon cannot say whether it is ready", { daemon: spec.name, error: String(thrown) });
      }
      if (answer) ready();
      else poll();
    });
  };
  const end = (how: RunEnd) => {
    settled = true;
    timers.clear();
    options.onEnd(how);
  };

  timers.after(spec.startTimeoutMs, options.onLate);
  if (spec.isReady !== undefined) poll();
  else if (spec.readyAfterMs !== null) timers.after(spec.readyAfterMs, ready);
  const context = {
    name: spec.name,
    signal: stopping.signal,
    forced: forced.signal,
    ready,
    run: options.run,
    clock,
    log: options.log,
  };
  // A later turn, so that whoever started it knows it before it says anything; and what throws at once is a rejection.
  Promise.resolve()
    .then(() => (stopping.signal.aborted ? undefined : spec.factory(context)))
    .then(
      () => end({ kind: "returned" }),
      (thrown: unknown) => end({ kind: "threw", thrown }),
    );

  const force = (forceMs: number) => {
    const at = clock.monotonic() + forceMs;
    if (settled || at >= hungAt) return;
    hungAt = at;
    timers.clear();
    timers.after(forceMs, options.onHung, "hold");
    forced.abort(stopping.signal.reason);
  };
  return {
    /** On the monotonic clock. */
    begunAt: clock.monotonic(),
    /** Tells it to end, forces it after `graceMs`, and calls it hung `forceMs` later. Again: only sooner. */
    stop(reason: string, graceMs: number, forceMs: number) {
      if (settled || forced.signal.aborted) return graceMs <= 0 ? force(forceMs) : undefined;
      if (clock.monotonic() + graceMs >= deadline) return;
      deadline = clock.monotonic() + graceMs;
      timers.clear();
      if (graceMs > 0) timers.after(graceMs, () => force(forceMs), "hold");
      if (!stopping.signal.aborted) stopping.abort(new Error(reason));
      if (graceMs <= 0) force(forceMs);
    },
  };
}
