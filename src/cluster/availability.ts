/** May a node get work, data, a model? One answer for all rooms, from what operators decided, who is there, and how it does. */
import { isIll } from "./node-health/conditions.ts";
import type { HealthBook, NodeHealthRow } from "./node-health/health-book.ts";
import type { NodeSigns } from "./node-health/node-signs.port.ts";
import type { NodeRegistry } from "./nodes/node-registry.ts";
import type { NodeState } from "./nodes/states.ts";
import type { RecoveryBook } from "./recovery/recovery-book.ts";

export const NODE_USES = ["work", "data", "model"] as const;
export type NodeUse = (typeof NODE_USES)[number];

/** Why a node gets nothing, or only so many jobs at a time. */
export interface Barrier {
  readonly reason: string;
  /** Jobs that it may hold all the same. */
  readonly leaves: number;
  /** It ends when a person decides so, not by itself. */
  readonly isDecided?: boolean;
}

interface AvailabilityFacts {
  /** What its operators decided; undefined if they let it work. */
  readonly decided: string | undefined;
  readonly isDraining: boolean;
  /** What is being done for it; undefined while nothing is. */
  readonly repair?: string | undefined;
  readonly health: Pick<NodeHealthRow, "condition" | "reason" | "isOnTrial" | "slow"> | undefined;
  /** Whether anybody else would do its work. */
  readonly areOthers: boolean;
}

/** What stands between a node and this use of it; undefined if nothing does. Pure. */
function barrierFor(use: NodeUse, facts: AvailabilityFacts): Barrier | undefined {
  const { decided, isDraining, repair, health, areOthers } = facts;
  if (decided !== undefined && (use === "work" || isDraining)) return { reason: decided, leaves: 0, isDecided: true };
  if (repair !== undefined) return { reason: repair, leaves: 0 };
  if (health === undefined) return undefined;
  const { condition, reason, isOnTrial, slow } = health;
  if (isIll(condition)) {
    const ill = `it is ${condition}: ${reason ?? "its checks fail"}`;
    if (use !== "work") return { reason: ill, leaves: 0 };
    if (isOnTrial) return { reason: `${ill}; it has one job to show that it is well again`, leaves: 1 };
    // A loop that goes on with an ill worker is worth more than one that stands still.
    return areOthers || condition === "evicted"
      ? { reason: ill, leaves: 0 }
      : { reason: `${ill}; no other worker is there`, leaves: 1 };
  }
  return use === "work" && slow !== null
    ? { reason: `it has just recovered and gets its work back step by step`, leaves: slow.leaves }
    : undefined;
}

export interface AvailabilityPorts {
  readonly nodes: Pick<NodeRegistry, "row" | "barred" | "list" | "policyOf">;
  readonly health: Pick<HealthBook, "get">;
  readonly recovery: Pick<RecoveryBook, "barred">;
  readonly signs: Pick<NodeSigns, "workers">;
  readonly localNodeId: string;
}

const isHeard = (state: NodeState): boolean => state === "online" || state === "suspect";

/** The answer that work, sync and the views ask for. */
export function createAvailability({ nodes, health, recovery, signs, localNodeId }: AvailabilityPorts) {
  const conditionOf = (nodeId: string) => health.get(nodeId)?.condition ?? "healthy";
  const areOthers = (nodeId: string): boolean =>
    signs.workers().some((id) => id !== nodeId && nodes.barred(id) === undefined && !isIll(conditionOf(id)));

  const barrier = (nodeId: string, use: NodeUse): Barrier | undefined => {
    const row = health.get(nodeId);
    const known = nodes.row(nodeId);
    return barrierFor(use, {
      decided: nodes.barred(nodeId),
      isDraining: known?.draining !== 0,
      repair: known && recovery.barred(nodeId, known.incarnation),
      health: row,
      // Looked up where it matters alone: every claim asks.
      areOthers: row !== undefined && isIll(row.condition) && areOthers(nodeId),
    });
  };

  return {
    barrier,
    /** Why a node gets no job at all; undefined if it may have one. */
    barred(nodeId: string): string | undefined {
      const found = barrier(nodeId, "work");
      return found === undefined || found.leaves > 0 ? undefined : found.reason;
    },
    /** How few jobs a node may hold for now; undefined where neither its health nor its operators set a limit. */
    limited(nodeId: string): Barrier | undefined {
      const found = barrier(nodeId, "work");
      const { max_jobs = null } = nodes.policyOf(nodeId) ?? {};
      if (max_jobs !== null && (found === undefined || found.leaves > max_jobs))
        return { reason: `its policy allows ${max_jobs} at a time`, leaves: max_jobs };
      return found === undefined || found.leaves === 0 ? undefined : found;
    },
    /** Kinds of work that its operators never want there. */
    excludedKinds: (nodeId: string): readonly string[] => nodes.policyOf(nodeId)?.except_kinds ?? [],
    /** Whether it is there, and what it holds counts. */
    isThere: (nodeId: string, state: NodeState): boolean =>
      (nodeId === localNodeId || isHeard(state)) && conditionOf(nodeId) !== "evicted",
    /** Nodes that are heard in time and may have work, in order. */
    working: (): string[] =>
      nodes
        .list()
        .filter(({ node_id, state }) => state === "online" && barrier(node_id, "work")?.leaves !== 0)
        .map(({ node_id }) => node_id)
        .sort(),
  };
}

export type Availability = ReturnType<typeof createAvailability>;
