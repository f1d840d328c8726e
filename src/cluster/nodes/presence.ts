import type { KnownNode } from "./known-nodes.ts";
import { isGuest, type NodeRow } from "./node-rows.ts";
import { type NodeState, nextGuestState, nextState } from "./states.ts";
import type { NodeTiming } from "./timing.ts";

/** A node whose state is not what is stored: what `membership` writes down and tells. */
export interface NodeEdge {
  readonly row: NodeRow;
  readonly to: NodeState;
  readonly silentMs: number;
}

/** A node that nobody waits for any more, and why. */
export interface GoneNode {
  readonly row: NodeRow;
  readonly reason: string;
}

/** Nodes whose state is no longer what is stored. `now` and `startedAt` are in the time that this process listened. */
export const changedStates = (
  present: readonly KnownNode[],
  {
    now,
    startedAt,
    timing,
    isLost,
  }: {
    readonly now: number;
    readonly startedAt: number;
    readonly timing: NodeTiming;
    readonly isLost: (nodeId: string) => boolean;
  },
): NodeEdge[] => {
  const listenedMs = now - startedAt;
  return present.flatMap(({ row, heardAt, left }) => {
    const silentMs = heardAt === undefined ? null : Math.max(0, now - heardAt);
    const isLate = silentMs !== null && silentMs > timing.suspectMs;
    const signs = { state: row.state, silentMs, listenedMs, left, isLost: isLate && isLost(row.node_id) };
    const to = isGuest(row) ? nextGuestState(signs, timing) : nextState(signs, timing);
    return to === row.state ? [] : [{ row, to, silentMs: silentMs ?? listenedMs }];
  });
};

/** Those that were forgotten, or that have been gone for so long that nobody waits for them. */
export function goneNodes(
  nodes: readonly KnownNode[],
  { now, purgeMs, localNodeId }: { readonly now: number; readonly purgeMs: number; readonly localNodeId: string },
): GoneNode[] {
  return nodes.flatMap(({ row }) => {
    if (row.forgotten_at !== null) return [{ row, reason: "an operator forgot it" }];
    const away = row.state === "dead" || row.state === "left" || row.state === "joined";
    return away && row.state_since < now - purgeMs && row.node_id !== localNodeId
      ? [{ row, reason: `it has been ${row.state} for ${Math.round(purgeMs / 86_400_000)} days` }]
      : [];
  });
}

const TOUCH_EVERY_MS = 60_000;

/** Nodes whose last sign of life is worth writing down, so that one knows after a restart when each was last heard. */
export const heardSince = (nodes: readonly KnownNode[], now: number): KnownNode[] =>
  nodes.filter(({ seenAt, touchedAt }) => seenAt !== null && seenAt > touchedAt && now - touchedAt >= TOUCH_EVERY_MS);
