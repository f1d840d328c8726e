/** Numbers of this room that nobody needs to change; tests do. */

/** Bounds on everything the queue keeps or takes. */
export const workLimitDefaults = {
  /** Jobs that are not finished, held ones included; more are refused. */
  maxUnfinished: 250_000,
  /** Characters of a job's payload as JSON. */
  maxPayload: 65_536,
  /** Characters of the evidence of a finished job as JSON. */
  maxEvidence: 32_768,
  maxError: 2_000,
  maxStderr: 8_000,
  maxDependencies: 100,
  /** Jobs in one call. */
  maxInCall: 1_000,
  /** Different combinations of kind, config, needs and nodes. */
  maxLanes: 10_000,
  /** Times a job may come back without spending an attempt; after that each return counts as one. */
  maxReturns: 20,
  /** Finished jobs are forgotten after this. */
  keepCompletedMs: 86_400_000,
  keepFailedMs: 7 * 86_400_000,
  /** And before that, the oldest first, when there are more. */
  maxFinished: 200_000,
};
export type WorkLimits = typeof workLimitDefaults;

/** The most that a result may say, whatever its job was asked for: sums over all results then stay whole numbers. */
export const resultLimits = {
  maxCount: 1_000_000_000_000,
  /** Of a loss, or of a sum of squares; also of what a beat tells. */
  maxNumber: 1_000_000_000_000_000,
  maxFileBytes: 2 ** 44,
  maxRowsPerGame: 100_000,
  maxPlayers: 4,
};

export const claimDeskLimits = {
  /** Claims that are decided together; what comes while others are on their way to the disk goes with the next ones. */
  maxTogether: 32,
  /** Such groups that are on their way at once. */
  atOnce: 2,
  /** Claims in line, and those that wait for work: more are told to come back. */
  maxInLine: 4_096,
  maxWaiting: 20_000,
  /** Jobs whose time comes say nothing: those who wait look again after so long. */
  lookAgainMs: 1_000,
};

export const knownWorkerLimits = {
  /** A worker that has neither asked nor beaten for so long is not there. Claims are kept open for half of it at most. */
  goneAfterMs: 60_000,
  /** So long after a start everybody who is there has asked. */
  settleMs: 35_000,
  max: 20_000,
};

export const nodeOutcomeLimits = {
  /** Of each node the last so many attempts are remembered, and none that ended longer ago. */
  keep: 24,
  windowMs: 1_800_000,
  maxNodes: 20_000,
};

export const forecastLimits = {
  /** Nodes that a forecast looks at, and jobs for each. */
  maxNodes: 100,
  maxJobs: 10,
};

export const shortageLimits = {
  /** How long a node counts as short of something if nobody says that it is over. */
  shortMs: 600_000,
  /** Memory is filled and freed within seconds. */
  memoryMs: 30_000,
};

export const slotLimits = {
  /** Slots that were decided on longer ago hold nobody back: the node measures no more. */
  freshMs: 180_000,
  /** They are written again after so long at the latest, and before that when the measurement differs by so much. */
  writeEveryMs: 60_000,
  writeAt: 0.05,
};

export const utilizationLimits = {
  everyMs: 60_000,
  /** A node without work for so long that gets some was put to work. */
  activatedAfterMs: 300_000,
  /** Of a job of which nothing is known: how long it takes. */
  unknownJobMs: 60_000,
  maxNodes: 20_000,
  maxSorts: 5_000,
};

export const queueMonitorLimits = {
  everyMs: 5_000,
  /** A shortage that nobody has spoken of for so long is over. */
  shortageMs: 600_000,
  /** Jobs that nobody may take for so long are worth an alert. */
  untakenMs: 30_000,
};

export const jobReaperLimits = {
  everyMs: 5_000,
  /** Finished jobs are looked through every so many ticks. */
  forgetEvery: 60,
  /** So many jobs that stood still on a node within the time below are worth an alert. */
  maxStuck: 2,
  stuckWithinMs: 3_600_000,
};

export const preemptionLimits = {
  /** A job that has run shorter than this is left alone: it would have run for nothing. */
  minRunMs: 60_000,
  /** How many classes more urgent the one that waits must be. */
  classes: 2,
  /** It has waited so long before anybody is stopped for it. */
  patienceMs: 30_000,
  /** A job that is done within so long is waited for. */
  soonMs: 20_000,
};

export const jobSchedulerLimits = {
  everyMs: 10_000,
  preemption: preemptionLimits,
  /** How long an overloaded node, or one that lets attempts run out, gets nothing new. */
  restMs: 600_000,
  /** So many attempts that ran out within the time below are the node's fault. */
  maxTimeouts: 3,
  timeoutsWithinMs: 1_800_000,
};

/** What a beat may carry: more would make every sign of life a load. */
export const METRIC_LIMITS = { max: 16, name: 64 } as const;

export const CURVE_LIMITS = {
  /** Points of a job that are kept; a longer curve is thinned out. */
  points: 400,
  /** In one word of a worker, and that a worker keeps until it is sent. */
  told: 64,
} as const;

export const LIVE_BOARD_LIMITS = {
  /** Nodes that tell at once. */
  nodes: 12,
  boardsOfNode: 16,
  lines: 64,
  lineChars: 128,
  noteChars: 200,
} as const;
