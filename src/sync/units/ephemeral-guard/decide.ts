/** What to do about files that lie nowhere but on nodes that may be gone tomorrow. */
import type { AloneFile } from "../../copies/alone.ts";
import { counts } from "../../copies/decide.ts";
import type { PlanNode } from "../../facade/plan.ts";
import { judgeTarget } from "../../facade/score.ts";
import { MAX_URGENCY, type NewOrder } from "../../orders/order.ts";

export interface RescueNode extends PlanNode {
  readonly name: string;
  readonly isLeaving?: boolean;
}

export interface Rescue {
  readonly orders: readonly NewOrder[];
  /** Files for which somebody is on the way already: that goes before everything else. */
  readonly hasten: readonly number[];
  /** Files for which nothing can be done now. */
  readonly stuck: number;
}

/**
 * Home takes what it lacks from whoever has it. What lies at home and home itself may go is fetched by the node that is best
 * able to keep it. One copy that stays is the aim; as many as there must be are others' business.
 */
export function planRescue(files: readonly AloneFile[], nodes: readonly RescueNode[]): Rescue {
  const orders: NewOrder[] = [];
  const hasten: number[] = [];
  let stuck = 0;
  const byId = new Map(nodes.map((node) => [node.node_id, node]));
  const room = new Map(nodes.map((node) => [node.node_id, node.freeBytes]));
  const staying = nodes.filter((node) => counts(node) && !node.isHome);
  const best = (bytes: number): string | undefined =>
    staying
      .map((node) =>
        judgeTarget({ ...node, freeBytes: room.get(node.node_id)!, missing: 1, missingBytes: bytes, wanted: 1 }),
      )
      .filter(({ skipped }) => skipped === null)
      .sort((a, b) => b.score - a.score || (a.node_id < b.node_id ? -1 : 1))[0]?.node_id;
  for (const { seq, bytes, holders, ordered } of files) {
    if (ordered.length > 0) {
      hasten.push(seq);
      continue;
    }
    const able = holders
      .flatMap((id) => byId.get(id) ?? [])
      .filter(({ isThere, isConfirmed }) => isThere && isConfirmed);
    const atHome = able.some(({ isHome }) => isHome);
    const node_id = atHome ? best(bytes) : able[0]?.node_id;
    if (node_id === undefined) {
      stuck += 1;
      continue;
    }
    if (atHome) room.set(node_id, room.get(node_id)! - bytes);
    const action = atHome ? "fetch" : "send";
    orders.push({ node_id, seq, action, urgency: MAX_URGENCY, bytes, max_rate: null, reason: "at risk" });
  }
  return { orders, hasten, stuck };
}
