import type { PayloadFor } from "../../events/index.ts";
import { createWriteSet, defineTable, type EventRouter } from "../../router/index.ts";
import { KEPT_ACTIONS } from "../limits.ts";
import type { Condition } from "./conditions.ts";
import type { PermanentFailure } from "./daemon.ts";
import type { Hold } from "./holds.ts";

/** What is remembered of a daemon from one process to the next. Times are milliseconds since the epoch. */
export type DaemonRecord = {
  /** Restarts on its own account, oldest first. */
  readonly restarts: readonly number[];
  readonly permanentFailure: (PermanentFailure & Record<string, string | number | null>) | null;
  readonly crashLoopToldAt: number | null;
  readonly conditions: readonly Condition[];
  /** What keeps it from running, oldest first. */
  readonly holds: readonly Hold[];
};

export const emptyRecord: DaemonRecord = {
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
export interface SupervisionBatch {
  readonly records: ReadonlyMap<string, DaemonRecord>;
  readonly actions: readonly ActionRow[];
  readonly events: readonly SupervisorEvent[];
}

/** Where the supervisor's records are kept and its words are said. */
export interface SupervisionStore {
  records(): ReadonlyMap<string, DaemonRecord>;
  /** The last actions, oldest first. */
  actions(): readonly ActionRow[];
  write(batch: SupervisionBatch): Promise<void>;
}

const SUPERVISOR = "daemon_manager";

const records = defineTable<DaemonRecord>("daemon_books");
const actions = defineTable<ActionRow>("daemon_actions");

const keyOf = (n: number) => String(n).padStart(12, "0");

type StoreRouter = Pick<EventRouter, "transact" | "store" | "catalog">;

/** Rows of the one store, and events beside them in the same commit. */
export function supervisionStore(router: StoreRouter): SupervisionStore {
  const rows = () => createWriteSet(router.store);
  let next = Number(rows().list(actions).at(-1)?.[0] ?? -1) + 1;
  return {
    // A record of an older version has fewer fields.
    records: () =>
      new Map(
        rows()
          .list(records)
          .map(([name, record]) => [name, { ...emptyRecord, ...record }]),
      ),
    actions: () =>
      rows()
        .list(actions)
        .map(([, row]) => row),
    async write(batch) {
      const first = next;
      await router.transact({ source: SUPERVISOR, validation: "strict" }, ({ rows: set, emit }) => {
        for (const [name, record] of batch.records) set.put(records, name, record);
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
export function memorySupervisionStore(onWrite: (batch: SupervisionBatch) => void = () => {}): SupervisionStore {
  const kept = new Map<string, DaemonRecord>();
  const done: ActionRow[] = [];
  return {
    records: () => new Map(kept),
    actions: () => [...done],
    async write(batch) {
      for (const [name, record] of batch.records) kept.set(name, record);
      done.push(...batch.actions);
      if (done.length > KEPT_ACTIONS) done.splice(0, done.length - KEPT_ACTIONS);
      onWrite(batch);
    },
  };
}
