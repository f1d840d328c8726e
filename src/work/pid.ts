/**
 * Holds a node's utilisation at its target by the number of jobs it runs. It answers with a change, not with a level: the
 * number of jobs is itself the sum of all that was changed, so nothing can pile up while the answer is at its bounds. How
 * much a job weighs is taken from the machine itself, from what its jobs use now.
 */
export interface PidPolicy {
  /** Share of the machine that should be in use. */
  readonly target: number;
  /** Within this distance of the target nothing is changed. */
  readonly band: number;
  /** Answer to a change of the difference. */
  readonly proportional: number;
  /** Answer to a difference that stays, per second. */
  readonly integral: number;
  /** Answer to a change of the change, in seconds. */
  readonly derivative: number;
  /** Weight of a new figure in the smoothed one. */
  readonly smoothing: number;
  /** Most jobs that one look changes, as a share of those that run. */
  readonly mostStep: number;
}

export const pidPolicyDefaults: PidPolicy = {
  target: 0.7,
  band: 0.05,
  proportional: 0.5,
  integral: 0.004,
  derivative: 3,
  smoothing: 0.3,
  mostStep: 0.5,
};

export interface PidState {
  /** Null before the first figure. */
  readonly smoothed: number | null;
  /** The differences of the last two looks, newest first. */
  readonly errors: readonly [number, number];
  /** Parts of a job that were called for and not changed yet. */
  readonly rest: number;
}

export const pidStart: PidState = { smoothed: null, errors: [0, 0], rest: 0 };

const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));

export interface PidAnswer {
  readonly state: PidState;
  /** Jobs it should run at once from now on. */
  readonly slots: number;
}

/** One look at the figure, `seconds` after the last one. `slots` is how many it may run now. */
export function steer(
  state: PidState,
  utilisation: number,
  slots: number,
  seconds: number,
  bounds: { readonly least: number; readonly most: number },
  policy: PidPolicy = pidPolicyDefaults,
): PidAnswer {
  const seen = clamp(utilisation, 0, 1);
  const smoothed = state.smoothed === null ? seen : state.smoothed + policy.smoothing * (seen - state.smoothed);
  const error = policy.target - smoothed;
  const [before, earlier] = state.smoothed === null ? [error, error] : state.errors;
  const errors = [error, before] as const;
  const kept = clamp(slots, bounds.least, bounds.most);
  if (Math.abs(error) <= policy.band) return { state: { smoothed, errors, rest: 0 }, slots: kept };
  const output =
    policy.proportional * (error - before) +
    policy.integral * seconds * error +
    (policy.derivative * (error - 2 * before + earlier)) / Math.max(1, seconds);
  // As many jobs as would fill the machine, judged by those that run; an idle machine tells nothing about it.
  const jobsToFull = Math.max(1, slots / Math.max(smoothed, 0.1));
  const most = Math.max(1, policy.mostStep * slots);
  const wanted = state.rest + clamp(output * jobsToFull, -most, most);
  const step = Math.trunc(wanted);
  const next = clamp(slots + step, bounds.least, bounds.most);
  return { state: { smoothed, errors, rest: next === slots + step ? wanted - step : 0 }, slots: next };
}
