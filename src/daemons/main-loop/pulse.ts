/**
 * A sign of life of the main loop, in memory that every thread can read: whoever renews a lease on another thread asks here
 * whether the main loop still answers.
 */
export interface Pulse {
  /** Hand it to a thread, and read it there with `readPulse`. */
  readonly buffer: SharedArrayBuffer;
  /** The main loop lives now. `debugged` says that a person may hold it at a breakpoint. */
  beat(debugged: boolean): void;
}

export interface PulseReading {
  /** When it last beat, in milliseconds on a clock that all threads of the process share. */
  readonly beatAtMs: number;
  readonly silentMs: number;
  readonly debugged: boolean;
}

const BEAT_AT = 0;
const DEBUGGED = 1;

/** `performance.now()` starts at another zero in each thread; this does not. */
const nowNs = (): bigint => process.hrtime.bigint();
const inMs = (ns: bigint): number => Number(ns / 1_000n) / 1_000;

export function createPulse(): Pulse {
  const cells = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT));
  const beat = (debugged: boolean) => {
    Atomics.store(cells, DEBUGGED, debugged ? 1n : 0n);
    Atomics.store(cells, BEAT_AT, nowNs());
  };
  beat(false);
  return { buffer: cells.buffer, beat };
}

export function readPulse(buffer: SharedArrayBuffer): PulseReading {
  const cells = new BigInt64Array(buffer);
  const beatAt = Atomics.load(cells, BEAT_AT);
  return {
    beatAtMs: inMs(beatAt),
    silentMs: Math.max(0, inMs(nowNs() - beatAt)),
    debugged: Atomics.load(cells, DEBUGGED) === 1n,
  };
}
