import type { ReadRows } from "../../daemons/index.ts";
import { sumOf } from "../../kernel/index.ts";
import { QUEUE_SCOPE, type QueueLevel, queuePressures } from "../../work/index.ts";
import type { Segment, SelfplayOwn, StageWork } from "../stage/index.ts";
import { IDLE_GOOD_FOR_MS, JOB_COST, MAX_EXCLUDED, PRESSURE_SHARES } from "./limits.ts";
import { idleNodes, type Rejection } from "./tables.ts";

/** Segments of an earlier attempt at this iteration that still count. */
export function keptSegments(
  work: StageWork<SelfplayOwn> | undefined,
  rejected: readonly Rejection[],
  iteration: number,
): readonly Segment[] {
  if (work?.iteration !== iteration) return [];
  return work.own.segments.filter(({ work_id }) => !rejected.some((entry) => entry.work_id === work_id));
}

/**
 * Nodes that may not do something: the first of the wishes that leaves somebody who may. Nobody is excluded where every
 * wish would leave no one: what nobody may do would stand still for ever. While nobody is there at all the first wish holds:
 * it is asked anew when somebody comes whom it leaves nothing (`strandedParts`).
 */
export function excluding(nodes: readonly string[], ...wishes: readonly (readonly string[])[]): string[] {
  const leaves = (wish: readonly string[]) => nodes.length === 0 || nodes.some((node) => !wish.includes(node));
  const granted = wishes.find(leaves) ?? [];
  return [...new Set(granted)].sort().slice(0, MAX_EXCLUDED);
}

/** The pressure on the queue, as it was last decided. Read from the row, so that a lost event changes nothing. */
export const queuePressure = (rows: Pick<ReadRows, "get">): QueueLevel =>
  rows.get(queuePressures, QUEUE_SCOPE)?.level ?? "none";

/** Jobs of a config that may be in the queue at once. Never none: a trickle goes on, or nothing would ever move again. */
export const openJobsAllowed = (level: QueueLevel, share: number, maxOpen: number): number =>
  Math.max(1, Math.floor(maxOpen * share * PRESSURE_SHARES[level]));

/** Jobs that nodes could take at once which said lately that they are idle. */
export const idleRoom = (rows: Pick<ReadRows, "list">, now: number): number =>
  sumOf(rows.list(idleNodes), ([, { free_slots, at }]) => (now - at <= IDLE_GOOD_FOR_MS ? free_slots : 0));

/**
 * What a job costs its config in the queue's books, so that the queue's equal turns come out as the allocation: a config
 * with twice an equal share pays half for each job and gets two where another gets one.
 */
export const costOf = (share: number, configs: number): number =>
  share <= 0 ? JOB_COST.max : Math.min(JOB_COST.max, Math.max(JOB_COST.min, 1 / (share * Math.max(1, configs))));
