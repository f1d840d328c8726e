import { monitorEventLoopDelay } from "node:perf_hooks";

/** How late the main loop is. */
export type LoopDelay = ReturnType<typeof measureLoopDelay>;

const RESOLUTION_MS = 50;

/** Measures by a timer that should come every 50 ms; what it is late beyond that is the delay. */
export function measureLoopDelay() {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  const late = (nanoseconds: number) => Math.max(0, (nanoseconds || 0) / 1e6 - RESOLUTION_MS);
  return {
    /** The 99th percentile and the worst since the last look, in milliseconds. */
    look(): { readonly p99Ms: number; readonly maxMs: number } {
      if (histogram.count === 0) return { p99Ms: 0, maxMs: 0 };
      const seen = { p99Ms: late(histogram.percentile(99)), maxMs: late(histogram.max) };
      histogram.reset();
      return seen;
    },
    stop: () => void histogram.disable(),
  };
}
