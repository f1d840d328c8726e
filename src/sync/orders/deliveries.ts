/** The ledger of deliveries: what was asked for, what was tried by which way, when the next try is, and what was given up. */
import type { Store } from "../../router/index.ts";
import { deliveryLimits } from "../limits.ts";
import type { DeliveryView, OrderRow } from "./order.ts";

export interface Delivery extends OrderRow {
  readonly sha256: string;
  readonly kind: string;
  readonly config_key: string | null;
  readonly tries: readonly DeliveryTry[];
}

export interface DeliveryTry {
  readonly attempt: number;
  /** Null for the try as a whole. */
  readonly transport: string | null;
  readonly place: string | null;
  /** Null if it brought the file. */
  readonly code: string | null;
  readonly error: string | null;
  readonly at: number;
}

const MEANT: Readonly<Record<DeliveryView, string>> = {
  open: "o.state IN ('waiting', 'running')",
  failing: `(o.state = 'failed' OR (o.state IN ('waiting', 'running')
    AND EXISTS (SELECT 1 FROM sync_tries t WHERE t.order_id = o.order_id AND t.code IS NOT NULL)))`,
  all: "1 = 1",
};

const TRIES = `SELECT attempt, transport, place, code, error, at FROM sync_tries
  WHERE order_id = ? ORDER BY attempt DESC, way = 0 DESC, way DESC LIMIT ?`;

/** Those of one file that wait or run, the oldest first. */
export const openOrdersOf = (store: Pick<Store, "read">, seq: number): OrderRow[] =>
  store.read<OrderRow>(
    `SELECT * FROM sync_orders WHERE seq = ? AND state IN ('waiting', 'running') ORDER BY order_id LIMIT ${MAX_OF_FILE}`,
    seq,
  );
const MAX_OF_FILE = 20;

/** Newest first. Many are looked through where few are meant, and so it is done on the thread of the readers. */
export async function deliveriesOf(
  store: Pick<Store, "read" | "scan">,
  {
    view,
    nodeId,
    limit,
  }: { readonly view: DeliveryView; readonly nodeId?: string | undefined; readonly limit: number },
): Promise<Delivery[]> {
  const found = await store.scan<Omit<Delivery, "tries">>(
    `SELECT o.*, a.sha256, a.kind, a.config_key FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
     WHERE ${MEANT[view]} AND (?1 IS NULL OR o.node_id = ?1) ORDER BY o.order_id DESC LIMIT ?2`,
    [nodeId ?? null, limit],
  );
  return found.map((order) => ({
    ...order,
    tries: store.read<DeliveryTry>(TRIES, order.order_id, deliveryLimits.maxTries).reverse(),
  }));
}
