import type { Store } from "../../router/index.ts";
import { MAX_URGENCY } from "./order.ts";
import { placeOrders } from "./order-operations.ts";

const RESCUE = "orphans";
const ASKED = `SELECT 1 FROM sync_orders WHERE sync_id = ? AND node_id = ? AND seq = ?
  AND (state IN ('waiting', 'running') OR created_at > ?) LIMIT 1`;

/** The order that a node sends a file home which only it has; undefined where it was asked lately. */
export function orderHome(
  store: Pick<Store, "read">,
  { node_id, seq, bytes, at, againMs }: { node_id: string; seq: number; bytes: number; at: number; againMs: number },
) {
  if (store.read(ASKED, RESCUE, node_id, seq, at - againMs).length > 0) return undefined;
  const order = {
    node_id,
    seq,
    bytes,
    action: "send",
    urgency: MAX_URGENCY,
    max_rate: null,
    reason: "rescue",
  } as const;
  return placeOrders({ sync_id: RESCUE, orders: [order], at });
}
