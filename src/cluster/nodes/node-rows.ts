import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store } from "../../router/store.port.ts";
import type { NodeState } from "./states.ts";
import { PROTOCOL } from "./versions.ts";

/** What a node has, as it said when it joined or beat. */
export interface NodeCapabilities {
  readonly cpu: number;
  readonly gpu: number;
  readonly memory_gb: number;
  readonly gpu_memory_gb: number;
  readonly tags: readonly string[];
  readonly hostname?: string | undefined;
  readonly platform?: string | undefined;
  /** Kinds of work that it has executors for. */
  readonly kinds?: readonly string[] | undefined;
}

/** A node as it is stored. Times are milliseconds since the epoch. */
export interface NodeRow {
  readonly node_id: string;
  /** Base64 of the raw key; null for the coordinator's own node, which needs none. */
  readonly public_key: string | null;
  readonly label: string;
  readonly version: string;
  readonly protocol: number;
  readonly capabilities: string;
  /** The settings that it has set, as JSON; null until it reported them. */
  readonly settings: string | null;
  readonly incarnation: number;
  readonly state: NodeState;
  readonly state_since: number;
  readonly joined_at: number;
  readonly joined_by: string;
  /** The token that it came with, where that says for how many it is good by itself; null for every other node. */
  readonly token_id: string | null;
  readonly last_seen_at: number | null;
  readonly address: string | null;
  /** Why it gets no new work; null if it may. */
  readonly cordon_reason: string | null;
  readonly cordoned_at: number | null;
  readonly cordoned_by: string | null;
  /** 1: it shall also give back what it has. */
  readonly draining: number;
  readonly left_reason: string | null;
  readonly forgotten_at: number | null;
  /** What its operators allow it, as JSON; null where they have said nothing. */
  readonly policy: string | null;
}

export type NodeChanges = Partial<Omit<NodeRow, "node_id">>;

/** It came with a token instead of a key. */
export const isGuest = (row: NodeRow): row is NodeRow & { readonly token_id: string } =>
  row.public_key === null && row.token_id !== null;

/** A node of which nothing is known but its id. */
export const freshRow = (nodeId: string, now: number): NodeRow => ({
  node_id: nodeId,
  public_key: null,
  label: nodeId,
  version: "",
  protocol: PROTOCOL.current,
  capabilities: "{}",
  settings: null,
  incarnation: 0,
  state: "joined",
  state_since: now,
  joined_at: now,
  joined_by: "",
  token_id: null,
  last_seen_at: null,
  address: null,
  cordon_reason: null,
  cordoned_at: null,
  cordoned_by: null,
  draining: 0,
  left_reason: null,
  forgotten_at: null,
  policy: null,
});

export const addNode = defineOperation<NodeRow, void>("cluster.add_node", (tx, row) => {
  insertRow(tx, "cluster_nodes", row, "ON CONFLICT (node_id) DO NOTHING");
});

/** Only what changed is written: two changes of one node never undo each other. */
export const changeNode = defineOperation<{ nodeId: string; changes: NodeChanges }, void>(
  "cluster.change_node",
  (tx, { nodeId, changes }) => {
    const sets = Object.keys(changes).map((column) => `${column} = ?`);
    tx.run(`UPDATE cluster_nodes SET ${sets.join(", ")} WHERE node_id = ?`, ...Object.values(changes), nodeId);
  },
);

export const dropNode = defineOperation<{ nodeId: string }, void>("cluster.drop_node", (tx, { nodeId }) => {
  tx.run("DELETE FROM cluster_nodes WHERE node_id = ?", nodeId);
});

/** When nodes were last heard, written down now and then. */
export const touchNodes = defineOperation<readonly { nodeId: string; at: number }[], void>(
  "cluster.touch_nodes",
  (tx, seen) => {
    for (const { nodeId, at } of seen)
      tx.run("UPDATE cluster_nodes SET last_seen_at = ? WHERE node_id = ?", at, nodeId);
  },
);

export const storedNodes = (store: Pick<Store, "read">): NodeRow[] =>
  store.read<NodeRow>("SELECT * FROM cluster_nodes ORDER BY node_id");

export const nodeSettingsMigration = (id: number): Migration => ({
  id,
  name: "settings of nodes",
  sql: "ALTER TABLE cluster_nodes ADD COLUMN settings TEXT;",
});

export const hostPolicyMigration = (id: number): Migration => ({
  id,
  name: "policies of hosts",
  sql: "ALTER TABLE cluster_nodes ADD COLUMN policy TEXT;",
});

export const tokenWorkerMigration = (id: number): Migration => ({
  id,
  name: "token workers",
  sql: "ALTER TABLE cluster_nodes ADD COLUMN token_id TEXT;",
});

export const nodeMigration = (id: number): Migration => ({
  id,
  name: "nodes",
  sql: `
    CREATE TABLE cluster_nodes (
      node_id TEXT PRIMARY KEY,
      public_key TEXT,
      label TEXT NOT NULL,
      version TEXT NOT NULL,
      protocol INTEGER NOT NULL,
      capabilities TEXT NOT NULL,
      incarnation INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('joined', 'online', 'suspect', 'dead', 'left')),
      state_since REAL NOT NULL,
      joined_at REAL NOT NULL,
      joined_by TEXT NOT NULL,
      last_seen_at REAL,
      address TEXT,
      cordon_reason TEXT,
      cordoned_at REAL,
      cordoned_by TEXT,
      draining INTEGER NOT NULL,
      left_reason TEXT,
      forgotten_at REAL
    ) STRICT, WITHOUT ROWID;
  `,
});
