/** A file of a job, while one coordinator leads no more and the next one has not all files yet: neither is a reason to end the job. */
import { type Clock, isOperatingError, type Random, retry } from "../../kernel/index.ts";
import type { BringFile } from "./inputs.ts";

/** Another one leads by then, and has fetched what it lacked. */
const BETWEEN_LEADERS_MS = 120_000;

export interface BetweenLeadersPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether there are several coordinators: where there is one, the queue has the job begun again later. */
  readonly isOfSeveral: () => boolean;
}

export const bringBetweenLeaders =
  (bring: BringFile, { clock, random, isOfSeveral }: BetweenLeadersPorts): BringFile =>
  (sha256, signal, options) => {
    const beganMs = clock.monotonic();
    const again = (thrown: unknown): boolean =>
      isOfSeveral() &&
      clock.monotonic() - beganMs < BETWEEN_LEADERS_MS &&
      isOperatingError(thrown) &&
      thrown.retryable &&
      // Whoever leads knows that nobody has it.
      thrown.code !== "ARTIFACT_NOT_FOUND";
    return retry(() => bring(sha256, signal, options), { clock, random, signal, again });
  };
