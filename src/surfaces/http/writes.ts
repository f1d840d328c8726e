import type { Clock, Timer } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { addWrites, type WriteRow } from "../tables.ts";

export type Writes = ReturnType<typeof createWrites>;

const SOON_MS = 250;
const MAX_TOGETHER = 1_000;

/** The record of what was changed through the surface, and by whom. */
export function createWrites(store: Store, clock: Clock, onLost: (rows: number, thrown: unknown) => void) {
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
    /** Resolves once the row is on disk. */
    async add(row: WriteRow): Promise<void> {
      await store.commit([addWrites([row])]);
    },
    /** Soon, together with others: a flush of its own for each would slow down those who publish. */
    addSoon(row: WriteRow): void {
      waiting.push(row);
      if (waiting.length >= MAX_TOGETHER) void flush();
      else timer ??= clock.after(SOON_MS, () => void flush());
    },
    /** Writes down what still waits. */
    flush,
    /** Newest first; only those before that one, where it is named. */
    list: (limit: number, before = Number.MAX_SAFE_INTEGER) =>
      store
        .read<WriteRow & { readonly id: number }>(
          `SELECT id, at, actor, scope, method, path, status, request_id, came_from, dry_run, reason FROM api_writes
           WHERE id < ? ORDER BY id DESC LIMIT ?`,
          before,
          limit,
        )
        .map(({ came_from, dry_run, ...row }) => ({ ...row, dry_run: dry_run === 1, from: came_from })),
  };
}
