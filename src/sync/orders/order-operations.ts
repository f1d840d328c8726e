/** Transfers that the coordinator orders and nodes carry out: rows, so that a restart of either side costs a try at most. */
import { OperatingError } from "../../kernel/index.ts";
import { defineOperation, type Transaction } from "../../router/index.ts";
import type { NewOrder, OrderRow } from "./order.ts";

/** What is ordered twice for one purpose is one order. */
export const placeOrders = defineOperation<
  { sync_id: string; orders: readonly NewOrder[]; at: number },
  { placed: number }
>("sync.place_orders", (tx, { sync_id, orders, at }) => ({
  placed: orders.reduce((placed, order) => {
    const { node_id, seq, action, urgency, bytes, max_rate, reason } = order;
    const { changes } = tx.run(
      `INSERT INTO sync_orders (sync_id, node_id, seq, action, urgency, state, attempts, bytes, bytes_done, max_rate, reason,
         created_at, not_before) VALUES (?, ?, ?, ?, ?, 'waiting', 0, ?, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      sync_id,
      node_id,
      seq,
      action,
      urgency,
      bytes,
      max_rate,
      reason,
      at,
      at,
    );
    return placed + changes;
  }, 0),
}));

export interface TakenOrder extends Pick<OrderRow, "order_id" | "action" | "bytes" | "max_rate"> {
  readonly sha256: string;
  readonly kind: string;
}

/** Gives a node what it shall do next. What it was given and does not speak of any more is given again. */
export const takeOrders = defineOperation<
  { node_id: string; max: number; at: number; silentBefore: number },
  { taken: TakenOrder[] }
>("sync.take_orders", (tx, { node_id, max, at, silentBefore }) => {
  tx.run(
    "UPDATE sync_orders SET state = 'waiting' WHERE node_id = ? AND state = 'running' AND heard_at < ?",
    node_id,
    silentBefore,
  );
  const { running } = tx.get<{ running: number }>(
    "SELECT count(*) AS running FROM sync_orders WHERE node_id = ? AND state = 'running'",
    node_id,
  )!;
  const taken = tx.all<TakenOrder>(
    `SELECT o.order_id, o.action, o.bytes, o.max_rate, a.sha256, a.kind FROM sync_orders o
       JOIN sync_artifacts a ON a.seq = o.seq
     WHERE o.node_id = ? AND o.state = 'waiting' AND o.not_before <= ? ORDER BY o.urgency DESC, o.order_id LIMIT ?`,
    node_id,
    at,
    Math.max(0, max - running),
  );
  for (const { order_id } of taken)
    tx.run(
      "UPDATE sync_orders SET state = 'running', attempts = attempts + 1, began_at = ?1, heard_at = ?1 WHERE order_id = ?2",
      at,
      order_id,
    );
  return { taken };
});

export interface OrderReport {
  readonly order_id: number;
  /** `sent` says that the coordinator has the bytes; a fetch is over when its copy is shown. */
  readonly state: "running" | "sent" | "failed";
  readonly bytes_done: number;
  readonly error: string | null;
}

/** What a node says of its orders. One that failed is tried again, later and later, until its tries are spent. */
export const noteOrders = defineOperation<
  { node_id: string; reports: readonly OrderReport[]; at: number; maxAttempts: number; firstWaitMs: number },
  { failed: OrderRow[] }
>("sync.note_orders", (tx, { node_id, reports, at, maxAttempts, firstWaitMs }) => ({
  failed: reports.flatMap(({ order_id, state, bytes_done, error }) => {
    const order = tx.get<OrderRow>(
      "SELECT * FROM sync_orders WHERE order_id = ? AND node_id = ? AND state = 'running'",
      order_id,
      node_id,
    );
    if (order === undefined) return [];
    const done = Math.min(bytes_done, order.bytes);
    tx.run(
      "UPDATE sync_orders SET bytes_done = ?, heard_at = ?, error = ? WHERE order_id = ?",
      done,
      at,
      error,
      order_id,
    );
    if (state !== "failed") return [];
    if (order.attempts < maxAttempts) {
      const wait = firstWaitMs * 2 ** (order.attempts - 1);
      tx.run("UPDATE sync_orders SET state = 'waiting', not_before = ? WHERE order_id = ?", at + wait, order_id);
      return [];
    }
    tx.run("UPDATE sync_orders SET state = 'failed', ended_at = ? WHERE order_id = ?", at, order_id);
    return [{ ...order, error, state: "failed" as const }];
  }),
}));

const OPEN = "state IN ('waiting', 'running')";

/** Ends what is still open of a sync; with those that failed, so that another way may try them. */
export const cancelOrders = defineOperation<
  { sync_id: string; reason: string; at: number; alsoFailed?: boolean },
  { cancelled: number }
>("sync.cancel_orders", (tx, { sync_id, reason, at, alsoFailed = false }) => ({
  cancelled: tx.run(
    `UPDATE sync_orders SET state = 'cancelled', error = ?, ended_at = ?
     WHERE sync_id = ? AND (${OPEN}${alsoFailed ? " OR state = 'failed'" : ""})`,
    reason,
    at,
    sync_id,
  ).changes,
}));

/** How these repairs ended is emitted in the same commit. */
export const noteTold = defineOperation<{ orderIds: readonly number[] }, void>("sync.note_told", (tx, { orderIds }) => {
  for (const orderId of orderIds)
    if (tx.run("UPDATE sync_orders SET told = 1 WHERE order_id = ? AND told = 0", orderId).changes === 0)
      throw OperatingError.busy("READ_CONFLICT", `how order ${orderId} ended was told meanwhile`);
});

export const forgetOrders = defineOperation<{ before: number; max: number }, { forgotten: number }>(
  "sync.forget_orders",
  (tx, { before, max }) => ({
    forgotten: tx.run(
      "DELETE FROM sync_orders WHERE order_id IN (SELECT order_id FROM sync_orders WHERE ended_at < ? LIMIT ?)",
      before,
      max,
    ).changes,
  }),
);

/** A copy was shown: orders that wanted it there are done, whoever gave them; what is sent is sent home. */
export const closeOrders = (tx: Transaction, nodeId: string, isHome: boolean, seq: number, at: number): void => {
  const wanted = isHome ? "action = 'send'" : "action = 'fetch' AND node_id = ?3";
  tx.run(
    `UPDATE sync_orders SET state = 'done', bytes_done = bytes, error = NULL, ended_at = ?1
     WHERE seq = ?2 AND ${OPEN} AND ${wanted}`,
    ...(isHome ? [at, seq] : [at, seq, nodeId]),
  );
};

/** Nobody wants copies of it any more. */
export const dropOrders = (tx: Transaction, seq: number, at: number): void => {
  tx.run(
    `UPDATE sync_orders SET state = 'cancelled', error = 'given up', ended_at = ? WHERE seq = ? AND ${OPEN}`,
    at,
    seq,
  );
};
