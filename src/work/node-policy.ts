import { defineTable, type Store } from "../router/index.ts";
import type { NodePolicy, NodeVerdict } from "./queue-parts.ts";

/** Why a node gets less work than it asks for; kept by `job_scheduler`. Times are milliseconds since the epoch. */
export type NodeHold = {
  readonly reason: string;
  /** Null: until somebody lifts it. */
  readonly until: number | null;
};
/** By node. */
export const nodeHolds = defineTable<NodeHold>("work_node_holds");

/** Configs that a node cannot run; by node. */
export const nodeMisfits = defineTable<{ readonly configs: readonly string[]; readonly reason: string }>(
  "work_node_misfits",
);

/** What is short on a node, kept by `global_task_coordinator`; by node and resource. */
export type NodeShortage = { readonly reason: string; readonly until: number };
export const nodeShortages = defineTable<NodeShortage>("work_node_shortages");
const SHORT_OF = ["cpu", "gpu", "memory", "disk", "network"] as const;

/** How much may run at once. */
export interface AdmissionLimits {
  readonly mostPerNode: number;
  readonly mostInCluster: number;
  /** Of a kind, on one node. */
  readonly mostOfKind: Readonly<Record<string, number>>;
}

export const admissionLimitDefaults: AdmissionLimits = { mostPerNode: 256, mostInCluster: 20_000, mostOfKind: {} };

export interface NodeFacts {
  readonly hold: NodeHold | undefined;
  readonly shortages: readonly NodeShortage[];
  readonly misfits: readonly string[];
  readonly heldHere: number;
  readonly heldInAll: number;
  readonly heldOfKind: Readonly<Record<string, number>>;
}

/** The right to take one more job, or why not. */
export function judgeNode(facts: NodeFacts, limits: AdmissionLimits, now: number): NodeVerdict {
  const no = (reason: string): NodeVerdict => ({ accepts: false, reason });
  const { hold } = facts;
  if (hold !== undefined && (hold.until === null || hold.until > now)) return no(hold.reason);
  const shortage = facts.shortages.find(({ until }) => until > now);
  if (shortage !== undefined) return no(shortage.reason);
  if (facts.heldHere >= limits.mostPerNode)
    return no(`it holds ${facts.heldHere} jobs, ${limits.mostPerNode} are allowed`);
  if (facts.heldInAll >= limits.mostInCluster)
    return no(`${facts.heldInAll} jobs are under way in the cluster, ${limits.mostInCluster} are allowed`);
  const room = Math.min(limits.mostPerNode - facts.heldHere, limits.mostInCluster - facts.heldInAll);
  const full = Object.entries(limits.mostOfKind).filter(([kind, most]) => (facts.heldOfKind[kind] ?? 0) >= most);
  return { accepts: true, room, exceptConfigs: facts.misfits, exceptKinds: full.map(([kind]) => kind) };
}

const rowOf = <T>(store: Pick<Store, "read">, table: string, key: string): T | undefined => {
  const [row] = store.read<{ value: string }>(
    "SELECT value FROM state_rows WHERE table_name = ? AND key = ?",
    table,
    key,
  );
  return row === undefined ? undefined : (JSON.parse(row.value) as T);
};

/** The policy that the units of this room keep in rows, read anew at every claim. */
export const storedNodePolicy =
  (store: Pick<Store, "read">, limits: AdmissionLimits = admissionLimitDefaults): NodePolicy =>
  (nodeId, now) => {
    const [held] = store.read<{ here: number; everywhere: number }>(
      `SELECT count(*) FILTER (WHERE node_id = ?) AS here, count(*) AS everywhere
       FROM work_jobs INDEXED BY work_held WHERE state IN ('claimed', 'running')`,
      nodeId,
    );
    const ofKind = store.read<{ work_type: string; n: number }>(
      `SELECT l.work_type, count(*) AS n FROM work_jobs j INDEXED BY work_held JOIN work_lanes l ON l.lane = j.lane
       WHERE j.state IN ('claimed', 'running') AND j.node_id = ? GROUP BY l.work_type`,
      nodeId,
    );
    const facts: NodeFacts = {
      hold: rowOf<NodeHold>(store, nodeHolds.table, nodeId),
      shortages: SHORT_OF.flatMap(
        (resource) => rowOf<NodeShortage>(store, nodeShortages.table, `${nodeId}/${resource}`) ?? [],
      ),
      misfits: rowOf<{ configs: string[] }>(store, nodeMisfits.table, nodeId)?.configs ?? [],
      heldHere: held?.here ?? 0,
      heldInAll: held?.everywhere ?? 0,
      heldOfKind: Object.fromEntries(ofKind.map(({ work_type, n }) => [work_type, n])),
    };
    return judgeNode(facts, limits, now);
  };
