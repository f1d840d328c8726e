/** The tables of the surface: tokens, of which only hashes are kept, and the record of what was changed through it. */
import { insertRow } from "../router/sql-rows.ts";
import { defineOperation, defineStoreModule, type Transaction } from "../router/store.port.ts";
import type { TokenScope } from "./http/scope.ts";

/** What it is for: programs, the one start of a session, the browser that keeps it in a cookie, or a link that was shared. */
export type TokenKind = "token" | "code" | "session" | "share";

export interface TokenRow {
  readonly id: string;
  readonly label: string;
  readonly scope: TokenScope;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  /** Milliseconds since the epoch, as all times in the store. */
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly revoked_by: string | null;
  readonly last_used_at: number | null;
  /** Nodes that may join with it, and nothing else; null for a token of its whole scope. */
  readonly join_uses: number | null;
  readonly kind: TokenKind;
  /** Of a share: the start of the addresses of the views that it shows. */
  readonly path: string | null;
}

export interface WriteRow {
  readonly at: number;
  readonly actor: string;
  readonly scope: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly request_id: string;
  readonly came_from: string;
  /** Nothing was changed: it was only asked what would be. */
  readonly dry_run: 0 | 1;
  /** What whoever asked gave as the reason. */
  readonly reason: string | null;
}

/** Tokens that no longer open anything, and writes, are remembered up to these. */
export const MAX_SPENT_TOKENS = 1_000;
const MAX_WRITES = 10_000;
/** One row in so many looks whether there are too many. */
const TRIM_EVERY = 256;

export const addToken = defineOperation<TokenRow, void>("api.add_token", (tx, row) => {
  insertRow(tx, "api_tokens", row);
  const { changes } = tx.run(
    `DELETE FROM api_tokens WHERE id IN (
       SELECT id FROM api_tokens WHERE revoked_at IS NOT NULL OR expires_at < ?
       ORDER BY coalesce(revoked_at, expires_at) DESC LIMIT -1 OFFSET ?)`,
    row.created_at,
    MAX_SPENT_TOKENS,
  );
  // Who joined with a token is told with it, and goes with it.
  if (changes > 0) tx.run("DELETE FROM api_token_nodes WHERE token_id NOT IN (SELECT id FROM api_tokens)");
});

/** A node joins with a token of so many uses: one place for each node, taken or refused in one step. */
export const takeJoinPlace = defineOperation<{ id: string; nodeId: string; at: number; max: number }, boolean>(
  "api.take_join_place",
  (tx, { id, nodeId, at, max }) => {
    const known = tx.get("SELECT 1 FROM api_token_nodes WHERE token_id = ? AND node_id = ?", id, nodeId);
    if (known !== undefined) return true;
    const used = tx.get<{ n: number }>("SELECT count(*) AS n FROM api_token_nodes WHERE token_id = ?", id)!.n;
    if (used >= max) return false;
    tx.run("INSERT INTO api_token_nodes (token_id, node_id, at) VALUES (?, ?, ?)", id, nodeId, at);
    return true;
  },
);

export const revokeToken = defineOperation<{ id: string; at: number; by: string }, void>(
  "api.revoke_token",
  (tx, { id, at, by }) => {
    tx.run("UPDATE api_tokens SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL", at, by, id);
  },
);

export const touchToken = defineOperation<{ id: string; at: number }, void>("api.touch_token", (tx, { id, at }) => {
  tx.run("UPDATE api_tokens SET last_used_at = ? WHERE id = ?", at, id);
});

/** The busy rows of workers must not push out the few of operators: each scope has its own share. */
export const addWrites = defineOperation<readonly WriteRow[], void>("api.add_writes", (tx, rows) => {
  for (const row of rows) addWrite(tx, row);
});

const addWrite = (tx: Transaction, row: WriteRow): void => {
  const { lastId } = insertRow(tx, "api_writes", row);
  if (lastId % TRIM_EVERY !== 0) return;
  for (const scope of ["worker", "operator"])
    tx.run(
      `DELETE FROM api_writes WHERE scope = ?1 AND id <= (
         SELECT id FROM api_writes WHERE scope = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
      scope,
      MAX_WRITES,
    );
};

export const apiModule = defineStoreModule({
  name: "api",
  migrations: [
    {
      id: 1,
      name: "tokens and writes",
      sql: `
        CREATE TABLE api_tokens (
          id TEXT PRIMARY KEY,
          label TEXT NOT NULL,
          scope TEXT NOT NULL CHECK (scope IN ('read', 'worker', 'operator')),
          hash TEXT NOT NULL,
          created_at REAL NOT NULL,
          created_by TEXT NOT NULL,
          expires_at REAL,
          revoked_at REAL,
          revoked_by TEXT,
          last_used_at REAL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE api_writes (
          id INTEGER PRIMARY KEY,
          at REAL NOT NULL,
          actor TEXT NOT NULL,
          scope TEXT NOT NULL,
          method TEXT NOT NULL,
          path TEXT NOT NULL,
          status INTEGER NOT NULL,
          request_id TEXT NOT NULL,
          came_from TEXT NOT NULL
        ) STRICT;
        CREATE INDEX api_writes_by_scope ON api_writes (scope, id);
      `,
    },
    {
      id: 2,
      name: "tokens that nodes join with",
      sql: `
        ALTER TABLE api_tokens ADD COLUMN join_uses INTEGER;
        CREATE TABLE api_token_nodes (
          token_id TEXT NOT NULL,
          node_id TEXT NOT NULL,
          at REAL NOT NULL,
          PRIMARY KEY (token_id, node_id)
        ) STRICT, WITHOUT ROWID;
      `,
    },
    {
      id: 3,
      name: "dry runs and reasons in the record of writes",
      sql: `
        ALTER TABLE api_writes ADD COLUMN dry_run INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE api_writes ADD COLUMN reason TEXT;
      `,
    },
    {
      id: 4,
      name: "codes and sessions of browsers",
      sql: "ALTER TABLE api_tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token'",
    },
    { id: 5, name: "links that are shared", sql: "ALTER TABLE api_tokens ADD COLUMN path TEXT" },
  ],
  operations: [addToken, takeJoinPlace, revokeToken, touchToken, addWrites],
});
