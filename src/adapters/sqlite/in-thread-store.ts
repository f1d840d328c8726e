import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { Operation, Store, StoreModule } from "../../router/index.ts";
import { createCommitQueue } from "./commit-queue.ts";
import { translateFault } from "./faults.ts";
import { openWriter, type SqliteWriter, statementCache } from "./writer.ts";

export interface InThreadOptions {
  readonly clock: Clock;
  /**
   * Carries a batch to the writer and its answer back: `apply` commits and gives the function that answers. The simulator
   * delays, drops and cuts here.
   */
  readonly carry?: (apply: () => () => void) => void;
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
  const prepare = statementCache(writer.db);
  return {
    commit: (operations) => queue.commit(operations),
    read(sql, ...params) {
      try {
        return prepare(sql).all(...params) as never;
      } catch (thrown) {
        throw translateFault(thrown);
      }
    },
    get fault() {
      return queue.fault;
    },
    onFault: queue.onFault,
    async close() {
      queue.close(new OperatingError("STORE_CLOSED", "the store is closed"));
    },
  };
}

/** A database in memory with real SQL, closed with its store. */
export function memoryStore(modules: readonly StoreModule[], clock: Clock): Store {
  const writer = openWriter(":memory:", modules);
  const store = inThreadStore(writer, { clock });
  return {
    commit: store.commit,
    read: store.read,
    get fault() {
      return store.fault;
    },
    onFault: store.onFault,
    async close() {
      await store.close();
      writer.close();
    },
  };
}
