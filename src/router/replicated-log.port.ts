/**
 * The log that several coordinators share: numbered entries, each after the one before, on more than one disk.
 *
 * Whoever appends says which number it takes for the last. That is the fence: a writer that has not seen everything is refused, whatever
 * it believes of itself. Only the answer to `append` is sure; what `last` says may be old by the time it arrives, or come from a server
 * that does not know yet that it was voted out.
 */
import type { OperatingError } from "../kernel/index.ts";

export interface LogEntry {
  /**
   * Names this one entry, and no other of any process at any time. The same entry sent again under its id is stored once, within two
   * minutes.
   */
  readonly id: string;
  readonly bytes: Uint8Array;
}

export interface StoredEntry {
  /** The first is 1, and there is no gap. */
  readonly seq: number;
  readonly bytes: Uint8Array;
}

export type AppendOutcome =
  /** It is in the log, under the number after the expected one, on the disks of a majority. */
  | { readonly outcome: "accepted"; readonly seq: number }
  /**
   * This call has stored nothing and never will. `last` is the number that the server takes for the last, where it said one. A server
   * that was cut off may say an old one, so a number below one's own is a reason to look again, not yet a proof of loss. `by` names the
   * server that was asked.
   */
  | { readonly outcome: "refused"; readonly last: number | undefined; readonly by?: string | undefined }
  /** Nobody knows: it may be stored, or be stored later. Sending the same entry with the same expectation again is safe. */
  | { readonly outcome: "unknown"; readonly why: OperatingError };

export interface ReplicatedLog {
  /** The largest entry that it takes, in bytes. A larger one throws LOG_ENTRY_TOO_BIG. */
  readonly maxBytes: number;
  /** Stores the entry as number `expected + 1`, if `expected` is the last number of the log. */
  append(entry: LogEntry, expected: number): Promise<AppendOutcome>;
  /**
   * All entries after this number, in order, without gaps and without end; troubles of the line are waited out. It ends with the signal,
   * and throws LOG_PURGED when the next entry is not in the log any more.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<StoredEntry>;
  /** The number of the last entry as some server sees it, 0 for an empty log. Throws LOG_UNAVAILABLE when none answers. */
  last(): Promise<number>;
  /** Entries up to this number are needed by nobody any more; numbers go on as before. Twice is once. */
  forget(upTo: number): Promise<void>;
  close(): Promise<void>;
}
