/** Time as an argument. Production reads the system; the simulator owns a clock that only it moves. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch, for what people and other machines read. */
  now(): number;
  /** Milliseconds that never go back, for durations and deadlines. */
  monotonic(): number;
  /** Calls `run` once after `delayMs`. A pending timer does not keep the process alive, unless it is told to `hold` it. */
  after(delayMs: number, run: () => void, hold?: "hold"): Timer;
}

export const systemClock = (): Clock => ({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run, hold) {
    const handle = setTimeout(run, Math.min(delayMs, 0x7fff_ffff));
    if (hold === undefined) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
});

/** A moment on both clocks: when it was, for people, and how long ago it is, whatever happens to the wall clock. */
export interface Moment {
  readonly at: number;
  agoMs(): number;
}

export const momentOf = (clock: Pick<Clock, "now" | "monotonic">): Moment => {
  const from = clock.monotonic();
  return { at: clock.now(), agoMs: () => clock.monotonic() - from };
};

const LISTENING = { everyMs: 250, maxGapMs: 1_000 };

/** How long this process has listened. */
export interface Listening {
  /**
   * Milliseconds in which the main loop answered. They stand still while the process is stopped, the machine sleeps or the
   * loop is blocked, and begin anew with every process: nobody's silence is counted while nobody could have heard a word.
   */
  listened(): number;
  stop(): void;
}

/** A pause between two looks that is longer than the bound was no listening: of it only the bound counts. */
export function listeningTime(clock: Pick<Clock, "monotonic" | "after">, limits = LISTENING): Listening {
  let sum = 0;
  let lookedAt = clock.monotonic();
  const sinceLook = () => Math.min(clock.monotonic() - lookedAt, limits.maxGapMs);
  const look = () => {
    sum += sinceLook();
    lookedAt = clock.monotonic();
    timer = clock.after(limits.everyMs, look);
  };
  let timer = clock.after(limits.everyMs, look);
  return { listened: () => sum + sinceLook(), stop: () => timer.cancel() };
}

/** Resolves after `delayMs`, or rejects as soon as the signal aborts. Somebody waits, so the process stays alive. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(
      delayMs,
      () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      },
      "hold",
    );
    signal?.addEventListener("abort", stop, { once: true });
  });
}

export interface VirtualClock extends Clock {
  /** Runs the next due timer; false when none is left. */
  step(): boolean;
  /** How many timers wait. */
  pending(): number;
  /** Sets the wall clock forward or back; what never goes back does not notice. */
  setWall(byMs: number): void;
  /** Time goes by and no timer runs, as while a process is stopped. */
  standStill(forMs: number): void;
}

/** A clock for simulation: time jumps to the next timer, and equal times keep their order of creation. */
export function virtualClock(startMs = 1_700_000_000_000): VirtualClock {
  let nowMs = 0;
  let wallMs = startMs;
  let created = 0;
  const queue: { at: number; order: number; run: () => void; live: boolean }[] = [];
  const before = (i: number, j: number) => {
    const x = queue[i]!;
    const y = queue[j]!;
    return x.at < y.at || (x.at === y.at && x.order < y.order);
  };
  const swap = (i: number, j: number) => {
    const kept = queue[i]!;
    queue[i] = queue[j]!;
    queue[j] = kept;
  };
  const push = (entry: (typeof queue)[number]) => {
    queue.push(entry);
    let i = queue.length - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(i, parent)) return;
      swap(i, parent);
      i = parent;
    }
  };
  const pop = () => {
    const top = queue[0];
    const last = queue.pop();
    if (top === undefined || last === undefined || queue.length === 0) return top;
    queue[0] = last;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const right = left + 1;
      let least = i;
      if (left < queue.length && before(left, least)) least = left;
      if (right < queue.length && before(right, least)) least = right;
      if (least === i) return top;
      swap(i, least);
      i = least;
    }
  };
  return {
    now: () => wallMs + nowMs,
    monotonic: () => nowMs,
    after(delayMs, run) {
      created += 1;
      const entry = { at: nowMs + Math.max(0, delayMs), order: created, run, live: true };
      push(entry);
      return {
        cancel() {
          entry.live = false;
        },
      };
    },
    step() {
      for (;;) {
        const next = pop();
        if (next === undefined) return false;
        if (!next.live) continue;
        next.live = false;
        nowMs = Math.max(nowMs, next.at);
        next.run();
        return true;
      }
    },
    pending: () => queue.filter((entry) => entry.live).length,
    setWall(byMs) {
      wallMs += byMs;
    },
    standStill(forMs) {
      nowMs += forMs;
    },
  };
}
