import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OperatingError } from "../kernel/index.ts";
import type { AnyEvent } from "./event.ts";
import { createTail } from "./tail.ts";

const event = (seq: number | null) => ({ seq }) as unknown as AnyEvent;
const events = (...seqs: (number | null)[]) => seqs.map(event);

/** A tail over a journal that a test writes; what is put off runs when the test says so. */
function world({ head = 0, journal = [] as number[] } = {}) {
  const batches: number[][] = [];
  const put: { run: () => void; delayMs: number }[] = [];
  const asked: { after: number; limit: number }[] = [];
  const trouble: { next: Error | undefined } = { next: undefined };
  const tail = createTail(
    head,
    (released) => void batches.push(released.map(({ seq }) => seq!)),
    (after, limit) => {
      asked.push({ after, limit });
      if (trouble.next !== undefined) throw trouble.next;
      return journal
        .filter((seq) => seq > after)
        .toSorted((a, b) => a - b)
        .slice(0, limit)
        .map(event);
    },
    (run, delayMs) => void put.push({ run, delayMs }),
  );
  return {
    tail,
    journal,
    batches,
    asked,
    trouble,
    /** When what was put off is due. */
    due: () => put.map(({ delayMs }) => delayMs),
    later: () => {
      for (const { run } of put.splice(0)) run();
    },
  };
}

describe("committed events", () => {
  test("that come in order pass as they come, each commit at once", () => {
    const w = world({ head: 7 });
    w.tail.add(events(8, 9));
    w.tail.add(events(10));
    expect(w.batches).toEqual([[8, 9], [10]]);
    expect(w.tail.seq).toBe(10);
    expect(w.due()).toEqual([]);
    expect(w.asked).toEqual([]);
  });

  test("that have passed, or are in no journal, pass by", () => {
    const w = world({ head: 7 });
    w.tail.add(events(7, 6, null));
    expect(w.batches).toEqual([]);
    w.tail.add(events(null, 7, 8));
    w.tail.add(events(8));
    expect(w.batches).toEqual([[8]]);
    expect(w.due()).toEqual([]);
  });

  test("that are noticed before an earlier commit wait for it, and pass behind it together", () => {
    const w = world();
    w.tail.add(events(3, 4));
    w.tail.add(events(6));
    expect(w.batches).toEqual([]);
    expect(w.due(), "the journal is asked once for all of them, after a few turns").toEqual([0]);
    w.tail.add(events(1, 2));
    expect(w.batches).toEqual([[1, 2, 3, 4]]);
    w.tail.add(events(5));
    expect(w.batches).toEqual([
      [1, 2, 3, 4],
      [5, 6],
    ]);
    w.later();
    expect(w.asked, "nothing is missing any more").toEqual([]);
  });

  test("that come behind a gap while others wait do not overtake them", () => {
    const w = world();
    w.tail.add(events(2));
    w.tail.add(events(1));
    w.tail.add(events(4, 3));
    expect(w.batches.flat()).toEqual([1, 2, 3, 4]);
  });
});

describe("a gap that nobody here has seen", () => {
  test("is read from the journal, in order and each once", () => {
    const w = world({ head: 1, journal: [2, 3, 4, 5] });
    w.tail.add(events(4));
    expect(w.batches).toEqual([]);
    w.later();
    expect(w.asked[0]).toEqual({ after: 1, limit: 1_000 });
    expect(w.batches).toEqual([[2, 3, 4, 5]]);
    expect(w.tail.seq).toBe(5);
    w.tail.add(events(5, 6));
    expect(w.batches.at(-1)).toEqual([6]);
    expect(w.due()).toEqual([]);
  });

  test("of more events than one read gives is read to its end", () => {
    const journal = Array.from({ length: 2_500 }, (_, n) => n + 1);
    const w = world({ journal });
    w.tail.add(events(2_400));
    w.later();
    expect(w.batches.flat()).toEqual(journal);
    expect(w.asked.map(({ after }) => after)).toEqual([0, 1_000, 2_000]);
  });

  test("is read again a second later when the disk fails, and nothing is lost meanwhile", () => {
    const w = world({ journal: [1, 2, 3] });
    w.trouble.next = OperatingError.unavailable("STORE_IO", "the disk failed");
    w.tail.add(events(2));
    w.later();
    expect(w.due()).toEqual([1_000]);
    w.tail.add(events(3));
    expect(w.due(), "one look is under way").toEqual([1_000]);
    w.later();
    expect(w.due()).toEqual([1_000]);
    w.trouble.next = undefined;
    w.later();
    expect(w.batches.flat()).toEqual([1, 2, 3]);
  });

  test("is no reason to go on over a fault of the code", () => {
    const w = world({ journal: [1, 2] });
    w.trouble.next = new TypeError("a bug");
    w.tail.add(events(2));
    expect(() => w.later()).toThrow("a bug");
  });

  test("that the journal does not know is looked for again with the next commit", () => {
    const w = world();
    w.tail.add(events(5));
    w.later();
    expect(w.batches).toEqual([]);
    w.journal.push(1, 2, 3, 4, 5, 6);
    w.tail.add(events(6));
    expect(w.due()).toEqual([0]);
    w.later();
    expect(w.batches.flat()).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

test("however commits are cut and noticed, and whichever are never noticed, each event passes once and in order", () => {
  const commits = fc.array(fc.record({ size: fc.integer({ min: 1, max: 4 }), noticed: fc.boolean(), at: fc.nat(20) }), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(commits, fc.integer({ min: 0, max: 3 }), (given, looks) => {
      let next = 1;
      const cut = given.map((commit) => {
        const seqs = Array.from({ length: commit.size }, (_, i) => next + i);
        next += commit.size;
        return { ...commit, seqs };
      });
      // The last one is noticed in any case: it is what shows that something is missing.
      const journal = cut.flatMap(({ seqs }) => seqs);
      const w = world({ journal });
      const noticed = cut.filter((commit, i) => commit.noticed || i === cut.length - 1);
      for (const [i, { seqs }] of noticed.toSorted((a, b) => a.at - b.at).entries()) {
        w.tail.add(events(...seqs));
        if (i % 4 === looks) w.later();
      }
      while (w.due().length > 0) w.later();
      expect(w.batches.flat()).toEqual(journal);
      expect(w.tail.seq).toBe(journal.at(-1));
    }),
    { numRuns: 200 },
  );
});
