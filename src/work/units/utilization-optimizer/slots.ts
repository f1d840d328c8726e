/**
 * How many jobs a node may hold: a PID controller that keeps its processors near a target. Pure: it is given what was measured and
 * what it decided before.
 */

const slotPolicyDefaults = {
  /** What each part of the error adds, in slots for each slot that it is off. */
  proportional: 0.3,
  integral: 0.3,
  derivative: 0.05,
  /** How much of a new value counts beside those before it. */
  smoothing: 0.5,
  /** Nearer to the target than this, in slots, is as near as whole jobs come. */
  deadband: 0.5,
  /** A whole slot more or less needs more than half of one, so that it does not flutter between two. */
  rounding: 0.6,
  /** Slots by which it changes at once. */
  maxStep: 1,
  /** Another program that takes less of the processors is no reason to hold back. */
  othersNotable: 0.1,
  /** From here on every processor is in use, and a job may want more than it gets. */
  full: 0.98,
};
type SlotPolicy = typeof slotPolicyDefaults;

/** What a node tells of itself, and what is known of it here. Shares are 0 to 1. */
export interface SlotSample {
  /** Share of the processors in use; what other programs take of it, undefined where that cannot be told. */
  readonly usage: number;
  readonly others: number | undefined;
  readonly cpus: number;
  /** Jobs that it holds. */
  readonly held: number;
  /** Jobs that it would hold at most by itself. */
  readonly max: number;
}

/** What is kept from one decision to the next. */
export interface SlotState {
  /** Jobs that the node may hold: a whole number, 1 at least. */
  readonly slots: number;
  /** The same before it is rounded. */
  readonly output: number;
  /** What was measured, with as many jobs as it may hold: more than 1 where more is wanted than there is. */
  readonly measured: number;
  /** What is in use beside the processors that its jobs count for, smoothed. */
  readonly beside: number;
  /** The last two errors, in slots. */
  readonly errors: readonly [number, number];
}

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value));

const isSound = ({ usage, others = 0, cpus, held, max }: SlotSample): boolean =>
  [usage, others, cpus, held, max].every((value) => Number.isFinite(value) && value >= 0) && cpus > 0;

/**
 * What is in use beside one processor for each job that it holds: jobs that take more make it larger, those that take less make it
 * smaller. On a full machine each counts as one at least, since it may want more than it gets.
 */
function besideJobs({ usage, others = 0, cpus, held }: SlotSample, { full }: SlotPolicy): number {
  const ours = Math.max(0, usage - others);
  const wanted = usage >= full ? Math.max(ours, held / cpus) : ours;
  return others + wanted - held / cpus;
}

/** The slots after a sample. One that cannot be true changes nothing. */
export function nextSlots(
  before: SlotState | undefined,
  sample: SlotSample,
  target: number,
  policy: SlotPolicy = slotPolicyDefaults,
): SlotState | undefined {
  if (!isSound(sample) || !Number.isFinite(target)) return before;
  const max = Math.max(1, Math.floor(sample.max));
  const slots = clamp(before?.slots ?? max, 1, max);
  const [last, beforeLast] = before?.errors ?? [0, 0];
  const now = besideJobs(sample, policy);
  const beside = before === undefined ? now : before.beside + policy.smoothing * (now - before.beside);
  const measured = Math.max(0, beside + slots / sample.cpus);
  const off = (target - measured) * sample.cpus;
  // A machine that is ours alone is meant to be full: only what others want makes room for them.
  const isOurs = (sample.others ?? 0) < policy.othersNotable;
  const error = isOurs ? max - slots : Math.abs(off) <= policy.deadband ? 0 : off;
  const step =
    policy.proportional * (error - last) +
    policy.integral * error +
    policy.derivative * (error - 2 * last + beforeLast);
  // What is clamped is what is kept: nothing winds up while it cannot act.
  const output = clamp(clamp(before?.output ?? max, 1, max) + clamp(step, -policy.maxStep, policy.maxStep), 1, max);
  const isOther = Math.abs(output - slots) > policy.rounding;
  return { slots: isOther ? Math.round(output) : slots, output, measured, beside, errors: [error, last] };
}
