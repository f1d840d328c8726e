import { defined, sumOf } from "../kernel/index.ts";
import { settingDefaults } from "../kernel/settings/index.ts";
import { defineTable, type StateTable, type Store } from "../router/index.ts";
import { slotLimits } from "./limits.ts";
import type { NodePolicy, NodeVerdict } from "./queue/queue-state.ts";
import { workSettings } from "./settings.ts";
import { slotsWords } from "./slots-words.ts";

/** Why a node gets less work than it asks for; kept by `job_scheduler`. Times are milliseconds since the epoch. */
export type NodeHold = {
  readonly reason: string;
  /** Null: until somebody lifts it. */
  readonly until: number | null;
  /** When a node was lost: one that asks for work after it is there. */
  readonly at?: number;
  /** Jobs that it may hold all the same; none unless said. */
  readonly leaves?: number;
  /** What it was overloaded with: the hold ends when that does. */
  readonly resource?: string;
};
/** By node. */
export const nodeHolds = defineTable<NodeHold>("work_node_holds");

/** Configs that a node cannot run; by node. */
export const nodeMisfits = defineTable<{ readonly configs: readonly string[]; readonly reason: string }>(
  "work_node_misfits",
);

/** How many jobs a node may hold, and what that was decided by. `utilization_optimizer` writes it, and every claim obeys it. */
export type NodeSlots = {
  readonly slots: number;
  /** Jobs that it would hold by itself. */
  readonly of: number;
  /** Shares of its processors: what is aimed at, and what would be wanted with as many jobs as it may hold. */
  readonly target: number;
  readonly measured: number;
  /** When it was measured: what is old decides nothing. */
  readonly at: number;
  /** Jobs at once with which it did most work, once that was found out; and the work, in slots of a usual node. */
  readonly best?: number;
  readonly rate?: number;
  /** It is trying whether it does more work with these. */
  readonly tries?: true;
};
/** By node. */
export const nodeSlots = defineTable<NodeSlots>("work_node_slots");

/** Since when a node has held no job; null while it has some. By node; kept by `utilization_optimizer`. */
export const nodeIdle = defineTable<{ readonly since: number | null }>("work_node_idle");

/** When jobs made no progress on a node, newest last, and whether that was told; by node. Kept by `job_reaper`. */
export const stuckNodes = defineTable<{ readonly at: readonly number[]; readonly alerted: boolean }>(
  "work_stuck_nodes",
);

/** What is short on a node, kept by `global_task_coordinator`; by node and resource. */
export type NodeShortage = { readonly reason: string; readonly until: number; readonly leaves?: number };
export const nodeShortages = defineTable<NodeShortage>("work_node_shortages");
const SHORT_OF = ["cpu", "gpu", "memory", "disk", "network"] as const;

/** How much may run at once. */
export const admissionLimitDefaults = {
  maxPerNode: settingDefaults(workSettings).maxHeldByNode,
  /** Of all workers of one token. */
  maxPerToken: settingDefaults(workSettings).maxHeldByToken,
  maxInCluster: 20_000,
  /** Of a kind, on one node. */
  maxOfKind: {} as Readonly<Record<string, number>>,
};
export type AdmissionLimits = typeof admissionLimitDefaults;

export interface NodeFacts {
  readonly hold: NodeHold | undefined;
  /** What its health leaves it. */
  readonly limit?: NodeHold | undefined;
  readonly shortages: readonly (NodeShortage & { readonly resource?: string })[];
  readonly slots?: NodeSlots | undefined;
  /** Kinds that its operators never want there. */
  readonly excludedKinds?: readonly string[];
  readonly misfits: readonly string[];
  readonly heldHere: number;
  /** By all workers that came with the same token; undefined for a node with a key. */
  readonly heldByToken?: number | undefined;
  readonly heldInAll: number;
  readonly heldOfKind: Readonly<Record<string, number>>;
}

/** Of all that holds a node back now, what leaves it least. */
function tightest(holds: readonly (NodeHold | NodeFacts["shortages"][number] | undefined)[], now: number) {
  const live = holds.filter((hold) => hold !== undefined).filter(({ until }) => until === null || until > now);
  const [first] = live.toSorted((a, b) => (a.leaves ?? 0) - (b.leaves ?? 0));
  if (first === undefined) return undefined;
  const shortOf = "resource" in first ? first.resource : undefined;
  return { reason: first.reason, leaves: first.leaves ?? 0, ...defined({ shortOf }) };
}

