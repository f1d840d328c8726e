import type { Store } from "../../router/index.ts";
import { addWrite, type WriteRow } from "./api-store.ts";

/** The record of what was changed through the surface, and by whom. */
export interface Writes {
  /** Resolves once the row is on disk. */
  add(row: WriteRow): Promise<void>;
  /** Newest first, as the wire shows them. */
  list(limit: number): WriteView[];
}

export type WriteView = Omit<WriteRow, "came_from"> & { readonly from: string };

export const createWrites = (store: Store): Writes => ({
  async add(row) {
    await store.commit([addWrite(row)]);
  },
  list: (limit) =>
    store
      .read<WriteRow>(
        `SELECT at, actor, scope, method, path, status, request_id, came_from FROM api_writes
         ORDER BY id DESC LIMIT ?`,
        limit,
      )
      .map(({ came_from, at, ...row }) => ({ at: at / 1_000, ...row, from: came_from })),
});
