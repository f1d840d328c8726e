/** Transfers that the coordinator orders and nodes carry out: rows, so that a restart of either side costs a try at most. */
import { OperatingError } from "../../kernel/index.ts";
import { defineOperation, type Transaction } from "../../router/store.port.ts";
import { nextTryAt, type TryLimits } from "./decide.ts";
import type { NewOrder, OrderRow, WayTried } from "./order.ts";

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

export interface TakenOrder extends Pick<OrderRow, "order_id" | "action" | "urgency" | "bytes" | "max_rate"> {
  readonly seq: number;
  readonly sha256: string;
  readonly kind: string;
  readonly sync_id: string;
  readonly games: number;
  readonly config_key: string | null;
}

/** How much a node has in hand at once: a few, or as many small ones as travel together. */
export interface TakeBounds {
  readonly max: number;
  readonly maxSmall: number;
  readonly maxSmallBytes: number;
}

const FIELDS =
  "o.order_id, o.action, o.urgency, o.bytes, o.max_rate, o.sync_id, o.seq, a.sha256, a.kind, a.games, a.config_key";

const TRY = `INSERT INTO sync_tries (order_id, attempt, way, node_id, transport, place, code, error, at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;

/** A try has failed: it is written down, and there is another, later and later, until they are spent. */
function failTry(tx: Transaction, order: OrderRow, failure: Failure, at: number, limits: TryLimits): OrderRow[] {
  const { order_id, attempts, node_id } = order;
  const { code, error } = failure;
  tx.run(TRY, order_id, attempts, 0, node_id, null, null, code, error, at);
  const next = nextTryAt(attempts, at, limits);
  if (next !== null) {
    const again = "UPDATE sync_orders SET state = 'waiting', error = ?, not_before = ? WHERE order_id = ?";
    tx.run(again, error, next, order_id);
    return [];
  }
  tx.run("UPDATE sync_orders SET state = 'failed', error = ?, ended_at = ? WHERE order_id = ?", error, at, order_id);
  return [{ ...order, error, state: "failed" }];
}

interface Failure {
  readonly code: string;
  readonly error: string;
}
const SILENT: Failure = { code: "TRANSFER_SILENT", error: "its node spoke of it no more" };

/** Gives a node what it shall do next. What it was given and does not speak of any more was a try, and is given again. */
export const takeOrders = defineOperation<
  { node_id: string; bounds: TakeBounds; at: number; silentBefore: number } & TryLimits,
  { taken: TakenOrder[] }
>("sync.take_orders", (tx, { node_id, bounds, at, silentBefore, ...limits }) => {
  const silent = tx.all<OrderRow>(
    "SELECT * FROM sync_orders WHERE node_id = ? AND state = 'running' AND heard_at < ?",
    node_id,
    silentBefore,
  );
  // It has been waited for long enough: the next try begins at once.
  for (const order of silent) failTry(tx, order, SILENT, at, { ...limits, firstWaitMs: 0 });
  const hand = tx.get<{ orders: number; bytes: number }>(
    "SELECT count(*) AS orders, ifnull(sum(bytes), 0) AS bytes FROM sync_orders WHERE node_id = ? AND state = 'running'",
    node_id,
  )!;
  const waiting = tx.all<TakenOrder>(
    `SELECT ${FIELDS} FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
     WHERE o.node_id = ? AND o.state = 'waiting' AND o.not_before <= ? ORDER BY o.urgency DESC, o.quality DESC, o.order_id LIMIT ?`,
    node_id,
    at,
    bounds.maxSmall,
  );
  const taken = waiting.filter(({ bytes }) => {
    hand.bytes += bytes;
    const isRoom = hand.orders < bounds.max || (hand.orders < bounds.maxSmall && hand.bytes <= bounds.maxSmallBytes);
    hand.orders += isRoom ? 1 : 0;
    return isRoom;
  });
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
  /** What kind of failure it was. */
  readonly code?: string | undefined;
  /** The ways by which it was tried, in their order. */
  readonly tries?: readonly WayTried[] | undefined;
}

/** What a node says of its orders. One that failed is tried again, later and later, until its tries are spent. */
export const noteOrders = defineOperation<
  { node_id: string; reports: readonly OrderReport[]; at: number } & TryLimits,
  { failed: OrderRow[] }
>("sync.note_orders", (tx, { node_id, reports, at, ...limits }) => ({
  failed: reports.flatMap(({ order_id, state, bytes_done, error, code, tries = [] }) => {
    const order = tx.get<OrderRow>("SELECT * FROM sync_orders WHERE order_id = ? AND node_id = ?", order_id, node_id);
    if (order === undefined) return [];
    for (const [i, way] of tries.entries())
      tx.run(TRY, order_id, order.attempts, i + 1, node_id, way.transport, way.place, way.code, way.error, at);
    if (order.state !== "running") return [];
    tx.run(
      "UPDATE sync_orders SET bytes_done = ?, heard_at = ?, error = ? WHERE order_id = ?",
      Math.min(bytes_done, order.bytes),
      at,
      error,
      order_id,
    );
    if (state !== "failed") return [];
    return failTry(tx, order, { code: code ?? "TRANSFER_FAILED", error: error ?? "no reason given" }, at, limits);
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

/** What is ordered of these files goes before other orders, and at once. */
export const hastenOrders = defineOperation<{ seqs: readonly number[]; urgency: number; at: number }, void>(
  "sync.hasten_orders",
  (tx, { seqs, urgency, at }) => {
    for (const seq of seqs)
      tx.run(
        `UPDATE sync_orders SET urgency = max(urgency, ?1), not_before = min(not_before, ?2)
         WHERE seq = ?3 AND state = 'waiting' AND (urgency < ?1 OR (attempts = 0 AND not_before > ?2))`,
        urgency,
        at,
        seq,
      );
  },
);

/** Of what is equally urgent, a node is given that of the best quality first. */
export const rankOrders = defineOperation<
  { ranks: readonly { readonly seq: number; readonly quality: number }[] },
  void
>("sync.rank_orders", (tx, { ranks }) => {
  for (const { seq, quality } of ranks)
    tx.run("UPDATE sync_orders SET quality = ? WHERE seq = ? AND state = 'waiting'", quality, seq);
});

export const forgetRanks = defineOperation<Record<string, never>, void>("sync.forget_ranks", (tx) => {
  tx.run("UPDATE sync_orders SET quality = 0 WHERE state = 'waiting' AND quality > 0");
});

/** There is a way that was not tried yet: these need not wait for their next try. */
export const rerouteOrders = defineOperation<{ orderIds: readonly number[]; at: number }, void>(
  "sync.reroute_orders",
  (tx, { orderIds, at }) => {
    for (const orderId of orderIds)
      tx.run("UPDATE sync_orders SET not_before = ? WHERE order_id = ? AND state = 'waiting'", at, orderId);
  },
);

/** These are not waited for any more: whoever wanted them is free to ask another. */
export const giveUpOrders = defineOperation<{ orderIds: readonly number[] } & Failure & { at: number }, void>(
  "sync.give_up_orders",
  (tx, { orderIds, code, error, at }) => {
    for (const orderId of orderIds) {
      const order = tx.get<OrderRow>(`SELECT * FROM sync_orders WHERE order_id = ? AND ${OPEN}`, orderId);
      if (order !== undefined) failTry(tx, order, { code, error }, at, { maxAttempts: 0, firstWaitMs: 0 });
    }
  },
);

/** How these repairs ended is emitted in the same commit. */
export const noteTold = defineOperation<{ orderIds: readonly number[] }, void>("sync.note_told", (tx, { orderIds }) => {
  for (const orderId of orderIds)
    if (tx.run("UPDATE sync_orders SET told = 1 WHERE order_id = ? AND told = 0", orderId).changes === 0)
      throw OperatingError.busy("READ_CONFLICT", `how order ${orderId} ended was told meanwhile`);
});

const FORGET = "SELECT order_id FROM sync_orders WHERE ended_at < ? ORDER BY ended_at, order_id LIMIT ?";

export const forgetOrders = defineOperation<{ before: number; max: number }, { forgotten: number }>(
  "sync.forget_orders",
  (tx, { before, max }) => {
    const old = tx.all<{ order_id: number }>(FORGET, before, max);
    for (const { order_id } of old) {
      tx.run("DELETE FROM sync_tries WHERE order_id = ?", order_id);
      tx.run("DELETE FROM sync_orders WHERE order_id = ?", order_id);
    }
    return { forgotten: old.length };
  },
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
