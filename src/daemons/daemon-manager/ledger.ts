import type { PayloadFor } from "../../events/index.ts";
import { createWriteSet, defineTable, type EventRouter } from "../../router/index.ts";
import type { Condition } from "./conditions.ts";
import type { PermanentFailure } from "./daemon.ts";
import type { Hold } from "./holds.ts";

/** What is remembered of a daemon from one process to the next. Times are milliseconds since the epoch. */
export type Book = {
  /** Restarts on its own account, oldest first. */
  readonly restarts: readonly number[];
  readonly permanentFailure: (PermanentFailure & Record<string, string | number | null>) | null;
  readonly crashLoopToldAt: number | null;
  readonly conditions: readonly Condition[];
  /** What keeps it from running, oldest first. */
  readonly holds: readonly Hold[];
};

export const emptyBook: Book = {
  restarts: [],
  permanentFailure: null,
  crashLoopToldAt: null,
  conditions: [],
  holds: [],
};

export const ACTIONS = [
  "started",
  "stopped",
  "failed",
  "gave_up",
  "crash_loop",
  "cascade_pause",
  "reset",
  "held",
  "released",
] as const;

/** The audit row of one action or of what led to it. */
export type ActionRow = {
  readonly at: number;
  readonly daemon: string;
  readonly action: (typeof ACTIONS)[number];
  readonly reason: string;
  /** The daemon at which the trouble began; rows with one cause belong together. Null where there was none. */
  readonly cause: string | null;
  /** Who decided: `supervisor`, or whoever asked. */
  readonly actor: string;
};

export type SupervisorEventName =
  | "DAEMON_STARTED"
  | "DAEMON_STOPPED"
  | "DAEMON_STATUS_CHANGED"
  | "DAEMON_PERMANENTLY_FAILED"
  | "DAEMON_CRASH_LOOP_DETECTED"
  | "ERROR";

export type SupervisorEvent = {
  [N in SupervisorEventName]: { readonly type: N; readonly payload: PayloadFor<N> };
}[SupervisorEventName];

/** What happened since the last write; all of it is one commit. */
export interface LedgerBatch {
  readonly books: ReadonlyMap<string, Book>;
  readonly actions: readonly ActionRow[];
  readonly events: readonly SupervisorEvent[];
}

/** Where the supervisor's books are kept and its words are said. */
export interface SupervisionLedger {
  books(): ReadonlyMap<string, Book>;
  /** The last actions, oldest first. */
  actions(): readonly ActionRow[];
  write(batch: LedgerBatch): Promise<void>;
}

/** So many actions are kept. */
export const KEPT_ACTIONS = 1_000;
const SUPERVISOR = "daemon_manager";

const books = defineTable<Book>("daemon_books");
const actions = defineTable<ActionRow>("daemon_actions");

const keyOf = (n: number) => String(n).padStart(12, "0");

type LedgerRouter = Pick<EventRouter, "transact" | "store" | "catalog">;

/** Rows of the one store, and events beside them in the same commit. */
export function routerLedger(router: LedgerRouter): SupervisionLedger {
  const rows = () => createWriteSet(router.store);
  let next = Number(rows().list(actions).at(-1)?.[0] ?? -1) + 1;
  return {
    // A book of an older version has fewer fields.
    books: () =>
      new Map(
        rows()
          .list(books)
          .map(([name, book]) => [name, { ...emptyBook, ...book }]),
      ),
    actions: () =>
      rows()
        .list(actions)
        .map(([, row]) => row),
    async write(batch) {
      const first = next;
      await router.transact({ source: SUPERVISOR, validation: "strict" }, ({ rows: set, emit }) => {
        for (const [name, book] of batch.books) set.put(books, name, book);
        for (const [i, row] of batch.actions.entries()) {
          set.put(actions, keyOf(first + i), row);
          if (first + i >= KEPT_ACTIONS) set.delete(actions, keyOf(first + i - KEPT_ACTIONS));
        }
        for (const { type, payload } of batch.events) if (router.catalog.row(type) !== undefined) emit(type, payload);
      });
      next = first + batch.actions.length;
    },
  };
}

/** Books that live as long as the value: for a runtime that has no supervisor of its process, and for simulation. */
export function memoryLedger(onWrite: (batch: LedgerBatch) => void = () => {}): SupervisionLedger {
  const kept = new Map<string, Book>();
  const done: ActionRow[] = [];
  return {
    books: () => new Map(kept),
    actions: () => [...done],
    async write(batch) {
      for (const [name, book] of batch.books) kept.set(name, book);
      done.push(...batch.actions);
      if (done.length > KEPT_ACTIONS) done.splice(0, done.length - KEPT_ACTIONS);
      onWrite(batch);
    },
  };
}
