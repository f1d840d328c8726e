/** Numbers of this room that nobody needs to change; tests do. */

/** The cluster that this coordinator leads, in events. */
export const CLUSTER_ID = "main";

/** So many silent nodes at once are one trouble with one cause: they are told together. */
export const MANY_NODES = 10;

export const leadershipLimits = {
  /** How far another has come counts for so long; one that follows says it several times in a lease. */
  freshMs: 60_000,
  /** Entries that a successor may still lack: it has them before it leads. */
  maxPending: 1_000,
  /** After somebody handed over for its faults, nobody else does for so long. */
  restMs: 600_000,
  /** At the start nobody was heard yet. */
  graceMs: 60_000,
  keptTerms: 20,
  maxMarks: 16,
};

export const membershipLimits = {
  everyMs: 1_000,
  /** Deaths within this are taken for one event with one cause. */
  togetherMs: 30_000,
};

export const nodeHealthLimits = {
  /** Results of a node are compared at every so many checks at most, as far back, and of so many nodes in one round. */
  compareEveryChecks: 6,
  resultsMs: 86_400_000,
  comparedAtOnce: 4,
  /** So many silent nodes, and a larger share of all of them: the alert of the cluster tells of it. */
  massNodes: MANY_NODES,
  massShare: 0.45,
};

export const connectivityLimits = { everyMs: 5_000 };

export const recoveryLimits = {
  everyMs: 5_000,
  /** However short the watch over a patient is set, it is not looked at more often. */
  leastMs: 500,
  /** Acts whose answer is remembered. */
  maxAsked: 1_000,
};

export const capacityLimits = {
  everyMs: 5_000,
  /** A change that does not last so long is not emitted. */
  settleMs: 15_000,
  /** A pause between two looks that says that the machine slept. */
  breakMs: 60_000,
  /** Of nodes that were gone together so many are remembered until they are back. */
  maxLost: 1_000,
};

export const resourceMonitorLimits = {
  everyMs: 15_000,
  gpuMemory: { high: 0.95, critical: 0.99 },
  /** A disk that will be full within this is worth a line in the log, once an hour. */
  forecastWithinMs: 72 * 3_600_000,
};

export const idleLimits = {
  everyMs: 15_000,
  /** A node that was idle for so long has something to give; it says so again after the second time. */
  detectAfterMs: 60_000,
  detectEveryMs: 60_000,
  /** How idle it is, it tells at every change, when it is asked, and this often. */
  tellEveryMs: 300_000,
};

export const healthLimits = {
  everyMs: 5_000,
  /** An unchanged judgement is written down again after this, as a sign of life. */
  renewMs: 30_000,
  /** A pause between two looks that says that the machine slept or the loop was blocked. */
  breakMs: 30_000,
  errorWindowMs: 300_000,
  recoveryWindowMs: 86_400_000,
  recoveryOverdueMs: 3_600_000,
  forgetNodeMs: 86_400_000,
  maxBeats: 10_000,
  /** Characters of the name of a component. */
  maxText: 500,
};

export const lockLimits = {
  maxHeld: 10_000,
  maxWaiting: 10_000,
  minTtlMs: 100,
  /** The longest that one is held without a renewal, or waited for. */
  maxMs: 86_400_000,
};

export const alertLimits = {
  everyMs: 1_000,
  keepClosedMs: 30 * 86_400_000,
  maxClosed: 10_000,
  /** How often watches are written down. */
  saveEveryMs: 60_000,
  agedAtOnce: 200,
  agedRounds: 50,
  forgottenAtOnce: 500,
  forgetEveryMs: 3_600_000,
  /** A sink that failed so often in a row is worth a warning. */
  failing: 3,
};
