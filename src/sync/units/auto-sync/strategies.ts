/**
 * The broadcast and the ephemeral strategy of the Python system, which were daemon types of their own: CLUSTER_DATA_SYNC has what came in
 * lately fetched by every node that is able; EPHEMERAL_SYNC has rented nodes send home at once what home lacks.
 */
import type { UnitContext } from "../../../daemons/index.ts";
import type { Store } from "../../../router/index.ts";
import { dataTypeOf } from "../../artifact.ts";
import { type PlanNode, planSync, type WantedFile } from "../../facade/plan.ts";
import { policyLimits } from "../../limits.ts";
import type { NewOrder } from "../../orders/order.ts";
import { placeOrders } from "../../orders/order-operations.ts";

export interface StrategyPorts {
  readonly store: Pick<Store, "read">;
  readonly nodeId: string;
  readonly planNodes: () => readonly PlanNode[];
}
type Context = Pick<UnitContext<never>, "rows" | "now" | "afterCommit">;

/** What each of them orders is done under its name. */
const [BROADCAST, EPHEMERAL] = ["broadcast", "ephemeral"];

const HOLDERS = `(SELECT json_group_array(h.node_id) FROM sync_held h
    WHERE h.seq = a.seq AND h.state = 'held') AS holders`;
const LATELY = `SELECT a.seq, a.bytes, a.kind, ${HOLDERS} FROM sync_artifacts a
  WHERE a.freed_at IS NULL AND a.state = 'durable' AND a.verified_at IS NOT NULL AND a.created_at >= ?
  ORDER BY a.seq DESC LIMIT ?`;
const BROUGHT = `SELECT node_id, seq FROM sync_orders WHERE sync_id = '${BROADCAST}'
  AND seq IN (SELECT value FROM json_each(?))`;
const LACKED = `SELECT DISTINCT a.seq, a.bytes, a.kind, ${HOLDERS}
  FROM sync_held r JOIN sync_artifacts a ON a.seq = r.seq
  WHERE r.state = 'held' AND r.node_id IN (SELECT value FROM json_each(?1)) AND a.freed_at IS NULL
    AND a.state IN ('in_flight', 'durable', 'quarantined')
    AND NOT EXISTS (SELECT 1 FROM sync_held o WHERE o.seq = a.seq AND o.node_id = ?2 AND o.state = 'held')
    AND NOT EXISTS (SELECT 1 FROM sync_orders s WHERE s.seq = a.seq AND s.action = 'send' AND s.state IN ('waiting', 'running'))
  ORDER BY a.seq LIMIT ?3`;

type FileRow = Pick<WantedFile, "seq" | "bytes"> & { readonly kind: string; readonly holders: string };
const wantedOf = ({ seq, bytes, kind, holders }: FileRow): WantedFile => ({
  seq,
  bytes,
  dataType: dataTypeOf([kind]) as WantedFile["dataType"],
  holders: JSON.parse(holders) as string[],
});

const place = ({ rows, now }: Context, sync_id: string, orders: readonly NewOrder[]): void => {
  if (orders.length > 0) rows.apply(placeOrders({ sync_id, orders, at: now }));
};
const everybody = { targets: undefined, excluded: [], maxRate: null };

/** Each node gets each file once: one that lets go of it for want of room is not given it again. */
export function broadcast({ store, planNodes }: StrategyPorts, context: Context): void {
  const { broadcastFiles, broadcastMs, broadcastUrgency: urgency, maxOrders } = policyLimits;
  const files = store.read<FileRow>(LATELY, context.now - broadcastMs, broadcastFiles).map(wantedOf);
  if (files.length === 0) return;
  const { orders } = planSync("cluster_data_sync", { ...everybody, files, nodes: planNodes(), urgency });
  const seqs = JSON.stringify(files.map(({ seq }) => seq));
  const brought = new Set(
    store.read<{ node_id: string; seq: number }>(BROUGHT, seqs).map(({ node_id, seq }) => `${node_id} ${seq}`),
  );
  const fresh = orders.filter(({ node_id, seq }) => !brought.has(`${node_id} ${seq}`));
  place(context, BROADCAST, fresh.slice(0, maxOrders));
}

/** Rented nodes are called in every round, so that they tell at once what they have made and begin at once to send it. */
export function bringHomeFromRented(
  { store, nodeId, planNodes }: StrategyPorts,
  context: Context,
  wake: (nodeId: string) => void,
): void {
  const nodes = planNodes();
  const rented = nodes
    .filter(({ isRented, isHome, isThere }) => isRented && !isHome && isThere)
    .map(({ node_id }) => node_id);
  if (rented.length === 0) return;
  const { maxOrders, urgency } = policyLimits;
  const files = store.read<FileRow>(LACKED, JSON.stringify(rented), nodeId, maxOrders).map(wantedOf);
  place(context, EPHEMERAL, planSync("ephemeral_sync", { ...everybody, files, nodes, urgency }).orders);
  context.afterCommit(() => {
    for (const node of rented) wake(node);
  });
}
