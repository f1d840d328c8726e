/** What auto_sync does besides when it is told to, by the name that it was started under. */
import type { UnitContext } from "../../../daemons/index.ts";
import { defineTable, type Store } from "../../../router/index.ts";
import { policyLimits } from "../../limits.ts";
import { forgetRanks } from "../../orders/order-operations.ts";

const POLICIES = [
  "GOSSIP_SYNC",
  "HIGH_QUALITY_SYNC",
  "CLUSTER_DATA_SYNC",
  "EPHEMERAL_SYNC",
  "SYNC_PUSH",
  "OWC_IMPORT",
  "S3_NODE_SYNC",
] as const;
export type Policy = (typeof POLICIES)[number];
/** Catalog, planner and transports in one: all are on but the broadcast, which has everybody fetch everything. */
const ALL = "UNIFIED_DATA_PLANE";
const isMeant = (asked: ReadonlySet<string>, name: Policy): boolean =>
  asked.has(name) || (asked.has(ALL) && name !== "CLUSTER_DATA_SYNC");
/** Names of the unit itself, which is without any of them. */
const NONE = ["AUTO_SYNC", "SYNC_COORDINATOR"] as const;

/** Policies that are on, by name. Written by `auto_sync`. */
export const policies = defineTable<{ readonly since: number }>("sync_policies");

export type PolicyContext = Pick<UnitContext<never>, "rows" | "now" | "afterCommit"> & {
  readonly cache: { round: number };
};

/** Those that are on, for whoever has no rows of the unit: nodes are told with every answer. */
export const policiesIn = (store: Pick<Store, "read">): string[] =>
  store
    .read<{ key: string }>("SELECT key FROM state_rows WHERE table_name = ? ORDER BY key", policies.table)
    .map(({ key }) => key);

/** Those that it was started as since the last round. */
export function switchPolicies({ rows, now, afterCommit }: PolicyContext, asked: Set<string>): void {
  const names = [...asked];
  if (NONE.some((name) => asked.has(name))) {
    if (rows.get(policies, "HIGH_QUALITY_SYNC") !== undefined) rows.apply(forgetRanks({}));
    for (const [name] of rows.list(policies)) rows.delete(policies, name);
  }
  for (const name of POLICIES)
    if (isMeant(asked, name) && rows.get(policies, name) === undefined) rows.put(policies, name, { since: now });
  afterCommit(() => {
    for (const name of names) asked.delete(name);
  });
}

const WAITING = `SELECT DISTINCT node_id FROM sync_orders WHERE state = 'waiting' AND not_before <= ? ORDER BY node_id LIMIT ?`;

/** A few in their turn: in as many rounds as it takes everybody is called once. */
export const calledIn = (round: number, nodes: readonly string[], fanout: number): string[] =>
  nodes.length <= fanout
    ? [...nodes]
    : Array.from({ length: fanout }, (_, i) => nodes[(round * fanout + i) % nodes.length]!);

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
