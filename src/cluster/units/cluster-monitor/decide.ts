/** The nodes as one verdict, what they offer together, and whether anything useful is done. Pure. */
import { isIll } from "../../node-health/conditions.ts";
import type { NodeView } from "../../nodes/node-view.ts";

export type ClusterStatus = "healthy" | "degraded" | "unhealthy" | "critical";

export interface ClusterCount {
  readonly healthy: number;
  readonly total: number;
  /** Those that are not ready, by id. */
  readonly unready: readonly string[];
}

/** Whoever has come and has not left is expected; ready is who is heard in time and not ill. Workers with a token owe nothing. */
export function countNodes(nodes: readonly NodeView[]): ClusterCount {
  const expected = nodes.filter(
    ({ state, with_token }) => !with_token && (state === "online" || state === "suspect" || state === "dead"),
  );
  const unready = expected.filter(({ state, health }) => state !== "online" || isIll(health.condition));
  return {
    healthy: expected.length - unready.length,
    total: expected.length,
    unready: unready.map(({ node_id }) => node_id),
  };
}

/** With a larger share that is not ready, no node is repaired any more: the same number as there. */
const UNHEALTHY_ABOVE = 0.45;
const CRITICAL_ABOVE = 0.75;

export function statusOf({ healthy, total }: Pick<ClusterCount, "healthy" | "total">): ClusterStatus {
  const share = total === 0 ? 0 : 1 - healthy / total;
  if (share > CRITICAL_ABOVE) return "critical";
  if (share > UNHEALTHY_ABOVE) return "unhealthy";
  return share > 0 ? "degraded" : "healthy";
}

/** Whether enough of them are well for everything to run. */
export const isWell = (status: ClusterStatus): boolean => status === "healthy" || status === "degraded";

/** What each node offers, as it said last. */
export type NodeOffer = {
  /** Absent where nobody counts them: a node without the tools to look joined with what its owner says. */
  readonly gpus?: number;
  readonly free_slots: number;
  readonly slots: number;
};

export interface Whole {
  readonly healthy_nodes: number;
  readonly total_nodes: number;
  readonly total_gpus: number;
  readonly free_gpus: number;
}

/** Accelerators of a node: those that it joined with, as far as its own last sample still finds them. */
const gpusOf = (joined: number, offer: NodeOffer | undefined): number =>
  offer?.gpus === undefined ? joined : Math.min(joined, offer.gpus);

/** What all nodes that are there offer together; `able` are those that may have work. */
export function wholeOf(
  nodes: readonly NodeView[],
  able: ReadonlySet<string>,
  offerOf: (nodeId: string) => NodeOffer | undefined,
): Whole {
  const there = nodes.filter(({ state }) => state === "online" || state === "suspect");
  const working = there.filter(({ node_id }) => able.has(node_id));
  const total = there.reduce((sum, { node_id, capabilities: { gpu = 0 } }) => sum + gpusOf(gpu, offerOf(node_id)), 0);
  // A node whose sample says that it can take nothing more has nothing free, whatever its leases leave.
  const free = working
    .filter(({ node_id }) => offerOf(node_id)?.free_slots !== 0)
    .reduce((sum, { load, capabilities: { gpu = 0 } }) => sum + (load?.free.gpu ?? gpu), 0);
  return {
    healthy_nodes: working.length,
    total_nodes: nodes.filter(({ state }) => state !== "left").length,
    total_gpus: Math.floor(total),
    free_gpus: Math.floor(Math.min(free, total)),
  };
}

export interface StallFacts {
  /** Jobs that are not finished. */
  readonly unfinished: number;
  /** When anything useful was last done; null where that is not known. */
  readonly usefulAt: number | null;
  /** Since when this process looks: before its time is over nothing stands still. */
  readonly since: number;
  readonly now: number;
}

/** For how long nothing useful was done although there is something to do; 0 while all goes on. */
export function stalledMs({ unfinished, usefulAt, since, now }: StallFacts, afterMs: number): number {
  if (unfinished === 0) return 0;
  const idleMs = now - Math.max(usefulAt ?? 0, since);
  return idleMs >= afterMs ? idleMs : 0;
}
