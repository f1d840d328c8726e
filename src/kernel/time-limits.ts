import type { Clock, Timer } from "./clock.ts";

/** A timer that is later than this says that the process was stopped, the machine slept, or the loop was blocked. */
const MAX_LATE_MS = 1_000;

interface Entry {
  at: number;
  /** Undefined once it has ended: what it would have touched may be forgotten. */
  expire: (() => void) | undefined;
}

/** Limits of one duration, in the order they began; those before `front` have ended. */
interface Line {
  readonly limitMs: number;
  entries: Entry[];
  front: number;
  live: number;
  timer: Timer | undefined;
}

/**
 * Many time limits of few durations: all limits of one duration expire in the order they began, so one timer for each
 * duration is enough, and beginning and ending one costs no timer at all.
 */
export interface TimeLimits {
  /** What had no chance to end, because this process stood still, is not late: its limit begins anew when that is over. */
  begin(limitMs: number, expire: () => void): { end(): void };
  /** Limits that run now. */
  readonly size: number;
  stop(): void;
}

export function createTimeLimits(clock: Clock): TimeLimits {
  const lines = new Map<number, Line>();
  let size = 0;

  /** Passes over those that have ended; lets go of them before they are the most, also behind a slow one. */
  const advance = (line: Line): Entry | undefined => {
    while (line.front < line.entries.length && line.entries[line.front]!.expire === undefined) line.front += 1;
    if (line.live === 0 || (line.entries.length > 1_024 && line.live * 2 < line.entries.length)) {
      line.entries = line.live === 0 ? [] : line.entries.filter(({ expire }) => expire !== undefined);
      line.front = 0;
    }
    return line.entries[line.front];
  };

  const end = (line: Line, entry: Entry): void => {
    entry.expire = undefined;
    line.live -= 1;
    size -= 1;
  };

  const arm = (line: Line): void => {
    const first = advance(line);
    if (first === undefined || line.timer !== undefined) return;
    line.timer = clock.after(Math.max(0, first.at - clock.monotonic()), () => {
      line.timer = undefined;
      const now = clock.monotonic();
      if (now - first.at > MAX_LATE_MS) for (const entry of line.entries) entry.at = now + line.limitMs;
      for (let next = advance(line); next !== undefined && next.at <= now; next = advance(line)) {
        const { expire } = next;
        end(line, next);
        expire?.();
      }
      arm(line);
    });
  };

  return {
    begin(limitMs, expire) {
      let line = lines.get(limitMs);
      if (line === undefined) {
        line = { limitMs, entries: [], front: 0, live: 0, timer: undefined };
        lines.set(limitMs, line);
      }
      const of = line;
      const entry: Entry = { at: clock.monotonic() + limitMs, expire };
      of.entries.push(entry);
      of.live += 1;
      size += 1;
      if (of.timer === undefined) arm(of);
      return {
        end() {
          if (entry.expire === undefined) return;
          end(of, entry);
          advance(of);
        },
      };
    },
    get size() {
      return size;
    },
    stop() {
      for (const line of lines.values()) line.timer?.cancel();
      lines.clear();
      size = 0;
    },
  };
}
