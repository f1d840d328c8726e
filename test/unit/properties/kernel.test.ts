import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  backoffMs,
  canonicalJson,
  createBreaker,
  createIds,
  createRecent,
  createRing,
  createTimeLimits,
  seededRandom,
  virtualClock,
} from "../../../src/kernel/index.ts";

/** Moves a virtual clock forward by stepping through a timer of its own. */
const pass = (clock: ReturnType<typeof virtualClock>, ms: number) => {
  let there = false;
  clock.after(ms, () => {
    there = true;
  });
  while (!there) clock.step();
};

describe("recent", () => {
  test("remembers what a map of key and time would, while there is room", () => {
    const steps = fc.array(
      fc.record({ key: fc.constantFrom("a", "b", "c", "d"), wait: fc.integer({ min: 0, max: 90 }) }),
    );
    fc.assert(
      fc.property(steps, (history) => {
        const recent = createRecent<number>(100, 1_000);
        const model = new Map<string, { value: number; at: number }>();
        let now = 1_000;
        for (const [value, { key, wait }] of history.entries()) {
          now += wait;
          const known = model.get(key);
          expect(recent.get(key, now)).toBe(known !== undefined && now - known.at < 100 ? known.value : undefined);
          recent.set(key, value, now);
          model.set(key, { value, at: now });
        }
      }),
    );
  });

  test("never holds more than its bound, and never forgets the newest half of it within the window", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 2, max: 50 }), (count, most) => {
        const recent = createRecent<number>(1_000_000, most);
        for (let n = 0; n < count; n += 1) {
          recent.set(`k${n}`, n, n);
          expect(recent.size).toBeLessThanOrEqual(most + 1);
          for (let back = Math.max(0, n - Math.floor(most / 2) + 1); back <= n; back += 1)
            expect(recent.get(`k${back}`, n)).toBe(back);
        }
      }),
      { numRuns: 40 },
    );
  });
});

test("a ring holds the last so many, newest first, until it is told to stop", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 20 }), fc.nat(30), (items, capacity, stopAfter) => {
      const ring = createRing<number>(capacity);
      for (const item of items) ring.push(item);
      const seen: number[] = [];
      ring.newestFirst((item) => {
        seen.push(item);
        return seen.length < stopAfter;
      });
      const last = items.slice(-capacity).reverse();
      expect(ring.size).toBe(last.length);
      expect(seen).toEqual(last.slice(0, Math.max(1, stopAfter)));
    }),
  );
});

test("a backoff doubles up to its bound, and jitter only shortens it", () => {
  const policy = fc.record({
    firstMs: fc.integer({ min: 1, max: 5_000 }),
    maxMs: fc.integer({ min: 1, max: 100_000 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(policy, fc.integer({ min: 1, max: 2_000 }), fc.integer(), (of, attempt, seed) => {
      const full = Math.min(of.maxMs, of.firstMs * 2 ** (attempt - 1));
      const wait = backoffMs(of, attempt, seededRandom(seed));
      expect(Number.isFinite(wait)).toBe(true);
      expect(wait).toBeLessThanOrEqual(Math.round(full));
      expect(wait).toBeGreaterThanOrEqual(Math.floor(full * (1 - of.jitter)));
    }),
  );
});

describe("a breaker", () => {
  type Step = { readonly kind: "succeed" | "fail" | "abandon"; readonly waitMs: number };
  const steps = fc.array(
    fc.record<Step>({ kind: fc.constantFrom("succeed", "fail", "abandon"), waitMs: fc.constantFrom(0, 1, 40, 100) }),
    { maxLength: 60 },
  );

  test("opens after failures in a row, probes once after its wait, and closes on success", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 4 }), (history, threshold) => {
        const clock = virtualClock();
        const breaker = createBreaker({ threshold, openMs: 100 }, clock);
        let inRow = 0;
        let openedAt: number | undefined;
        for (const { kind, waitMs } of history) {
          pass(clock, waitMs);
          const now = clock.monotonic();
          const expected = openedAt === undefined ? "closed" : now - openedAt >= 100 ? "half_open" : "open";
          expect(breaker.state).toBe(expected);
          const admitted = breaker.admit();
          expect(admitted).toBe(expected !== "open");
          expect(breaker.waitMs() === 0).toBe(expected !== "open");
          if (!admitted) continue;
          // While the probe runs nobody else is admitted.
          if (expected === "half_open") expect(breaker.admit()).toBe(false);
          breaker[kind]();
          if (kind === "succeed") {
            inRow = 0;
            openedAt = undefined;
          } else if (kind === "fail") {
            inRow += 1;
            if (expected === "half_open" || inRow >= threshold) openedAt = now;
          }
        }
      }),
    );
  });
});

