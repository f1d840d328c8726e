/** Numbers of the fleet that nobody needs to change; tests do. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

export const machineLimits = {
  /** Rows that ended longer ago cost nothing in any period that is judged. */
  billedBackMs: 48 * HOUR_MS,
  /** A machine may show up in its provider's lists so long after it was asked for. */
  settleMs: 3 * MINUTE_MS,
  /** One that is missing from lists for so long is gone. */
  vanishMs: 2 * MINUTE_MS,
  /** One that says "ending" for so long is told again. */
  endingMs: 10 * MINUTE_MS,
  /** Ended rows are kept for so long, and so many are forgotten at once. */
  keepMs: 400 * 24 * HOUR_MS,
  /** How fast machines of an offer are is known from those of so long, and from so many at most. */
  measuredBackMs: 30 * 24 * HOUR_MS,
  measured: 1_000,
  forgottenAtOnce: 500,
};

export const budgetLimits = {
  /** The day's money must suffice for all machines for so long before one more is rented. */
  roomMs: HOUR_MS,
  /** With money left for less than this, machines are returned. */
  reserveMs: 15 * MINUTE_MS,
  /** From this share of the day's money on, somebody is told. */
  alertShare: 0.8,
};

export const askLimits = {
  /** A provider that has not answered by then may have done what was asked, or not. */
  answerMs: 60_000,
  /** What it offered is taken for true for so long. */
  offersMs: 60_000,
};

export const provisionerLimits = {
  everyMs: 2_000,
  /** Creates of one look: a provider that is slow does not hold up the others for long. */
  createsAtOnce: 3,
  /** After a failure a provider is passed over for so long, twice as long after each further one. */
  coolDown: { firstMs: 60_000, maxMs: 3_600_000, jitter: 0 },
};

export const multiProviderLimits = {
  everyMs: 2_000,
  /** While no machine is open, providers are asked so seldom: for machines that came to light. */
  quietLookMs: 10 * MINUTE_MS,
  forgetEveryMs: HOUR_MS,
};

export const idleLimits = {
  everyMs: 2_000,
  /** Money is nearly used up: what lies there alone has so long to come home. */
  evacuateMs: 10 * MINUTE_MS,
  /** A terminate that failed is tried again after so long, up to the longest. */
  retry: { firstMs: 2_000, maxMs: 60_000, jitter: 0 },
};
