import { defineTable, type StateTable, type Store } from "../router/index.ts";
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

/** What the units keep about a node, in one look. */
const KEPT = `SELECT table_name, value FROM state_rows WHERE table_name = '${nodeHolds.table}' AND key = ?1
  UNION ALL SELECT table_name, value FROM state_rows WHERE table_name = '${nodeMisfits.table}' AND key = ?1
  UNION ALL SELECT table_name, value FROM state_rows WHERE table_name = '${nodeShortages.table}'
    AND key IN (${SHORT_OF.map((resource) => `?1 || '/${resource}'`).join(", ")})`;

/** How old the number of all held jobs may be while it is far from its limit: counting thousands at each claim is dear. */
const COUNT_EVERY_MS = 1_000;
const NEAR = 0.9;

/** The policy that the units of this room keep in rows, read anew at every claim. */
export const storedNodePolicy = (
  store: Pick<Store, "read">,
  limits: AdmissionLimits = admissionLimitDefaults,
): NodePolicy => {
  let counted = { at: Number.NEGATIVE_INFINITY, jobs: 0 };
  const heldInAll = (now: number): number => {
    const fresh = now >= counted.at && now - counted.at < COUNT_EVERY_MS;
    if (fresh && counted.jobs < NEAR * limits.mostInCluster) return counted.jobs;
    const [all] = store.read<{ jobs: number }>(
      "SELECT count(*) AS jobs FROM work_jobs INDEXED BY work_held WHERE state IN ('claimed', 'running')",
    );
    counted = { at: now, jobs: all?.jobs ?? 0 };
    return counted.jobs;
  };
  return (nodeId, now) => {
    const kept = store.read<{ table_name: string; value: string }>(KEPT, nodeId);
    const of = <T>({ table }: StateTable): T[] =>
      kept.filter(({ table_name }) => table_name === table).map(({ value }) => JSON.parse(value) as T);
    const ofKind = store.read<{ work_type: string; n: number }>(
      `SELECT l.work_type, count(*) AS n FROM work_jobs j INDEXED BY work_held JOIN work_lanes l ON l.lane = j.lane
       WHERE j.state IN ('claimed', 'running') AND j.node_id = ? GROUP BY l.work_type`,
      nodeId,
    );
    const facts: NodeFacts = {
      hold: of<NodeHold>(nodeHolds)[0],
      shortages: of<NodeShortage>(nodeShortages),
      misfits: of<{ configs: string[] }>(nodeMisfits)[0]?.configs ?? [],
      heldHere: ofKind.reduce((sum, { n }) => sum + n, 0),
      heldInAll: heldInAll(now),
      heldOfKind: Object.fromEntries(ofKind.map(({ work_type, n }) => [work_type, n])),
    };
    return judgeNode(facts, limits, now);
  };
};
