/** Bounds on everything the queue keeps or takes. */
export interface WorkLimits {
  /** Jobs that are not finished, held ones included; more are refused. */
  readonly mostUnfinished: number;
  /** Characters of a job's payload as JSON. */
  readonly mostPayload: number;
  /** Characters of the evidence of a finished job as JSON. */
  readonly mostEvidence: number;
  readonly mostError: number;
  readonly mostStderr: number;
  readonly mostDependencies: number;
  /** Jobs in one call. */
  readonly mostInCall: number;
  /** Different combinations of kind, config, needs and nodes. */
  readonly mostLanes: number;
  /** Times a job may come back without spending an attempt; after that each return counts as one. */
  readonly mostReturns: number;
  /** Finished jobs are forgotten after this. */
  readonly keepCompletedMs: number;
  readonly keepFailedMs: number;
  /** And before that, the oldest first, when there are more. */
  readonly mostFinished: number;
}

export const workLimitDefaults: WorkLimits = {
  mostUnfinished: 250_000,
  mostPayload: 65_536,
  mostEvidence: 32_768,
  mostError: 2_000,
  mostStderr: 8_000,
  mostDependencies: 100,
  mostInCall: 1_000,
  mostLanes: 10_000,
  mostReturns: 20,
  keepCompletedMs: 86_400_000,
  keepFailedMs: 7 * 86_400_000,
  mostFinished: 200_000,
};

/** The two clocks of a lease, and what goes with them. */
export interface LeasePolicy {
  /** A holder that was not heard for so long is taken for gone. */
  readonly silentMs: number;
  /** What a preempted holder has to stop in, before its lease is taken from it. */
  readonly graceMs: number;
}

export const leasePolicyDefaults: LeasePolicy = { silentMs: 60_000, graceMs: 60_000 };
