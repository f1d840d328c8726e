/** What is measured of one node from one sample to the next, and how many jobs it may hold by it. */
import { slotLimits, utilizationLimits } from "../../limits.ts";
import type { NodeSlots } from "../../node-policy.ts";
import { beginClimb, type ClimbState, nextClimb } from "./climb.ts";
import { nextSlots, type SlotSample, type SlotState } from "./slots.ts";

/** What a node is controlled by; after a start it begins with the slots that are written down. */
export interface NodeUse {
  readonly beside: SlotState;
  readonly climb: ClimbState;
  readonly at: number;
}

const resumedSlots = ({ slots, measured }: NodeSlots, cpus: number): SlotState => ({
  slots,
  output: slots,
  measured,
  beside: measured - slots / Math.max(1, cpus),
  errors: [0, 0],
});

/** What a process before this one found out is where this one begins, and is not tried out anew at once. */
const resumedClimb = ({ best }: NodeSlots, max: number, now: number): ClimbState =>
  best === undefined ? beginClimb(max) : beginClimb(max, { slots: best, restUntil: now + RESUMED_REST_MS });
const RESUMED_REST_MS = 3_600_000;

export interface UseSample extends SlotSample {
  readonly now: number;
  /** Jobs that ended there since the last sample, and their work. */
  readonly doneJobs: number;
  readonly doneWork: number;
}

/** What follows from a sample. One that cannot be true changes nothing. */
export function nextUse(
  before: NodeUse | undefined,
  written: NodeSlots | undefined,
  sample: UseSample,
  target: number,
): NodeUse | undefined {
  const { now, cpus, held, doneJobs, doneWork } = sample;
  const max = Math.max(1, Math.floor(sample.max));
  const beside = nextSlots(before?.beside ?? (written && resumedSlots(written, cpus)), sample, target);
  if (beside === undefined) return before;
  const climb = before?.climb ?? (written === undefined ? beginClimb(max) : resumedClimb(written, max, now));
  const measured = { now, elapsedMs: now - (before?.at ?? now), held, max, doneJobs, doneWork };
  return { beside, climb: nextClimb(climb, measured, beside.slots), at: now };
}

/** As it is written down: what others leave, and of that no more than the node does most work with. */
export function slotsOf({ beside, climb }: NodeUse, of: number, target: number, now: number): NodeSlots {
  const isKnown = climb.bestRate !== null;
  const isTry = climb.slots !== climb.best && climb.slots <= beside.slots;
  return {
    slots: Math.max(1, Math.min(beside.slots, climb.slots)),
    of,
    target,
    measured: beside.measured,
    at: now,
    ...(isKnown ? { best: climb.best, rate: Math.round(climb.bestRate! * 100) / 100 } : {}),
    ...(isTry ? { tries: true } : {}),
  };
}

/** What is written down already says as much. */
export const isAsTold = (written: NodeSlots, next: NodeSlots): boolean =>
  written.slots === next.slots &&
  written.of === next.of &&
  written.target === next.target &&
  written.best === next.best &&
  next.at - written.at < slotLimits.writeEveryMs &&
  Math.abs(written.measured - next.measured) < slotLimits.writeAt;

/** What one game, or one job, of a sort takes: as it was when it was first seen, so that it stays one measure. */
export interface WorkMeasure {
  readonly of: (sort: string, amount: number, tookMs: number) => number;
}

export function createWorkMeasure(max = utilizationLimits.maxSorts): WorkMeasure {
  const each = new Map<string, number>();
  return {
    of(sort, amount, tookMs) {
      const count = Number.isFinite(amount) && amount > 0 ? amount : 1;
      if (!each.has(sort) && each.size < max && tookMs > 0) each.set(sort, tookMs / count);
      return count * (each.get(sort) ?? tookMs / count);
    },
  };
}
