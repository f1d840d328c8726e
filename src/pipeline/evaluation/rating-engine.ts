import { createAskedThread, moduleBeside, OperatingError } from "../../kernel/index.ts";
import { type RatingAnswer, type RatingRequest, rateLadder } from "./rate-ladder.ts";

/** Where ratings are computed. */
export type RatingEngine = ReturnType<typeof createRatingEngine>;

/**
 * Ladders of so many pairs are rated at once: that takes a few milliseconds. Larger ones (20 ms at 100 players, 130 ms at
 * 300) go to a thread that starts when it is first needed.
 */
const SMALL_PAIRS = 40;

const broken = (message: string) =>
  OperatingError.internal("RATING_FAILED", `the ratings could not be computed: ${message}`, { retryable: true });

export function createRatingEngine(smallPairs = SMALL_PAIRS) {
  const file = moduleBeside(import.meta.url, "./ratings.thread");
  const thread = createAskedThread<RatingRequest, RatingAnswer>(file, broken);
  return {
    rate: async (request: RatingRequest): Promise<RatingAnswer> =>
      request.tallies.length <= smallPairs ? rateLadder(request) : thread.ask(request),
    close: thread.close,
  };
}
