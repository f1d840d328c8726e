import type { NodeHealthView } from "../node-health/health-book.ts";
import { type HostPolicy, hostPolicyIn } from "./host-policy.ts";
import type { KnownNode, NodeBeat } from "./known-nodes.ts";
import { isGuest, type NodeCapabilities, type NodeRow } from "./node-rows.ts";
import { isDeprecated } from "./versions.ts";

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

/** `node` is what is known of it in memory; nothing, where the row has just been dropped. */
export function nodeView(
  row: NodeRow,
  node: KnownNode | undefined,
  coordinator: {
    readonly localNodeId: string;
    readonly version: string;
    readonly healthOf: (nodeId: string) => NodeHealthView;
  },
): NodeView {
  const {
    public_key,
    settings,
    token_id,
    protocol,
    cordon_reason,
    cordoned_at,
    cordoned_by,
    policy,
    forgotten_at,
    ...told
  } = row;
  return {
    ...told,
    deprecated: isDeprecated(row.version, coordinator.version),
    capabilities: capabilitiesOf(row, node),
    last_seen_at: node?.seenAt ?? row.last_seen_at,
    cordoned:
      cordon_reason === null ? null : { reason: cordon_reason, at: cordoned_at ?? 0, by: cordoned_by ?? "unknown" },
    draining: row.draining === 1,
    policy: hostPolicyIn(row),
    health: coordinator.healthOf(row.node_id),
    clock_ahead_seconds: node?.beat?.clockAheadMs === undefined ? null : node.beat.clockAheadMs / 1_000,
    load: node?.beat?.load ?? null,
    spool: node?.beat?.spool ?? null,
    outbox: node?.beat?.outbox ?? null,
    disk: node?.beat?.disk ?? null,
    local: row.node_id === coordinator.localNodeId,
    with_token: isGuest(row),
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
