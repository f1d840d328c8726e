import type { Store } from "../../../router/index.ts";
import type { OrderRow } from "../../orders/order.ts";

/** A transfer that has failed and waits for its next try. */
export interface FailingOrder extends Pick<OrderRow, "order_id" | "sync_id" | "node_id" | "seq" | "bytes"> {
  readonly sha256: string;
  readonly kind: string;
  /** Ways that were tried in vain. */
  readonly transports: readonly string[];
}

const FAILING = `SELECT o.order_id, o.sync_id, o.node_id, o.seq, o.bytes, a.sha256, a.kind,
    (SELECT json_group_array(DISTINCT t.transport) FROM sync_tries t
      WHERE t.order_id = o.order_id AND t.way > 0 AND t.code IS NOT NULL) AS transports
  FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
  WHERE o.state = 'waiting' AND o.action = 'fetch' AND o.attempts > 0 AND o.not_before > ?
    AND EXISTS (SELECT 1 FROM sync_tries t WHERE t.order_id = o.order_id AND t.way > 0 AND t.code IS NOT NULL)
  ORDER BY o.urgency DESC, o.order_id LIMIT ?`;

/** Those whose next try is still to come, the most urgent first. */
export const failingOrders = (store: Pick<Store, "read">, now: number, max: number): FailingOrder[] =>
  store
    .read<Omit<FailingOrder, "transports"> & { transports: string }>(FAILING, now, max)
    .map((row) => ({ ...row, transports: JSON.parse(row.transports) as string[] }));
