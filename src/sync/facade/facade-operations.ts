import { defineOperation } from "../../router/store.port.ts";
import type { SyncBackend } from "./request.ts";

export type SyncState = "running" | "completed" | "failed" | "cancelled";

/** A sync that somebody asked for. Times are milliseconds since the epoch. */
export interface SyncRow {
  readonly sync_id: string;
  readonly state: SyncState;
  readonly backend: SyncBackend;
  /** JSON: what was asked for, what was decided about each node, and what came of it. */
  readonly request: string;
  readonly plan: string;
  readonly response: string | null;
  readonly requested_by: string;
  readonly started_at: number;
  readonly ended_at: number | null;
}

/** Begins a sync, or goes on with it by another backend. */
export const beginSync = defineOperation<Omit<SyncRow, "state" | "response" | "ended_at">, void>(
  "sync.begin_sync",
  (tx, { sync_id, backend, request, plan, requested_by, started_at }) => {
    tx.run(
      `INSERT INTO sync_requests (sync_id, state, backend, request, plan, requested_by, started_at)
       VALUES (?, 'running', ?, ?, ?, ?, ?) ON CONFLICT (sync_id) DO UPDATE SET backend = excluded.backend,
         plan = excluded.plan WHERE sync_requests.state = 'running'`,
      sync_id,
      backend,
      request,
      plan,
      requested_by,
      started_at,
    );
  },
);

/** Ends it, once: what was cancelled stays so. */
export const endSync = defineOperation<
  { sync_id: string; state: Exclude<SyncState, "running">; response: string | null; at: number },
  { ended: boolean }
>("sync.end_sync", (tx, { sync_id, state, response, at }) => ({
  ended:
    tx.run(
      `UPDATE sync_requests SET state = iif(state = 'running', ?1, state), response = ifnull(?2, response),
         ended_at = ifnull(ended_at, ?3) WHERE sync_id = ?4 AND (state = 'running' OR response IS NULL)`,
      state,
      response,
      at,
      sync_id,
    ).changes > 0,
}));

export const forgetSyncs = defineOperation<{ before: number }, void>("sync.forget_syncs", (tx, { before }) => {
  tx.run("DELETE FROM sync_requests WHERE ended_at < ?", before);
});
