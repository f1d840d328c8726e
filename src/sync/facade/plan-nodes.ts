import type { Store } from "../../router/index.ts";
import type { Copies, HolderFacts } from "../copies/copies.ts";
import type { NodeDesk } from "../copies/node-desk.ts";
import type { PlanNode } from "./plan.ts";

/** Of the newest transfers: when each node got its last copy, and how fast they went. */
const LATELY = `SELECT node_id, max(ended_at) AS at, total(bytes) AS bytes, total(max(1, ended_at - began_at)) AS ms FROM (
    SELECT * FROM sync_orders WHERE state = 'done' AND began_at IS NOT NULL ORDER BY order_id DESC LIMIT 1000)
  GROUP BY node_id`;

/** Every node as a target is judged: what it does, how much room it has, how long ago and how fast it was served. */
export function planNodesOf(ports: {
  readonly store: Pick<Store, "read">;
  readonly now: number;
  readonly nodeId: string;
  readonly nodes: () => readonly HolderFacts[];
  readonly copies: Copies;
  readonly desk: Pick<NodeDesk, "storageOf">;
}): PlanNode[] {
  const { store, now, nodeId, nodes, copies, desk } = ports;
  const judged = copies.nodes();
  const served = new Map(
    store.read<{ node_id: string; at: number; bytes: number; ms: number }>(LATELY).map((row) => [row.node_id, row]),
  );
  return nodes().map(({ node_id, kinds, freeCpus, isThere, isRented, barred, isBarredForNow }) => {
    const last = served.get(node_id);
    return {
      node_id,
      isThere,
      isRented,
      barred,
      isBarredForNow,
      isConfirmed: judged.get(node_id)?.isConfirmed === true,
      isHome: node_id === nodeId,
      kinds,
      freeCpus,
      freeBytes: desk.storageOf(node_id)?.free_bytes ?? null,
      staleMs: last === undefined ? null : Math.max(0, now - last.at),
      bytesPerSecond: last === undefined ? null : Math.round((1_000 * last.bytes) / last.ms),
    };
  });
}
