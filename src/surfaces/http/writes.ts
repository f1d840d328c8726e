import type { Clock, Timer } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { addWrites, type WriteRow } from "./api-store.ts";

/** The record of what was changed through the surface, and by whom. */
export interface Writes {
  /** Resolves once the row is on disk. */
  add(row: WriteRow): Promise<void>;
  /** Soon, together with others: a flush of its own for each would slow down those who publish. */
  addSoon(row: WriteRow): void;
  /** Writes down what still waits. */
  flush(): Promise<void>;
  /** Newest first, as the wire shows them. */
  list(limit: number): WriteView[];
}

export type WriteView = Omit<WriteRow, "came_from"> & { readonly from: string };

const SOON_MS = 250;
const MOST_TOGETHER = 1_000;

export function createWrites(store: Store, clock: Clock, onLost: (rows: number, thrown: unknown) => void): Writes {
  let waiting: WriteRow[] = [];
  let timer: Timer | undefined;
  const flush = async (): Promise<void> => {
    timer?.cancel();
    timer = undefined;
    const rows = waiting;
    waiting = [];
    if (rows.length === 0) return;
    try {
      await store.commit([addWrites(rows)]);
    } catch (thrown) {
      onLost(rows.length, thrown);
    }
  };
  return {
    async add(row) {
      await store.commit([addWrites([row])]);
    },
    addSoon(row) {
      waiting.push(row);
      if (waiting.length >= MOST_TOGETHER) void flush();
      else timer ??= clock.after(SOON_MS, () => void flush());
    },
    flush,
    list: (limit) =>
      store
        .read<WriteRow>(
          `SELECT at, actor, scope, method, path, status, request_id, came_from FROM api_writes
           ORDER BY id DESC LIMIT ?`,
          limit,
        )
        .map(({ came_from, at, ...row }) => ({ at: at / 1_000, ...row, from: came_from })),
  };
}
