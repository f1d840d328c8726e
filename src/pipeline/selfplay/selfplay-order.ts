import type { Json } from "../../kernel/index.ts";
import { defineTable } from "../../router/index.ts";
import type { Segment, SelfplayOwn, StageWork } from "../stage-work.ts";
import type { Part } from "./parts.ts";

/**
 * What was asked for in an iteration, and the jobs that were put into the queue for it. Taken from the plan once: a plan
 * that changes meanwhile changes the next iteration, and never lets one iteration hold games of two kinds. Written by
 * `queue_populator`.
 */
export type SelfplayOrder = {
  readonly iteration: number;
  readonly attempt: number;
  readonly since: number;
  /** All parts of the iteration. */
  readonly parts: readonly Part[];
  readonly seed: number;
  /** SHA-256 of the model that plays. */
  readonly model: string;
  readonly parameters: { readonly [name: string]: Json };
  /** Parts that this attempt has to bring; the place in this list numbers their jobs. */
  readonly wanted: readonly string[];
  /** Whether all its jobs are its own; one that goes on with jobs of an earlier attempt is not. */
  readonly whole: boolean;
  /** The jobs that were put out, by part. */
  readonly jobs: { readonly [part: string]: string };
};

/** By config_key. */
export const selfplayOrders = defineTable<SelfplayOrder>("pipeline_selfplay_orders");

/** A segment that was not accepted, and why. */
export type Rejection = {
  readonly attempt: number;
  readonly part: string;
  readonly work_id: string;
  readonly producer: string;
  readonly games: number;
  readonly reason: string;
  /** SHA-256 of its samples: whoever makes the same bytes again proves that they follow from the seeds. */
  readonly samples: string;
};

/** All rejections of the iteration that a config is at. Written by `quality_monitor_daemon`. */
export type Rejections = { readonly iteration: number; readonly entries: readonly Rejection[] };
/** By config_key. */
export const rejections = defineTable<Rejections>("pipeline_rejections");

export const rejectionsOf = (row: Rejections | undefined, iteration: number): readonly Rejection[] =>
  row?.iteration === iteration ? row.entries : [];

/** Segments of an earlier attempt at this iteration that still count. */
export function keptSegments(
  work: StageWork<SelfplayOwn> | undefined,
  rejected: readonly Rejection[],
  iteration: number,
): readonly Segment[] {
  if (work?.iteration !== iteration) return [];
  return work.own.segments.filter(({ work_id }) => !rejected.some((entry) => entry.work_id === work_id));
}

export interface Exclusion {
  /** Nodes that play nothing of this config for now. */
  readonly suspects: readonly string[];
  /** Nodes whose games of this very part were rejected. */
  readonly rejectedBy: readonly string[];
  /** Nodes that could play. */
  readonly nodes: readonly string[];
}

/** Nodes that may not play a part. Never all of them: a part that nobody may play would stand still for ever. */
export function excludedFrom({ suspects, rejectedBy, nodes }: Exclusion): string[] {
  const leavesSome = (excluded: readonly string[]) => nodes.some((node) => !excluded.includes(node));
  const all = [...new Set([...suspects, ...rejectedBy])].sort();
  if (leavesSome(all)) return all.slice(0, 100);
  const own = [...new Set(rejectedBy)].sort();
  return leavesSome(own) ? own.slice(0, 100) : [];
}
