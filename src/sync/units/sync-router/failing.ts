import type { Store } from "../../../router/index.ts";
import type { OrderRow } from "../../orders/order.ts";
import type { FailedWay } from "./decide.ts";

/** A transfer that has failed and waits for its next try. */
export interface FailingOrder extends Pick<OrderRow, "order_id" | "sync_id" | "node_id" | "not_before"> {
  readonly kind: string;
  readonly holders: readonly string[];
  readonly failed: readonly FailedWay[];
}

const FAILING = `SELECT o.order_id, o.sync_id, o.node_id, o.not_before, a.kind,
    (SELECT json_group_array(h.node_id) FROM sync_held h WHERE h.seq = o.seq AND h.state = 'held') AS holders,
    (SELECT json_group_array(json_object('transport', t.transport, 'place', t.place)) FROM sync_tries t
      WHERE t.order_id = o.order_id AND t.way > 0 AND t.code IS NOT NULL) AS failed
  FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
  WHERE o.state = 'waiting' AND o.action = 'fetch' AND o.attempts > 0 AND o.not_before > ?
    AND EXISTS (SELECT 1 FROM sync_tries t WHERE t.order_id = o.order_id AND t.way > 0 AND t.code IS NOT NULL)
  ORDER BY o.urgency DESC, o.order_id LIMIT ?`;

/** Those whose next try is still to come, the most urgent first. */
export const failingOrders = (store: Pick<Store, "read">, now: number, max: number): FailingOrder[] =>
  store
    .read<Omit<FailingOrder, "holders" | "failed"> & { holders: string; failed: string }>(FAILING, now, max)
    .map((row) => ({
      ...row,
      holders: JSON.parse(row.holders) as string[],
      failed: JSON.parse(row.failed) as FailedWay[],
    }));
