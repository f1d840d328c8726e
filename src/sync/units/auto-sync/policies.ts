/** What auto_sync does besides when it is told to, by the name that it was started under. */
import type { HealthView, UnitContext } from "../../../daemons/index.ts";
import { defineTable, type Store } from "../../../router/index.ts";
import { policyLimits } from "../../limits.ts";
import { hastenOrders } from "../../orders/order-operations.ts";

const POLICIES = ["GOSSIP_SYNC", "HIGH_QUALITY_SYNC", "SYNC_PUSH", "OWC_IMPORT", "S3_NODE_SYNC"] as const;
export type Policy = (typeof POLICIES)[number];
/** Catalog, planner and transports in one: all of them are on. */
const ALL = "UNIFIED_DATA_PLANE";

/** Policies that are on, by name. Written by `auto_sync`. */
export const policies = defineTable<{ readonly since: number }>("sync_policies");
/** How good the data of a config was found last, by config_key. Written by `auto_sync`. */
export const dataScores = defineTable<{ readonly score: number; readonly at: number }>("sync_data_scores");

export type PolicyContext = Pick<UnitContext<never>, "rows" | "now" | "afterCommit"> & {
  readonly cache: { round: number };
};

/** Those that are on, for whoever has no rows of the unit: nodes are told with every answer. */
export const policiesIn = (store: Pick<Store, "read">): string[] =>
  store
    .read<{ key: string }>("SELECT key FROM state_rows WHERE table_name = ? ORDER BY key", policies.table)
    .map(({ key }) => key);

/** AUTO_SYNC alone is without any of them. */
export function switchPolicies({ rows, now, afterCommit }: PolicyContext, asked: Set<string>): void {
  const names = [...asked];
  if (asked.has("AUTO_SYNC")) for (const [name] of rows.list(policies)) rows.delete(policies, name);
  for (const name of POLICIES)
    if ((asked.has(name) || asked.has(ALL)) && rows.get(policies, name) === undefined)
      rows.put(policies, name, { since: now });
  afterCommit(() => {
    for (const name of names) asked.delete(name);
  });
}

const WAITING = `SELECT DISTINCT node_id FROM sync_orders WHERE state = 'waiting' AND not_before <= ? ORDER BY node_id LIMIT ?`;
const BEHIND = `SELECT DISTINCT o.seq FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
  WHERE o.state = 'waiting' AND o.urgency < ? AND a.config_key = ? AND a.kind IN ('games', 'samples') LIMIT ?`;

/** A few in their turn: in as many rounds as it takes everybody is called once. */
export const calledIn = (round: number, nodes: readonly string[], fanout: number): string[] =>
  nodes.length <= fanout
    ? [...nodes]
    : Array.from({ length: fanout }, (_, i) => nodes[(round * fanout + i) % nodes.length]!);

/** The config whose data was found best lately; the first by name where several were. */
export const bestConfig = ({ rows, now }: Pick<HealthView, "rows" | "now">): string | undefined =>
  rows
    .list(dataScores)
    .filter(([, { at }]) => at >= now - policyLimits.freshMs)
    .sort(([a, { score: x }], [b, { score: y }]) => y - x || (a < b ? -1 : 1))[0]?.[0];

export const isOn = ({ rows }: Pick<PolicyContext, "rows">, policy: Policy): boolean =>
  rows.get(policies, policy) !== undefined;

/** GOSSIP_SYNC calls a few nodes with waiting transfers in every round, each in its turn. */
export function callSome(
  store: Pick<Store, "read">,
  { now, cache, afterCommit }: PolicyContext,
  wake: (nodeId: string) => void,
): void {
  const { fanout, maxNodes } = policyLimits;
  const waiting = store.read<{ node_id: string }>(WAITING, now, maxNodes).map(({ node_id }) => node_id);
  const called = calledIn(cache.round, waiting, fanout);
  afterCommit(() => {
    cache.round += 1;
    for (const nodeId of called) wake(nodeId);
  });
}

/** HIGH_QUALITY_SYNC has the games of the config with the best score go first. */
export function hastenBest(store: Pick<Store, "read">, { rows, now }: PolicyContext): void {
  const { maxOrders, urgency } = policyLimits;
  const best = bestConfig({ rows, now });
  if (best === undefined) return;
  const seqs = store.read<{ seq: number }>(BEHIND, urgency, best, maxOrders).map(({ seq }) => seq);
  if (seqs.length > 0) rows.apply(hastenOrders({ seqs, urgency, at: now }));
}
