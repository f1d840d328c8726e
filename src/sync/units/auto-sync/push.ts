/** SYNC_PUSH: what a node would like to let go and may not is brought elsewhere first. Receipts decide whether it may go then. */
import type { Store } from "../../../router/index.ts";
import type { ArtifactRow } from "../../artifact.ts";
import type { Copies } from "../../copies/copies.ts";
import type { NodeDesk } from "../../copies/node-desk.ts";
import { policyLimits, replicationLimits } from "../../limits.ts";
import { placeOrders } from "../../orders/order-operations.ts";
import { planRepairs, type Short } from "../replication/decide.ts";
import { repairNodes } from "../replication/repair-nodes.ts";
import type { PolicyContext } from "./policies.ts";

/** What is pushed is ordered under this name. */
const PUSH = "push";
const ON_THE_WAY = `SELECT node_id FROM sync_orders WHERE seq = ? AND state IN ('waiting', 'running')`;

export interface PushPorts {
  readonly store: Pick<Store, "read">;
  readonly nodeId: string;
  readonly copies: Copies;
  readonly desk: Pick<NodeDesk, "takeKeptBack" | "storageOf">;
  readonly get: (sha256: string) => ArtifactRow | undefined;
}

export function pushKeptBack({ store, nodeId, copies, desk, get }: PushPorts, { rows, now }: PolicyContext): void {
  const kept = desk.takeKeptBack();
  if (kept.length === 0) return;
  const known = copies.nodes();
  const shorts = [...new Set(kept.map(({ sha256 }) => sha256))].flatMap((sha256): Short[] => {
    const artifact = get(sha256);
    if (artifact === undefined || artifact.freed_at !== null) return [];
    const { required, holders } = copies.of(artifact, known);
    const ordered = store.read<{ node_id: string }>(ON_THE_WAY, artifact.seq).map(({ node_id }) => node_id);
    // One more than there must be: then the one that is in the way may go.
    return [{ seq: artifact.seq, sha256, bytes: artifact.bytes, required: required + 1, copies: holders, ordered }];
  });
  const limits = { ...replicationLimits, maxOrders: policyLimits.maxOrders };
  const orders = planRepairs(shorts, repairNodes(known, nodeId, desk), limits).orders;
  if (orders.length > 0)
    rows.apply(placeOrders({ sync_id: PUSH, orders: orders.map((order) => ({ ...order, reason: PUSH })), at: now }));
}
