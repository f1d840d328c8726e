import type { Clock } from "../../kernel/index.ts";
import type { Operation, Store, StoreModule } from "../../router/index.ts";
import { createCommitQueue, storeClosed, storeOver } from "./commit-queue.ts";
import { openWriter, type SqliteWriter } from "./writer.ts";

export interface InThreadOptions {
  readonly clock: Clock;
  /**
   * Carries a batch to the writer and its answer back: `apply` commits and gives the function that answers. The simulator
   * delays, drops and cuts here.
   */
  readonly carry?: (apply: () => () => void) => void;
  /** Called when the store is closed. */
  readonly onClosed?: () => void;
}

/** The shipped writer on the caller's thread: for unit tests (`:memory:`) and the simulator. */
export function inThreadStore(writer: SqliteWriter, options: InThreadOptions): Store {
  const carry = options.carry ?? ((apply) => apply()());
  const queue = createCommitQueue(options.clock, (batch: readonly (readonly Operation[])[]) =>
    carry(() => {
      const outcomes = writer.apply(batch);
      return () => queue.settle(outcomes);
    }),
  );
  return storeOver(queue, writer.db, async () => {
    queue.close(storeClosed());
    options.onClosed?.();
  });
}

/** A database that is opened with its store and closed with it. */
export function ownStore(path: string, modules: readonly StoreModule[], clock: Clock): Store {
  const writer = openWriter(path, modules);
  return inThreadStore(writer, { clock, onClosed: writer.close });
}

/** What the steps of these modules make of an empty database follows from them alone: it is made once, and copied. */
const made = new WeakMap<readonly StoreModule[], Uint8Array>();

/** A database in memory with real SQL. */
export function memoryWriter(modules: readonly StoreModule[]): SqliteWriter {
  const content = made.get(modules);
  const writer = openWriter(":memory:", modules, content);
  if (content === undefined) made.set(modules, writer.db.serialize());
  return writer;
}

export function memoryStore(modules: readonly StoreModule[], clock: Clock): Store {
  const writer = memoryWriter(modules);
  return inThreadStore(writer, { clock, onClosed: writer.close });
}
