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

const MOST_EXCLUDED = 100;

/**
 * Nodes that may not do something: the first of the wishes that leaves somebody who may. Nobody is excluded where every
 * wish would leave no one: what nobody may do would stand still for ever.
 */
export function excluding(nodes: readonly string[], ...wishes: readonly (readonly string[])[]): string[] {
  const granted = wishes.find((wish) => nodes.some((node) => !wish.includes(node))) ?? [];
  return [...new Set(granted)].sort().slice(0, MOST_EXCLUDED);
}
