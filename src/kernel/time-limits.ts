import type { Clock, Timer } from "./clock.ts";

interface Entry {
  readonly at: number;
  readonly expire: () => void;
  live: boolean;
}

/**
 * Many time limits of few durations: all limits of one duration expire in the order they began, so one timer for each
 * duration is enough, and beginning and ending one costs no timer at all.
 */
export interface TimeLimits {
  begin(limitMs: number, expire: () => void): { end(): void };
  /** Limits that run now. */
  readonly size: number;
  stop(): void;
}

export function createTimeLimits(clock: Clock): TimeLimits {
  const lists = new Map<number, { entries: Entry[]; front: number; timer: Timer | undefined }>();
  let size = 0;

  const arm = (limitMs: number, list: { entries: Entry[]; front: number; timer: Timer | undefined }) => {
    while (list.front < list.entries.length && !list.entries[list.front]!.live) list.front += 1;
    if (list.front > 512 && list.front * 2 > list.entries.length) {
      list.entries = list.entries.slice(list.front);
      list.front = 0;
    }
    const first = list.entries[list.front];
    if (first === undefined) {
      list.entries = [];
      list.front = 0;
      return;
    }
    list.timer ??= clock.after(Math.max(0, first.at - clock.monotonic()), () => {
      list.timer = undefined;
      const now = clock.monotonic();
      for (;;) {
        const entry = list.entries[list.front];
        if (entry === undefined || (entry.live && entry.at > now)) break;
        list.front += 1;
        if (!entry.live) continue;
        entry.live = false;
        size -= 1;
        entry.expire();
      }
      arm(limitMs, list);
    });
  };

  return {
    begin(limitMs, expire) {
      let list = lists.get(limitMs);
      if (list === undefined) {
        list = { entries: [], front: 0, timer: undefined };
        lists.set(limitMs, list);
      }
      const entry: Entry = { at: clock.monotonic() + limitMs, expire, live: true };
      list.entries.push(entry);
      size += 1;
      if (list.timer === undefined || list.entries.length > 4096) arm(limitMs, list);
      return {
        end() {
          if (!entry.live) return;
          entry.live = false;
          size -= 1;
        },
      };
    },
    get size() {
      return size;
    },
    stop() {
      for (const list of lists.values()) list.timer?.cancel();
      lists.clear();
      size = 0;
    },
  };
}
