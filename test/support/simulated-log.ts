/**
 * A replicated log in memory that can be made to suffer: appends arrive late, or never, or are stored and not answered; ids are forgotten
 * before their time, entries are purged, and the newest ones are lost for good. Time and luck belong to whoever runs it.
 */
import { type Clock, OperatingError, sleep } from "../../src/kernel/index.ts";
import type { AppendOutcome, LogEntry, ReplicatedLog, StoredEntry } from "../../src/router/replicated-log.port.ts";

/** What becomes of one append, chosen when it is sent. */
export interface AppendFate {
  /** How long it is on its way there. */
  readonly toMs: number;
  /** How long the answer is on its way back. */
  readonly backMs: number;
  readonly fate: "answered" | "stored, unanswered" | "lost";
  /** What meets a line that is cut waits there, and arrives when the line is whole again: as a system sends it again. */
  readonly waits?: boolean;
}

export interface SimulatedLogOptions {
  readonly clock: Clock;
  readonly maxBytes?: number;
  /** How long an answer is waited for. */
  readonly answerMs?: number;
  readonly fateOf?: () => AppendFate;
  /** How long an entry is on its way to one that follows. */
  readonly arrivalMs?: () => number;
}

const PROMPT: AppendFate = { toMs: 0, backMs: 0, fate: "answered" };

const unavailable = () => OperatingError.unavailable("LOG_UNAVAILABLE", "no server answered in time");

export function simulatedLog(options: SimulatedLogOptions) {
  const { clock, maxBytes = 1_000_000, answerMs = 50, fateOf = () => PROMPT, arrivalMs = () => 0 } = options;
  let entries: (LogEntry & StoredEntry)[] = [];
  let purgedTo = 0;
  /** Ids are known until they are forgotten, also those of entries that are not there any more. */
  let known = new Map<string, number>();
  const waiting = new Set<() => void>();
  const last = () => purgedTo + entries.length;
  /** Each refusal is another server's. */
  let asked = 0;

  const store = ({ id, bytes }: LogEntry, expected: number): AppendOutcome => {
    const before = known.get(id);
    // The id is looked at before the number, as JetStream does.
    if (before !== undefined)
      return before === expected + 1 ? { outcome: "accepted", seq: before } : { outcome: "refused", last: undefined };
    if (expected !== last()) {
      asked += 1;
      return { outcome: "refused", last: last(), by: `n${asked % 3}` };
    }
    const seq = expected + 1;
    entries.push({ id, bytes: Uint8Array.from(bytes), seq });
    known.set(id, seq);
    for (const wake of [...waiting]) wake();
    return { outcome: "accepted", seq };
  };

  /** Resolves with the next entry, the end of the signal, or a chance to look again. */
  const news = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const done = () => {
        waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });

  /** What waits in lines that are cut, in the order in which it was sent. */
  const held = new Set<() => void>();
  const wakeAll = () => {
    const arriving = [...held];
    held.clear();
    for (const arrive of arriving) arrive();
    for (const wake of [...waiting]) wake();
  };

  const purge = (upTo: number) => {
    const gone = Math.max(0, Math.min(upTo, last()) - purgedTo);
    entries = entries.slice(gone);
    purgedTo += gone;
    wakeAll();
  };

  return {
    /** One coordinator's way to the log. `isCut` is asked at both ends of every way; what arrives here arrives by its own clock. */
    connect(isCut: () => boolean = () => false, own: Clock = clock): ReplicatedLog {
      const append: ReplicatedLog["append"] = (entry, expected) => {
        if (entry.bytes.length > maxBytes)
          return Promise.reject(
            OperatingError.invalid(
              "LOG_ENTRY_TOO_BIG",
              `the entry has ${entry.bytes.length} of at most ${maxBytes} bytes`,
            ),
          );
        const { toMs, backMs, fate, waits = false } = fateOf();
        const { promise, resolve } = Promise.withResolvers<AppendOutcome>();
        own.after(answerMs, () => resolve({ outcome: "unknown", why: unavailable() }));
        const arrive = () => {
          if (fate === "lost" || (isCut() && !waits)) return;
          if (isCut()) return void held.add(arrive);
          const outcome = store(entry, expected);
          if (fate === "answered") own.after(backMs, () => (isCut() ? undefined : resolve(outcome)));
        };
        clock.after(toMs, arrive);
        return promise;
      };
      async function* follow(after: number, signal: AbortSignal): AsyncIterable<StoredEntry> {
        for (let at = after; !signal.aborted; ) {
          if (at < purgedTo) throw OperatingError.conflict("LOG_PURGED", `the log begins after entry ${purgedTo}`);
          const next = isCut() ? undefined : entries[at - purgedTo];
          if (next === undefined) {
            await news(signal);
            continue;
          }
          await sleep(own, arrivalMs(), signal).catch(() => {});
          if (signal.aborted || isCut()) continue;
          at = next.seq;
          yield { seq: next.seq, bytes: Uint8Array.from(next.bytes) };
        }
      }
      return {
        maxBytes,
        append,
        follow,
        last: () => (isCut() ? Promise.reject(unavailable()) : Promise.resolve(last())),
        forget: async (upTo) => {
          if (isCut()) throw unavailable();
          purge(upTo);
        },
        close: async () => {},
      };
    },
    /** Those that follow look again: after a line was healed. */
    wakeAll,
    entries: () => entries as readonly StoredEntry[],
    last,
    purge,
    /** The duplicate window is over. */
    forgetIds() {
      known = new Map();
    },
    /** The newest entries are gone for good, as after a loss of the disks: what no log should do, and must be noticed. */
    rollBack(to: number) {
      entries = entries.slice(0, Math.max(0, to - purgedTo));
      known = new Map([...known].filter(([, seq]) => seq <= last()));
    },
  };
}

export type SimulatedLog = ReturnType<typeof simulatedLog>;
