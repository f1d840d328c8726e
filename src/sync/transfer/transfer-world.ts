import type { Clock, Listening, Random } from "../../kernel/index.ts";
import type { TransferPriority, TransferTry, Transport, WrongBytes } from "../transport.port.ts";
import type { Budget } from "./budget.ts";
import type { FileMaker } from "./file-maker.ts";
import type { Flusher } from "./flush.ts";
import type { GrowingFiles } from "./growing.ts";
import { MAX_WRONG } from "./limits.ts";
import type { PackStore } from "./pack-store.ts";
import { codeOf, faultOf, type Ways } from "./ways.ts";

/** What all transfers of a node share. */
export interface SharedWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly listening: Pick<Listening, "listened">;
  readonly ways: Ways;
  readonly budget: Budget;
  readonly flusher: Flusher;
  /** Makes the files of large packs; who has none makes them where it is. */
  readonly maker?: FileMaker | undefined;
  /** Where small files stay together that came so; each becomes a file of its own where there is none. */
  readonly packs?: Pick<PackStore, "begin" | "has"> | undefined;
  readonly stallMs: number;
  readonly chunkBytes: number;
  /** What comes is offered there to others who want it. */
  readonly growing?: GrowingFiles | undefined;
}

/** What one transfer works with, and what it notes of each way. */
export interface TransferWorld extends Omit<SharedWorld, "budget" | "ways"> {
  readonly signal: AbortSignal;
  /** Waits until so many bytes may come. */
  spend(bytes: number): Promise<void>;
  moved(transport: Transport, bytes: number): void;
  movedBy(transport: Transport): number;
  /** Uses a way if it is open, and tells its breaker how it went. False if it is not open. */
  by(transport: Transport, use: () => Promise<void>): Promise<boolean>;
  cameBy(transport: Transport, files: number): void;
  /** All bytes of one came by this way alone, and they are not what its name says. */
  cameWrong(transport: Transport, wrong: WrongBytes): void;
  tries(): TransferTry[];
}

interface Note {
  readonly transport: Transport;
  files: number;
  bytes: number;
  durationMs: number;
  error?: { readonly code: string; readonly message: string };
  readonly wrong: WrongBytes[];
}

export function transferWorld(
  shared: SharedWorld,
  given: {
    readonly signal: AbortSignal;
    readonly priority: TransferPriority;
    /** Of this transfer alone. */
    readonly own?: Budget | undefined;
    readonly onMoved?: (transport: Transport, bytes: number) => void;
  },
): TransferWorld {
  const { clock, ways, budget } = shared;
  const { signal, priority, own, onMoved } = given;
  const notes = new Map<string, Note>();
  const noteOf = (transport: Transport): Note => {
    const key = `${transport.name} ${transport.place}`;
    const note = notes.get(key) ?? { transport, files: 0, bytes: 0, durationMs: 0, wrong: [] };
    notes.set(key, note);
    return note;
  };
  return {
    ...shared,
    signal,
    async spend(bytes) {
      await own?.spend(bytes, priority, signal);
      await budget.spend(bytes, priority, signal);
    },
    moved(transport, bytes) {
      noteOf(transport).bytes += bytes;
      onMoved?.(transport, bytes);
    },
    movedBy: (transport) => noteOf(transport).bytes,
    cameBy(transport, files) {
      noteOf(transport).files += files;
    },
    cameWrong(transport, found) {
      const { wrong } = noteOf(transport);
      if (wrong.length < MAX_WRONG && wrong.every(({ sha256 }) => sha256 !== found.sha256)) wrong.push(found);
    },
    async by(transport, use) {
      const note = noteOf(transport);
      const began = clock.monotonic();
      try {
        const breaker = await ways.open(transport, signal);
        if (breaker === undefined) {
          // Why it was closed says more, where that was seen here.
          note.error ??= { code: "WAY_CLOSED", message: `${transport.name} to ${transport.place} failed lately` };
          return false;
        }
        try {
          await use();
          breaker.succeed();
          return true;
        } catch (thrown) {
          if (signal.aborted || faultOf(thrown) === "here") breaker.abandon();
          // Whoever says that it does not have it is there.
          else if (faultOf(thrown) === "artifact") breaker.succeed();
          else breaker.fail();
          throw thrown;
        }
      } catch (thrown) {
        note.error = codeOf(thrown);
        throw thrown;
      } finally {
        note.durationMs += clock.monotonic() - began;
      }
    },
    tries: () =>
      [...notes.values()].map(({ transport, files, bytes, durationMs, error, wrong }) => ({
        transport: transport.name,
        place: transport.place,
        files,
        bytes,
        durationMs,
        ...(error === undefined ? {} : { error }),
        ...(wrong.length === 0 ? {} : { wrong }),
      })),
  };
}