test("the virtual clock runs timers by time, equal times in the order they were made, and skips cancelled ones", () => {
  const timers = fc.array(fc.record({ delay: fc.nat(20), cancelled: fc.boolean() }), { maxLength: 60 });
  fc.assert(
    fc.property(timers, (list) => {
      const clock = virtualClock(5_000);
      const ran: number[] = [];
      for (const [i, { delay, cancelled }] of list.entries()) {
        const timer = clock.after(delay, () => {
          expect(clock.monotonic()).toBe(delay);
          expect(clock.now()).toBe(5_000 + delay);
          ran.push(i);
        });
        if (cancelled) timer.cancel();
      }
      const due = list.flatMap(({ delay, cancelled }, i) => (cancelled ? [] : [{ delay, i }]));
      expect(clock.pending()).toBe(due.length);
      while (clock.step());
      expect(ran).toEqual(due.sort((a, b) => a.delay - b.delay || a.i - b.i).map(({ i }) => i));
    }),
  );
});

test("ids are unique, sorted and version 7, also when the clock stands still or goes back", () => {
  const jumps = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(jumps, fc.integer(), fc.integer({ min: 1, max: 300 }), (moves, seed, each) => {
      let nowMs = 1_700_000_000_000;
      const ids = createIds({ ...virtualClock(), now: () => nowMs }, seededRandom(seed));
      const made: string[] = [];
      for (const move of moves) {
        nowMs += move;
        for (let n = 0; n < each; n += 1) made.push(ids.uuid());
      }
      expect(new Set(made).size).toBe(made.length);
      expect(made.every((id, i) => i === 0 || made[i - 1]! < id)).toBe(true);
      for (const id of made)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(ids.traceId()).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(ids.spanId()).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    }),
    { numRuns: 40 },
  );
});

test("more ids in one millisecond than its counter holds borrow from the next and keep their order", () => {
  const ids = createIds(virtualClock(), seededRandom(1));
  const made = Array.from({ length: 20_000 }, () => ids.uuid());
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
});

test("time limits expire exactly those that have not ended, in the order of their time", () => {
  const limits = fc.array(
    fc.record({ limit: fc.constantFrom(10, 25, 70), lasts: fc.integer({ min: 1, max: 90 }), gap: fc.nat(8) }),
    { maxLength: 80 },
  );
  fc.assert(
    fc.property(limits, (list) => {
      const clock = virtualClock();
      const timeLimits = createTimeLimits(clock);
      const expired: number[] = [];
      let begun = 0;
      for (const [i, { limit, lasts, gap }] of list.entries()) {
        begun += gap;
        clock.after(begun, () => {
          const running = timeLimits.begin(limit, () => expired.push(i));
          clock.after(lasts, () => running.end());
        });
      }
      while (clock.step());
      // What ends at the very moment of its limit may go either way; everything else is decided.
      const must = list.flatMap(({ limit, lasts }, i) => (lasts > limit ? [i] : []));
      const may = list.flatMap(({ limit, lasts }, i) => (lasts >= limit ? [i] : []));
      expect(expired.filter((i) => must.includes(i)).sort((a, b) => a - b)).toEqual(must);
      expect(expired.every((i) => may.includes(i))).toBe(true);
      expect(new Set(expired).size).toBe(expired.length);
      expect(timeLimits.size).toBe(0);
    }),
  );
});

test("a limit of time does not run while the process stands still", () => {
  const clock = virtualClock();
  const timeLimits = createTimeLimits(clock);
  const expired: string[] = [];
  const slow = timeLimits.begin(30_000, () => expired.push("slow"));
  timeLimits.begin(30_000, () => expired.push("endless"));
  pass(clock, 10_000);
  clock.standStill(600_000);
  // What it waited for has come meanwhile, and is read in the next turn.
  pass(clock, 20_000);
  slow.end();
  expect(expired).toEqual([]);
  pass(clock, 10_001);
  expect(expired).toEqual(["endless"]);
});

describe("canonical JSON", () => {
  const shuffled = (value: unknown, random: () => number): unknown => {
    if (Array.isArray(value)) return value.map((inner) => shuffled(inner, random));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => [random(), key, shuffled(inner, random)] as const);
    const copy = Object.create(null) as Record<string, unknown>;
    for (const [, key, inner] of entries.sort(([a], [b]) => a - b)) copy[key] = inner;
    return copy;
  };
  // `-0` is written as 0: JSON knows one zero.
  const json = fc.jsonValue({ noUnicodeString: false } as never).map((value) => JSON.parse(JSON.stringify(value)));

  test("is one text for one value however its keys came, and is read back as that value", () => {
    fc.assert(
      fc.property(json, fc.integer(), (value, seed) => {
        const { next } = seededRandom(seed);
        const text = canonicalJson(value);
        expect(canonicalJson(shuffled(value, next))).toBe(text);
        expect(JSON.parse(text)).toEqual(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  test("sorts keys that an object would put elsewhere: numbers and __proto__", () => {
    const value = JSON.parse('{"b":1,"10":2,"9":3,"__proto__":4,"":5,"a":6}');
    expect(canonicalJson(value)).toBe('{"":5,"10":2,"9":3,"__proto__":4,"a":6,"b":1}');
  });
});
