/** Every act of repair as a row: who was treated, how, why, with what evidence, and what came of it. */
import { insertRow } from "../../router/sql-rows.ts";
import { conditions, defineOperation, type Migration, type SqlValue, type Store } from "../../router/store.port.ts";
import type { ActState, Rung } from "./rungs.ts";

export const recoveryMigration = (id: number): Migration => ({
  id,
  name: "repairs of nodes",
  sql: `
    CREATE TABLE recovery_acts (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      act_id TEXT NOT NULL UNIQUE,
      case_id TEXT NOT NULL,
      node_id TEXT NOT NULL,
      label TEXT NOT NULL,
      rung TEXT NOT NULL,
      reason TEXT NOT NULL,
      evidence TEXT NOT NULL,
      asked_by TEXT NOT NULL,
      incarnation INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('acting', 'worked', 'failed', 'ended')),
      begun_at REAL NOT NULL,
      ended_at REAL,
      outcome TEXT
    ) STRICT;
    CREATE INDEX recovery_acts_by_node ON recovery_acts (node_id, seq);
    CREATE INDEX recovery_acts_open ON recovery_acts (state) WHERE state = 'acting';
    CREATE INDEX recovery_acts_by_time ON recovery_acts (begun_at);
  `,
});

/** Times are milliseconds since the epoch. */
export interface RecoveryAct {
  /** The same for every try of it: whoever is asked twice does it once. */
  readonly act_id: string;
  readonly case_id: string;
  readonly node_id: string;
  /** What people called the node. */
  readonly label: string;
  readonly rung: Rung;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  /** The unit, or the person who wanted it. */
  readonly asked_by: string;
  /** The life of its worker in which it was begun. */
  readonly incarnation: number;
  readonly state: ActState;
  readonly begun_at: number;
  readonly ended_at: number | null;
  readonly outcome: string | null;
}

const KEPT_ACTS = 10_000;

type NewAct = Omit<RecoveryAct, "state" | "ended_at" | "outcome">;

/** What was under way for the node before has failed, and this has begun. */
export const beginAct = defineOperation<NewAct & { readonly before: string }, void>(
  "recovery.begin",
  (tx, { before, evidence, ...act }) => {
    tx.run(
      "UPDATE recovery_acts SET state = 'failed', ended_at = ?, outcome = ? WHERE node_id = ? AND state = 'acting'",
      act.begun_at,
      before,
      act.node_id,
    );
    const row = { ...act, evidence: JSON.stringify(evidence), state: "acting" };
    const { lastId } = insertRow(tx, "recovery_acts", row);
    tx.run("DELETE FROM recovery_acts WHERE seq <= ? AND state <> 'acting'", lastId - KEPT_ACTS);
  },
);

export const endActs = defineOperation<
  { node_id: string; state: Exclude<ActState, "acting">; outcome: string; at: number },
  void
>("recovery.end", (tx, { node_id, state, outcome, at }) => {
  tx.run(
    "UPDATE recovery_acts SET state = ?, ended_at = ?, outcome = ? WHERE node_id = ? AND state = 'acting'",
    state,
    at,
    outcome,
    node_id,
  );
});

type Reader = Pick<Store, "read">;
type Stored = Omit<RecoveryAct, "evidence"> & { readonly seq: number; readonly evidence: string };
const actOf = ({ evidence, seq: _, ...row }: Stored): RecoveryAct => ({
  ...row,
  evidence: JSON.parse(evidence) as Record<string, unknown>,
});

export interface ActFilter {
  readonly nodeId?: string | undefined;
  readonly limit?: number | undefined;
}

/** Newest first. */
export function listActs(store: Reader, { nodeId, limit = 100 }: ActFilter = {}): RecoveryAct[] {
  const { sql, params } = conditions({ "node_id = ?": nodeId });
  const all: SqlValue[] = [...params, Math.min(limit, 1_000)];
  return store.read<Stored>(`SELECT * FROM recovery_acts WHERE ${sql} ORDER BY seq DESC LIMIT ?`, ...all).map(actOf);
}

export const openActs = (store: Reader): RecoveryAct[] =>
  store.read<Stored>("SELECT * FROM recovery_acts WHERE state = 'acting' ORDER BY seq").map(actOf);

/** Hard acts since a moment, over all nodes. */
export const hardActsSince = (store: Reader, since: number): number =>
  store.read<{ n: number }>(
    "SELECT count(*) AS n FROM recovery_acts WHERE begun_at > ? AND rung IN ('restart', 'reboot', 'replace')",
    since,
  )[0]!.n;

/** When each rung was last used on a node, before this case. */
export const lastUsed = (store: Reader, nodeId: string): Partial<Record<Rung, number>> =>
  Object.fromEntries(
    store
      .read<{ rung: Rung; at: number }>(
        "SELECT rung, max(begun_at) AS at FROM recovery_acts WHERE node_id = ? GROUP BY rung",
        nodeId,
      )
      .map(({ rung, at }) => [rung, at]),
  );
