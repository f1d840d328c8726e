/** What every replicated log must stand: each adapter's test opens worlds of its own and runs this. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { AppendOutcome, LogEntry, ReplicatedLog, StoredEntry } from "./replicated-log.port.ts";

/** One log and its surroundings. */
export interface LogWorld {
  /** A connection to the one log of this world, as another coordinator would have it. */
  connect(): Promise<ReplicatedLog>;
  /** From now on nobody answers; what it returns ends that. */
  silence(): Promise<() => Promise<void>>;
}

const text = (words: string): Uint8Array => Buffer.from(words);
const entry = (id: string, words = id): LogEntry => ({ id, bytes: text(words) });
const accepted = (seq: number): AppendOutcome => ({ outcome: "accepted", seq });

/** What becomes of an entry. Nobody knows it while servers choose a leader, or are slow: it is sent again, as everybody does who appends. */
async function appended(log: ReplicatedLog, sent: LogEntry, expected: number): Promise<AppendOutcome> {
  for (;;) {
    const outcome = await log.append(sent, expected);
    if (outcome.outcome !== "unknown") return outcome;
    expect(outcome.why).toMatchObject({ code: "LOG_UNAVAILABLE", retryable: true });
  }
}

/** The last number, as soon as a server says it. */
async function lastOf(log: ReplicatedLog): Promise<number> {
  for (;;)
    try {
      return await log.last();
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "LOG_UNAVAILABLE" });
    }
}

/** Appends one after another to an empty log. */
const fill = async (log: ReplicatedLog, ids: readonly string[]): Promise<void> => {
  for (const [i, id] of ids.entries()) expect(await appended(log, entry(id), i)).toEqual(accepted(i + 1));
};

async function take(entries: AsyncIterable<StoredEntry>, wanted: number): Promise<[number, string][]> {
  const taken: [number, string][] = [];
  for await (const { seq, bytes } of entries) {
    taken.push([seq, Buffer.from(bytes).toString()]);
    if (taken.length === wanted) break;
  }
  return taken;
}