/** Fewer slots than the node has hold it back as long as the measurement is fresh; one always stays. */
const holdOf = (slots: NodeSlots | undefined): NodeHold | undefined =>
  slots === undefined || slots.slots >= slots.of
    ? undefined
    : { reason: slotsWords(slots), until: slots.at + slotLimits.freshMs, leaves: Math.max(1, slots.slots) };

/** The right to take one more job, or why not. Pressure slows a node; only what one job more would make worse stops it. */
export function judgeNode(facts: NodeFacts, limits: AdmissionLimits, now: number): NodeVerdict {
  const no = (reason: string, shortOf?: string): NodeVerdict => ({ accepts: false, reason, ...defined({ shortOf }) });
  const brake = tightest([facts.hold, facts.limit, ...facts.shortages, holdOf(facts.slots)], now);
  if (brake !== undefined && brake.leaves <= facts.heldHere)
    return brake.leaves === 0
      ? no(brake.reason, brake.shortOf)
      : { accepts: false, reason: `held: ${brake.reason}`, slowed: true };
  const full = (reason: string): NodeVerdict => ({ accepts: false, reason, isFull: true });
  if (facts.heldHere >= limits.maxPerNode)
    return full(`it holds ${facts.heldHere} jobs, ${limits.maxPerNode} are allowed (work.max_held_by_node)`);
  const { heldByToken = 0 } = facts;
  if (heldByToken >= limits.maxPerToken)
    return full(
      `the workers of its token hold ${heldByToken} jobs, ${limits.maxPerToken} are allowed (work.max_held_by_token)`,
    );
  if (facts.heldInAll >= limits.maxInCluster)
    return no(`${facts.heldInAll} jobs are under way in the cluster, ${limits.maxInCluster} are allowed`);
  const max = Math.min(limits.maxPerNode, brake?.leaves ?? limits.maxPerNode);
  const room = Math.min(max - facts.heldHere, limits.maxPerToken - heldByToken, limits.maxInCluster - facts.heldInAll);
  const fullOf = Object.entries(limits.maxOfKind).filter(([kind, max]) => (facts.heldOfKind[kind] ?? 0) >= max);
  return {
    accepts: true,
    room,
    exceptConfigs: facts.misfits,
    exceptKinds: fullOf.map(([kind]) => kind),
    ...(facts.excludedKinds === undefined || facts.excludedKinds.length === 0
      ? {}
      : { excludedKinds: facts.excludedKinds }),
    ...defined({ slowed: brake?.reason }),
  };
}

/** What holds a node back now, as views show it; undefined if nothing does. */
export function whyHeldBack(store: Pick<Store, "read">, nodeId: string, now: number): string | undefined {
  const verdict = storedNodePolicy(store)(nodeId, now);
  if (verdict.accepts) return verdict.slowed && `held: ${verdict.slowed}`;
  return verdict.slowed === true ? verdict.reason : `held: ${verdict.reason}`;
}

/** How many jobs each node may hold, of those that are known; by node. */
export const allNodeSlots = (store: Pick<Store, "read">, now: number): Map<string, NodeSlots> =>
  new Map(
    store
      .read<{ key: string; value: string }>("SELECT key, value FROM state_rows WHERE table_name = ?", nodeSlots.table)
      .map(({ key, value }): [string, NodeSlots] => [key, JSON.parse(value) as NodeSlots])
      .filter(([, { at }]) => at + slotLimits.freshMs > now),
  );

/** Since when nodes have held no job, of those that hold none; by node. */
export const idleSince = (store: Pick<Store, "read">): Map<string, number> =>
  new Map(
    store
      .read<{ key: string; since: number }>(
        `SELECT key, json_extract(value, '$.since') AS since FROM state_rows WHERE table_name = ?
         AND json_extract(value, '$.since') IS NOT NULL`,
        nodeIdle.table,
      )
      .map(({ key, since }) => [key, since]),
  );

/** Nodes on which jobs stood still lately. */
export const nodesStuck = (store: Pick<Store, "read">): Set<string> =>
  new Set(
    store
      .read<{ key: string }>("SELECT key FROM state_rows WHERE table_name = ?", stuckNodes.table)
      .map(({ key }) => key),
  );

/** What of a node's troubles the units of this room keep. */
export interface NodeTroubles {
  /** When jobs stood still there, oldest first. */
  readonly stuckAt: readonly number[];
  /** Why its disk takes no more; undefined while it does. */
  readonly disk: string | undefined;
}

const TROUBLES = `SELECT table_name, value FROM state_rows WHERE table_name = '${stuckNodes.table}' AND key = ?1
  UNION ALL SELECT table_name, value FROM state_rows WHERE table_name = '${nodeShortages.table}' AND key = ?1 || '/disk'`;

