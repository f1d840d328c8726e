import type { NodeHealthView } from "../node-health/health-book.ts";
import type { HostPolicy } from "./host-policy.ts";
import type { KnownNode, NodeBeat } from "./known-nodes.ts";
import type { NodeCapabilities, NodeRow } from "./node-rows.ts";
import { storedView } from "./stored-view.ts";

/** What of the row is told in another form, or not at all. */
type Untold =
  | "public_key"
  | "settings"
  | "token_id"
  | "protocol"
  | "cordon_reason"
  | "cordoned_at"
  | "cordoned_by"
  | "policy"
  | "forgotten_at";

/** A node for people and clients. */
export interface NodeView extends Omit<NodeRow, Untold | "capabilities" | "draining"> {
  readonly deprecated: boolean;
  readonly capabilities: NodeCapabilities;
  readonly cordoned: { readonly reason: string; readonly at: number; readonly by: string } | null;
  readonly draining: boolean;
  /** What its operators allow it; null where they have said nothing. */
  readonly policy: HostPolicy | null;
  /** How it does, by what it does. */
  readonly health: NodeHealthView;
  /** How far its clock is ahead of the coordinator's; null where it did not say. */
  readonly clock_ahead_seconds: number | null;
  readonly load: NodeBeat["load"] | null;
  readonly spool: NodeBeat["spool"] | null;
  readonly outbox: NonNullable<NodeBeat["outbox"]> | null;
  /** The room on its disk, and below which it begins no job; null where it did not say. */
  readonly disk: NonNullable<NodeBeat["disk"]> | null;
  /** It is the coordinator's own, and needs no key. */
  readonly local: boolean;
  /** It came with a token instead of a key. */
  readonly with_token: boolean;
}

interface Coordinator {
  readonly localNodeId: string;
  readonly version: string;
  readonly healthOf: (nodeId: string) => NodeHealthView;
}

/** `node` is what is known of it in memory; nothing, where the row has just been dropped. */
export function nodeView(row: NodeRow, node: KnownNode | undefined, coordinator: Coordinator): NodeView {
  const isKept = node?.shown?.row === row;
  const stored = isKept ? node.shown!.view : storedView(row, capabilitiesOf(row, node), coordinator);
  if (node !== undefined && !isKept) node.shown = { row, view: stored };
  const beat = node?.beat;
  return {
    ...stored,
    last_seen_at: node?.seenAt ?? row.last_seen_at,
    health: coordinator.healthOf(row.node_id),
    clock_ahead_seconds: beat?.clockAheadMs === undefined ? null : beat.clockAheadMs / 1_000,
    load: beat?.load ?? null,
    spool: beat?.spool ?? null,
    outbox: beat?.outbox ?? null,
    disk: beat?.disk ?? null,
  };
}

export function capabilitiesOf({ capabilities: text }: NodeRow, node: KnownNode | undefined): NodeCapabilities {
  if (node?.read?.text === text) return node.read.value;
  const value = JSON.parse(text) as NodeCapabilities;
  if (node !== undefined) node.read = { text, value };
  return value;
}

/** What a worker has, from what it has free: the most that it ever offered. */
export function widest(before: NodeCapabilities | undefined, offer: NodeCapabilities): NodeCapabilities {
  if (before === undefined) return offer;
  const most = (of: "cpu" | "gpu" | "memory_gb" | "gpu_memory_gb") => Math.max(before[of], offer[of]);
  return {
    ...offer,
    cpu: most("cpu"),
    gpu: most("gpu"),
    memory_gb: most("memory_gb"),
    gpu_memory_gb: most("gpu_memory_gb"),
  };
}
