import { fits, type Lane, whyNotThere } from "../job/needs.ts";
import type { KnownWorker } from "../queue/known-workers.ts";
import type { NodeVerdict, QueueState } from "../queue/queue-state.ts";
import { lacking } from "./placement.ts";

/** A job at the front of its line that nobody who is there may have, and why each may not. */
export interface UntakenJob {
  readonly work_id: string;
  readonly work_type: string;
  readonly waitedMs: number;
  readonly reason: string;
}

export interface JudgedWorker extends KnownWorker {
  readonly verdict: NodeVerdict;
  /** It holds nothing, so what it offered is all that it has. */
  readonly isIdle: boolean;
}

const MAX_NAMED = 5;

/** Why a worker will not take jobs of a lane however long they wait; undefined if it will, once it has room. */
function whyNever(lane: Lane, { node_id, offer, kinds, verdict, isIdle }: JudgedWorker): string | undefined {
  const barred = whyNotThere(lane, node_id, kinds === undefined ? undefined : new Set(kinds));
  if (barred !== undefined) return barred;
  if (!verdict.accepts) return verdict.slowed === true ? undefined : verdict.reason;
  if (lane.configKey !== null && verdict.exceptConfigs?.includes(lane.configKey) === true)
    return `it cannot run ${lane.configKey}`;
  return isIdle && !fits(lane.needs, offer) ? `it has too little: ${lacking(lane.needs, offer)}` : undefined;
}

/** Whether a worker takes jobs of a lane, once it has room. */
export const takes = (
  { nodePolicy }: Pick<QueueState, "nodePolicy">,
  lane: Lane,
  worker: KnownWorker,
  now: number,
): boolean => whyNever(lane, { ...worker, verdict: nodePolicy(worker.node_id, now), isIdle: false }) === undefined;

/** Whether somebody is there, other than these, who takes jobs of a lane. */
export const isForOthers = (
  parts: Pick<QueueState, "workers" | "nodePolicy">,
  lane: Lane,
  except: readonly string[],
  now: number,
): boolean =>
  parts.workers.list().some((worker) => !except.includes(worker.node_id) && takes(parts, lane, worker, now));

/** Whether somebody is there, other than these, who does such work, whatever this lane says of nodes: whoever asked for it may relax that. */
export const isForOthersOfItsKind = (
  parts: Pick<QueueState, "workers" | "nodePolicy">,
  lane: Lane,
  except: readonly string[],
  now: number,
): boolean => isForOthers(parts, { ...lane, excluded: [] }, except, now);

/** Why nobody takes jobs of a lane; undefined if somebody does. */
export function whyUntaken(lane: Lane, workers: readonly JudgedWorker[]): string | undefined {
  if (workers.length === 0) return "no worker is connected";
  const reasons = workers.map((worker) => ({ node: worker.node_id, reason: whyNever(lane, worker) }));
  if (reasons.some(({ reason }) => reason === undefined)) return undefined;
  const named = reasons.slice(0, MAX_NAMED).map(({ node, reason }) => `${node}: ${reason}`);
  const more = reasons.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}
