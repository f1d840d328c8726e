/**
 * How many jobs at once a node does most work with: a climb over what was measured there. It tries a few more or fewer, keeps what is
 * clearly better, and rests after it found nothing better, each time longer. Pure: it is given what was measured and what it decided
 * before.
 */

export const climbPolicyDefaults = {
  /** Only what is better by so much is better: less may be chance. */
  clearly: 0.04,
  /** Jobs that must end, and for each slot, before a number of slots is judged. */
  minJobs: 40,
  jobsOfSlot: 8,
  /** A try that does so much less than the best is given up early: after these jobs, and these for each slot. */
  hopeless: 0.35,
  hopelessJobs: 8,
  hopelessJobsOfSlot: 2,
  /** How long it stays where it is after it found nothing better; twice as long each time. */
  restMs: 3_600_000,
  maxRestMs: 86_400_000,
  /** Work that goes so much faster or slower than it did here is other work: what was learned says nothing of it. */
  otherWork: 0.3,
};
export type ClimbPolicy = typeof climbPolicyDefaults;

/** What a node did since the last look. */
export interface ClimbSample {
  readonly now: number;
  readonly elapsedMs: number;
  /** Jobs that it holds, and those that it would hold by itself. */
  readonly held: number;
  readonly max: number;
  /** Jobs that ended, and their work, in milliseconds that such work usually takes. */
  readonly doneJobs: number;
  readonly doneWork: number;
}

interface Window {
  /** Jobs that still have to end which began before. */
  readonly before: number;
  readonly jobs: number;
  readonly work: number;
  readonly ms: number;
}

/** What is kept from one decision to the next. Rates are milliseconds of usual work in a millisecond. */
export interface ClimbState {
  /** Jobs at once, now and where most work was done. */
  readonly slots: number;
  readonly best: number;
  readonly bestRate: number | null;
  /** What was measured since it last rested, by slots. */
  readonly tried: Readonly<Record<number, number>>;
  readonly stride: number;
  readonly restUntil: number;
  readonly restMs: number;
  /** It had as much to do as it may at the last look: what it did since then is what it can do. */
  readonly isFull: boolean;
  readonly window: Window;
}

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value));
const opened = (before: number): Window => ({ before, jobs: 0, work: 0, ms: 0 });

export const beginClimb = (
  max: number,
  { slots = max, restUntil = 0 }: { readonly slots?: number; readonly restUntil?: number } = {},
  policy = climbPolicyDefaults,
): ClimbState => ({
  slots: clamp(slots, 1, max),
  best: clamp(slots, 1, max),
  bestRate: null,
  tried: {},
  stride: Math.max(1, Math.round(max / 4)),
  restUntil,
  restMs: policy.restMs,
  isFull: false,
  window: opened(0),
});

/** The first number of slots beside the best one that is not known yet, nearer ones last; undefined if all are known. */
function nextTry({ best, tried, stride }: ClimbState, max: number): { slots: number; stride: number } | undefined {
  for (let by = stride; by >= 1; by = Math.floor(by / 2))
    for (const slots of [best - by, best + by])
      if (slots >= 1 && slots <= max && tried[slots] === undefined) return { slots, stride: by };
  return undefined;
}

const moved = (state: ClimbState, slots: number): ClimbState => ({
  ...state,
  slots,
  // What began beside another number of jobs says nothing of this one.
  window: opened(slots === state.slots ? 0 : Math.max(slots, state.slots)),
});

function rest(state: ClimbState, now: number, policy: ClimbPolicy): ClimbState {
  const { best, restMs } = state;
  return {
    ...moved(state, best),
    restUntil: now + restMs,
    restMs: Math.min(policy.maxRestMs, 2 * restMs),
    stride: 1,
    tried: {},
  };
}

/** A number of slots was measured: what follows from it. */
function judge(state: ClimbState, rate: number, { now, max }: ClimbSample, policy: ClimbPolicy): ClimbState {
  const { slots, best, bestRate } = state;
  if (slots === best) {
    const isOther = bestRate !== null && Math.abs(rate / bestRate - 1) > policy.otherWork;
    const known = { ...state, bestRate: rate, window: opened(0) };
    if (isOther)
      return go(
        { ...known, restUntil: 0, restMs: policy.restMs, tried: { [best]: rate }, stride: 2 },
        now,
        max,
        policy,
      );
    return now < state.restUntil ? known : go({ ...known, tried: { ...state.tried, [best]: rate } }, now, max, policy);
  }
  const tried = { ...state.tried, [slots]: rate };
  const isBetter = bestRate === null || rate > bestRate * (1 + policy.clearly);
  const next = isBetter ? { ...state, tried, best: slots, bestRate: rate } : { ...state, tried };
  return go(next, now, max, policy);
}

function go(state: ClimbState, now: number, max: number, policy: ClimbPolicy): ClimbState {
  const next = nextTry(state, max);
  return next === undefined ? rest(state, now, policy) : moved({ ...state, stride: next.stride }, next.slots);
}

/**
 * The state after a look. Time in which the node had less to do than it may is no measurement. `allowed`: slots that it had in truth,
 * where somebody else gave it fewer; then nothing is learned.
 */
export function nextClimb(
  before: ClimbState,
  sample: ClimbSample,
  allowed: number,
  policy: ClimbPolicy = climbPolicyDefaults,
): ClimbState {
  const { held, elapsedMs, doneJobs, doneWork } = sample;
  const max = Math.max(1, Math.floor(sample.max));
  const wasFull = before.isFull;
  const kept =
    before.slots > max || before.best > max ? beginClimb(max, { slots: Math.min(before.best, max) }, policy) : before;
  const state = { ...kept, isFull: held >= kept.slots };
  if (allowed < state.slots) return state.window.jobs === 0 ? state : { ...state, window: opened(state.slots) };
  const isSound = elapsedMs > 0 && Number.isFinite(elapsedMs) && Number.isFinite(doneWork) && doneWork >= 0;
  if (!isSound || !wasFull) return state;
  const { window } = state;
  const left = Math.max(0, window.before - doneJobs);
  if (window.before > 0) return { ...state, window: opened(left) };
  const next = {
    before: 0,
    jobs: window.jobs + doneJobs,
    work: window.work + doneWork,
    ms: window.ms + elapsedMs,
  };
  const rate = next.work / next.ms;
  const needed = isHopeless(state, rate, policy)
    ? Math.max(policy.hopelessJobs, policy.hopelessJobsOfSlot * state.slots)
    : Math.max(policy.minJobs, policy.jobsOfSlot * state.slots);
  if (next.jobs < needed || next.work <= 0) return { ...state, window: next };
  return judge({ ...state, window: next }, rate, { ...sample, max }, policy);
}

/** One of two slots does half of the work: nobody should wait for the end of such a try. */
const isHopeless = ({ slots, best, bestRate }: ClimbState, rate: number, { hopeless }: ClimbPolicy): boolean =>
  slots !== best && bestRate !== null && rate < bestRate * (1 - hopeless);