export function nodeTroubles(store: Pick<Store, "read">, nodeId: string, now: number): NodeTroubles {
  const rows = store.read<{ table_name: string; value: string }>(TROUBLES, nodeId);
  const of = <T>({ table }: StateTable): T | undefined => {
    const found = rows.find(({ table_name }) => table_name === table);
    return found && (JSON.parse(found.value) as T);
  };
  const short = of<NodeShortage>(nodeShortages);
  const isFull = short !== undefined && short.until > now && short.leaves === 0;
  return { stuckAt: of<{ at: readonly number[] }>(stuckNodes)?.at ?? [], disk: isFull ? short.reason : undefined };
}

/** What the units keep about a node, in one look. */
const KEPT = `SELECT table_name, key, value FROM state_rows WHERE table_name = '${nodeHolds.table}' AND key = ?1
  UNION ALL SELECT table_name, key, value FROM state_rows WHERE table_name = '${nodeMisfits.table}' AND key = ?1
  UNION ALL SELECT table_name, key, value FROM state_rows WHERE table_name = '${nodeSlots.table}' AND key = ?1
  UNION ALL SELECT table_name, key, value FROM state_rows WHERE table_name = '${nodeShortages.table}'
    AND key IN (${SHORT_OF.map((resource) => `?1 || '/${resource}'`).join(", ")})`;

/** How old the number of all held jobs may be while it is far from its limit: counting thousands at each claim is dear. */
const COUNT_EVERY_MS = 1_000;
const NEAR = 0.9;

const heldBy = (store: Pick<Store, "read">, nodeIds: readonly string[]): number =>
  store.read<{ jobs: number }>(
    `SELECT count(*) AS jobs FROM json_each(?) named JOIN work_jobs j INDEXED BY work_held
     ON j.node_id = named.value AND j.state IN ('claimed', 'running')`,
    JSON.stringify(nodeIds),
  )[0]!.jobs;

/** The policy that the units of this room keep in rows, read anew at every claim. */
export const storedNodePolicy = (
  store: Pick<Store, "read">,
  limits = admissionLimitDefaults,
  withSameToken: (nodeId: string) => readonly string[] | undefined = () => undefined,
  limited: (nodeId: string) => NodeHold | undefined = () => undefined,
  excludedKinds: (nodeId: string) => readonly string[] = () => [],
): NodePolicy => {
  let counted = { at: Number.NEGATIVE_INFINITY, jobs: 0 };
  const heldInAll = (now: number): number => {
    const fresh = now >= counted.at && now - counted.at < COUNT_EVERY_MS;
    if (fresh && counted.jobs < NEAR * limits.maxInCluster) return counted.jobs;
    const [all] = store.read<{ jobs: number }>(
      "SELECT count(*) AS jobs FROM work_jobs INDEXED BY work_held WHERE state IN ('claimed', 'running')",
    );
    counted = { at: now, jobs: all?.jobs ?? 0 };
    return counted.jobs;
  };
  return (nodeId, now, given = new Map()) => {
    const kept = store.read<{ table_name: string; key: string; value: string }>(KEPT, nodeId);
    const rowsOf = ({ table }: StateTable) => kept.filter(({ table_name }) => table_name === table);
    const of = <T>(table: StateTable): T[] => rowsOf(table).map(({ value }) => JSON.parse(value) as T);
    const ofKind = store.read<{ work_type: string; n: number }>(
      `SELECT l.work_type, count(*) AS n FROM work_jobs j INDEXED BY work_held JOIN work_lanes l ON l.lane = j.lane
       WHERE j.state IN ('claimed', 'running') AND j.node_id = ? GROUP BY l.work_type`,
      nodeId,
    );
    const siblings = withSameToken(nodeId);
    const facts: NodeFacts = {
      hold: of<NodeHold>(nodeHolds)[0],
      limit: limited(nodeId),
      shortages: rowsOf(nodeShortages).map(({ key, value }) => ({
        ...(JSON.parse(value) as NodeShortage),
        resource: key.slice(nodeId.length + 1),
      })),
      slots: of<NodeSlots>(nodeSlots)[0],
      excludedKinds: excludedKinds(nodeId),
      misfits: of<{ configs: string[] }>(nodeMisfits)[0]?.configs ?? [],
      heldHere: sumOf(ofKind, ({ n }) => n) + (given.get(nodeId) ?? 0),
      heldByToken: siblings && heldBy(store, siblings) + sumOf(siblings, (name) => given.get(name) ?? 0),
      heldInAll: heldInAll(now),
      heldOfKind: Object.fromEntries(ofKind.map(({ work_type, n }) => [work_type, n])),
    };
    return judgeNode(facts, limits, now);
  };
};
