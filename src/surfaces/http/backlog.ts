/** What waits for readers of streams, in bytes: bounded for one reader, for all readers of one caller, and for all. */

const MEGABYTE = 1_024 ** 2;

export const backlogLimits = { reader: 4 * MEGABYTE, caller: 16 * MEGABYTE, all: 64 * MEGABYTE };

/** What waits for one reader. */
export interface Share {
  readonly bytes: number;
  /** Counts so many bytes more, if there is room for them. For a reader that nothing waits for there always is. */
  take(bytes: number): boolean;
  /** They wait no more. */
  give(bytes: number): void;
  /** What its connection has not sent yet, instead of what it was before. */
  onConnection(bytes: number): void;
  /** Told when others need the room that this one takes; it counts as empty from then on. */
  onCut(cut: () => void): void;
  close(): void;
}

interface Reader {
  readonly caller: string;
  bytes: number;
  closed: boolean;
  cut: () => void;
}

export type Backlog = ReturnType<typeof createBacklog>;

/** Where there is no room, the reader that takes most of the caller that takes most is cut off: never one that keeps up. */
export function createBacklog(limits = backlogLimits) {
  const readers = new Set<Reader>();
  const callers = new Map<string, number>();
  let all = 0;

  const grow = (reader: Reader, bytes: number) => {
    const ofCaller = (callers.get(reader.caller) ?? 0) + bytes;
    if (ofCaller > 0) callers.set(reader.caller, ofCaller);
    else callers.delete(reader.caller);
    reader.bytes += bytes;
    all += bytes;
    if (reader.bytes > 0) readers.add(reader);
    else readers.delete(reader);
  };
  const close = (reader: Reader) => {
    grow(reader, -reader.bytes);
    reader.closed = true;
  };
  const fullFor = ({ caller }: Reader, bytes: number): string | undefined => {
    if ((callers.get(caller) ?? 0) + bytes > limits.caller) return caller;
    if (all + bytes <= limits.all) return undefined;
    return [...callers].reduce((largest, one) => (one[1] > largest[1] ? one : largest), [caller, 0] as const)[0];
  };
  const makeRoom = (reader: Reader, bytes: number): boolean => {
    for (;;) {
      const caller = fullFor(reader, bytes);
      if (caller === undefined) return true;
      let largest = reader;
      for (const one of readers) if (one.caller === caller && one.bytes > largest.bytes) largest = one;
      if (largest === reader) return false;
      close(largest);
      largest.cut();
    }
  };

  return {
    get bytes() {
      return all;
    },
    open(caller: string): Share {
      const reader: Reader = { caller, bytes: 0, closed: false, cut: () => undefined };
      let onConnection = 0;
      return {
        get bytes() {
          return reader.bytes;
        },
        take(bytes) {
          if (reader.closed) return false;
          const fits = reader.bytes + bytes <= limits.reader && makeRoom(reader, bytes);
          if (!fits && reader.bytes > 0) return false;
          grow(reader, bytes);
          return true;
        },
        give(bytes) {
          if (!reader.closed) grow(reader, -bytes);
        },
        onConnection(bytes) {
          if (reader.closed) return;
          grow(reader, bytes - onConnection);
          onConnection = bytes;
        },
        onCut(cut) {
          reader.cut = cut;
        },
        close: () => close(reader),
      };
    },
  };
}
