/** The books on hosts: what each lacks of what it shall have, and how often its transfers failed for which reason. */
import type { Store } from "../../router/index.ts";

/** Tries of one host that failed since the last thing that arrived there. */
export interface HostFailures {
  readonly node_id: string;
  readonly failures: number;
  readonly code: string;
  readonly error: string;
  /** When the newest of them was. */
  readonly at: number;
  readonly last_success_at: number | null;
  /** Whether it still has orders to carry out: 1 or 0. */
  readonly is_awaited: number;
}

export interface OpenOrder {
  readonly order_id: number;
  readonly node_id: string;
  /** When its node last spoke of it, or it was ordered. */
  readonly since: number;
}

const SINCE = `ifnull((SELECT max(o.ended_at) FROM sync_orders o WHERE o.node_id = t.node_id AND o.state = 'done'), 0)`;

/** Tries that failed since the last thing that arrived, by host; with the newest error. Few hosts have any. */
const FAILURES = `SELECT t.node_id, count(*) AS failures, t.code, t.error, max(t.at) AS at,
    nullif(${SINCE}, 0) AS last_success_at,
    EXISTS (SELECT 1 FROM sync_orders o WHERE o.node_id = t.node_id AND o.state IN ('waiting', 'running')) AS is_awaited
  FROM sync_tries t WHERE t.way = 0 AND t.at > ${SINCE} GROUP BY t.node_id LIMIT 10000`;

export const failuresByHost = (store: Pick<Store, "read">): HostFailures[] => store.read<HostFailures>(FAILURES);

const OPEN = `SELECT order_id, node_id, ifnull(heard_at, created_at) AS since FROM sync_orders
  WHERE state IN ('waiting', 'running') AND node_id NOT IN (SELECT value FROM json_each(?1)) LIMIT ?2`;

/** Open orders of nodes that are not among these. */
export const openOrdersBut = (store: Pick<Store, "read">, there: readonly string[], max: number): OpenOrder[] =>
  store.read<OpenOrder>(OPEN, JSON.stringify(there), max);

/** What a host has to do and what became of its transfers. */
export interface HostBooks {
  readonly node_id: string;
  readonly waiting: number;
  readonly running: number;
  /** Bytes that it still lacks of what it shall have. */
  readonly bytes: number;
  readonly failures: number;
  /** How often each kind of failure came since the last thing that arrived. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly last_success_at: number | null;
}

const WAITING = `SELECT node_id, total(state = 'waiting') AS waiting, total(state = 'running') AS running,
    total(max(0, bytes - bytes_done)) AS bytes FROM sync_orders WHERE state IN ('waiting', 'running') GROUP BY node_id`;
const REASONS = `SELECT t.node_id, t.code, count(*) AS failures FROM sync_tries t
  WHERE t.way = 0 AND t.at > ${SINCE} GROUP BY t.node_id, t.code LIMIT 10000`;
const ARRIVED = `SELECT node_id, max(ended_at) AS at FROM sync_orders WHERE state = 'done' GROUP BY node_id`;

/** Every transfer that arrived in a week is counted, and so it is done on the thread of the readers. */
export async function hostBooks(store: Pick<Store, "scan">): Promise<HostBooks[]> {
  const [open, done, failed] = await Promise.all([
    store.scan<Pick<HostBooks, "node_id" | "waiting" | "running" | "bytes">>(WAITING, []),
    store.scan<{ node_id: string; at: number }>(ARRIVED, []),
    store.scan<{ node_id: string; code: string; failures: number }>(REASONS, []),
  ]);
  const waiting = new Map(open.map((row) => [row.node_id, row] as const));
  const arrived = new Map(done.map(({ node_id, at }) => [node_id, at] as const));
  const reasons = Map.groupBy(failed, ({ node_id }) => node_id);
  return [...new Set([...waiting.keys(), ...arrived.keys(), ...reasons.keys()])].sort().map((node_id) => {
    const own = reasons.get(node_id) ?? [];
    return {
      node_id,
      waiting: waiting.get(node_id)?.waiting ?? 0,
      running: waiting.get(node_id)?.running ?? 0,
      bytes: waiting.get(node_id)?.bytes ?? 0,
      failures: own.reduce((sum, { failures }) => sum + failures, 0),
      reasons: Object.fromEntries(own.map(({ code, failures }) => [code, failures])),
      last_success_at: arrived.get(node_id) ?? null,
    };
  });
}