/** `open` makes a new empty log, or gives undefined where the machine lacks what it needs; tests are then skipped. */
export function replicatedLogContract(name: string, open: () => Promise<LogWorld | undefined>): void {
  const world = async (skip: () => never): Promise<LogWorld & { log: ReplicatedLog }> => {
    const opened = (await open()) ?? skip();
    const connect = async () => {
      const log = await opened.connect();
      onTestFinished(() => log.close());
      return log;
    };
    return { ...opened, connect, log: await connect() };
  };

  describe(name, () => {
    test("numbers entries from 1 without gaps and tells the last number", async ({ skip }) => {
      const { log } = await world(skip);
      expect(await lastOf(log)).toBe(0);
      await fill(log, ["a", "b", "c"]);
      expect(await lastOf(log)).toBe(3);
    });

    test("refuses whoever takes an older or a newer entry for the last, stores nothing of it, and says the last", async ({
      skip,
    }) => {
      const { log, connect } = await world(skip);
      await fill(log, ["a", "b"]);
      const stale = await connect();
      expect(await appended(stale, entry("x"), 1)).toMatchObject({ outcome: "refused", last: 2 });
      expect(await appended(stale, entry("y"), 0)).toMatchObject({ outcome: "refused", last: 2 });
      expect(await appended(stale, entry("z"), 5)).toMatchObject({ outcome: "refused", last: 2 });
      expect(await appended(log, entry("c"), 2)).toEqual(accepted(3));
      expect(await take(log.follow(0, new AbortController().signal), 3)).toEqual([
        [1, "a"],
        [2, "b"],
        [3, "c"],
      ]);
    });

    test("stores an entry that is sent again once, and gives it the same number", async ({ skip }) => {
      const { log, connect } = await world(skip);
      await fill(log, ["a", "b"]);
      const again = await connect();
      expect(await appended(again, entry("b"), 1)).toEqual(accepted(2));
      expect(await lastOf(again)).toBe(2);
    });

    test("never takes an entry of the same id for the one that is appended elsewhere", async ({ skip }) => {
      const { log } = await world(skip);
      await fill(log, ["a", "b"]);
      expect(await appended(log, entry("a"), 2)).toMatchObject({ outcome: "refused" });
      expect(await lastOf(log)).toBe(2);
    });

    test("lets one of several writers win each number", async ({ skip }) => {
      const { log, connect } = await world(skip);
      const writers = [log, await connect(), await connect()];
      const won: string[] = [];
      for (let expected = 0; expected < 10; expected += 1) {
        const outcomes = await Promise.all(
          writers.map((writer, i) => appended(writer, entry(`writer ${i} at ${expected}`), expected)),
        );
        const winners = outcomes.flatMap(({ outcome }, i) => (outcome === "accepted" ? [i] : []));
        expect(winners).toHaveLength(1);
        expect(outcomes.filter(({ outcome }) => outcome === "refused")).toHaveLength(2);
        won.push(`writer ${winners[0]} at ${expected}`);
      }
      const stored = await take(log.follow(0, new AbortController().signal), 10);
      expect(stored.map(([, words]) => words)).toEqual(won);
    });

    test("is followed from any number, through what comes later, until the signal ends it", async ({ skip }) => {
      const { log, connect } = await world(skip);
      await fill(log, ["a", "b", "c"]);
      const reader = await connect();
      const ended = new AbortController();
      const seen: string[] = [];
      const following = (async () => {
        for await (const { seq, bytes } of reader.follow(1, ended.signal)) seen.push(`${seq} ${Buffer.from(bytes)}`);
      })();
      await expect.poll(() => seen).toEqual(["2 b", "3 c"]);
      for (const [i, id] of ["d", "e"].entries()) await appended(log, entry(id), 3 + i);
      await expect.poll(() => seen).toEqual(["2 b", "3 c", "4 d", "5 e"]);
      ended.abort();
      await following;
    });

    test("says so when the next entry is not there any more", async ({ skip }) => {
      const { log } = await world(skip);
      await fill(log, ["a", "b", "c", "d"]);
      await log.forget(2);
      await log.forget(1);
      const { signal } = new AbortController();
      expect(await take(log.follow(2, signal), 2)).toEqual([
        [3, "c"],
        [4, "d"],
      ]);
      await expect(take(log.follow(1, signal), 1)).rejects.toMatchObject({ code: "LOG_PURGED" });
      await log.forget(4);
      await expect(take(log.follow(3, signal), 1)).rejects.toMatchObject({ code: "LOG_PURGED" });
      expect(await appended(log, entry("e"), 4)).toEqual(accepted(5));
    });

    test("takes entries up to its limit and none above it", async ({ skip }) => {
      const { log } = await world(skip);
      const largest = { id: "large", bytes: new Uint8Array(log.maxBytes).fill(7) };
      expect(await appended(log, largest, 0)).toEqual(accepted(1));
      const larger = { id: "larger", bytes: new Uint8Array(log.maxBytes + 1) };
      await expect(log.append(larger, 1)).rejects.toMatchObject({ code: "LOG_ENTRY_TOO_BIG" });
      expect(await lastOf(log)).toBe(1);
      for await (const { bytes } of log.follow(0, new AbortController().signal)) {
        expect(Buffer.compare(bytes, largest.bytes)).toBe(0);
        break;
      }
    });

    test("says that it does not know while nobody answers; the same entry again is stored once", async ({ skip }) => {
      const { log, silence } = await world(skip);
      await fill(log, ["a"]);
      const speak = await silence();
      expect(await log.append(entry("b"), 1)).toMatchObject({
        outcome: "unknown",
        why: { code: "LOG_UNAVAILABLE", retryable: true },
      });
      await expect(log.last()).rejects.toMatchObject({ code: "LOG_UNAVAILABLE" });
      await speak();
      await expect.poll(() => log.append(entry("b"), 1)).toEqual(accepted(2));
      expect(await appended(log, entry("c"), 2)).toEqual(accepted(3));
      expect(await take(log.follow(0, new AbortController().signal), 3)).toEqual([
        [1, "a"],
        [2, "b"],
        [3, "c"],
      ]);
    });
  });
}
