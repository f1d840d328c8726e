/**
 * Files that are on their way to this node, for others who want them too. What has come of one is passed on before it is whole, as
 * far as it is known to be right: a wrong byte stops at the first node that gets it.
 */
import { open } from "node:fs/promises";
import { type Clock, OperatingError, systemCode } from "../../kernel/index.ts";
import type { Wanted } from "../transport.port.ts";

const READ_BYTES = 1_024 ** 2;

/** A file that is coming, as whoever fetches it sees it. */
export interface Coming {
  /** So many bytes from the beginning are right and in the file. Fewer than before means that others were given wrong ones. */
  grow(soundBytes: number): void;
  /** It is not fetched any more, whether it came or not. */
  end(): void;
}

/** The same, as whoever wants it sees it. */
export interface GrowingFile extends Wanted {
  /** The bytes from here on, as they come; rejects when no more of them will. */
  read(start: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface GrowingFiles {
  /** One begins to come; `wanted` is called once, when the first one asks for it. */
  begin(file: Wanted, part: string, wanted: () => void): Coming;
  find(sha256: string): GrowingFile | undefined;
  /** Resolves when this one begins to come, or the time is over. */
  begun(sha256: string, waitMs: number, signal: AbortSignal): Promise<void>;
}

const cut = ({ sha256 }: Wanted) =>
  OperatingError.unavailable("TRANSFER_CUT", `${sha256} does not come any more from where it came`, {
    hint: "The next way continues where this one stopped.",
  });

/** Something that others wait for, again and again. */
function createBell() {
  let next = Promise.withResolvers<void>();
  return {
    ring(): void {
      const now = next;
      next = Promise.withResolvers<void>();
      now.resolve();
    },
    heard: (): Promise<void> => next.promise,
  };
}

/** Resolves with the first of these; rejects when it is not wanted any more. */
function eitherOf(all: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    Promise.race(all)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}

function growingFile(file: Wanted, part: string, wanted: () => void) {
  const bell = createBell();
  let sound = 0;
  /** How often bytes were taken back that others may have got. */
  let falls = 0;
  let isAsked = false;
  let isOver = false;
  async function* read(start: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    if (!isAsked) wanted();
    isAsked = true;
    // It has its name, and is read by it, if this one is gone.
    const bytes = await open(part, "r").catch((thrown: unknown) => {
      throw systemCode(thrown) === "ENOENT" ? cut(file) : thrown;
    });
    const before = falls;
    const isLost = () => falls !== before || (isOver && sound < file.bytes);
    try {
      for (let at = start; at < file.bytes; ) {
        if (isLost()) throw cut(file);
        if (at >= sound) {
          await eitherOf([bell.heard()], signal);
          continue;
        }
        const piece = Buffer.allocUnsafe(Math.min(READ_BYTES, sound - at));
        const { bytesRead } = await bytes.read(piece, 0, piece.length, at);
        if (isLost() || bytesRead === 0) throw cut(file);
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await bytes.close();
    }
  }
  return {
    shown: { ...file, read },
    grow(soundBytes: number): void {
      if (soundBytes === sound) return;
      if (soundBytes < sound) falls += 1;
      sound = soundBytes;
      bell.ring();
    },
    end(): void {
      isOver = true;
      bell.ring();
    },
  };
}

export function createGrowingFiles(clock: Pick<Clock, "after">): GrowingFiles {
  const coming = new Map<string, ReturnType<typeof growingFile>>();
  const bell = createBell();
  return {
    begin(file, part, wanted) {
      const one = growingFile(file, part, wanted);
      coming.set(file.sha256, one);
      bell.ring();
      return {
        grow: one.grow,
        end() {
          if (coming.get(file.sha256) === one) coming.delete(file.sha256);
          one.end();
        },
      };
    },
    find: (sha256) => coming.get(sha256)?.shown,
    async begun(sha256, waitMs, signal) {
      const late = Promise.withResolvers<void>();
      let isLate = false;
      const timer = clock.after(waitMs, () => {
        isLate = true;
        late.resolve();
      });
      try {
        while (!isLate && !coming.has(sha256)) await eitherOf([bell.heard(), late.promise], signal);
      } finally {
        timer.cancel();
      }
    },
  };
}
