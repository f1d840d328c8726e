import { Worker } from "node:worker_threads";
import { OperatingError } from "../../kernel/index.ts";
import { type RatingAnswer, type RatingRequest, rateLadder } from "./rate-ladder.ts";

/** Where ratings are computed. */
export interface RatingEngine {
  rate(request: RatingRequest): Promise<RatingAnswer>;
  close(): Promise<void>;
}

/**
 * Ladders of so many pairs are rated at once: that takes a few milliseconds. Larger ones (20 ms at 100 players, 130 ms at
 * 300) go to a thread that starts when it is first needed.
 */
const SMALL_PAIRS = 40;

interface Answer {
  readonly id: number;
  readonly answer?: RatingAnswer;
  readonly error?: string;
}

const broken = (message: string) =>
  new OperatingError("RATING_FAILED", `the ratings could not be computed: ${message}`, { retryable: true });

export function createRatingEngine(smallPairs = SMALL_PAIRS): RatingEngine {
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./ratings.thread.ts" : "./ratings.thread.js",
    import.meta.url,
  );
  const waiting = new Map<number, PromiseWithResolvers<RatingAnswer>>();
  let thread: Worker | undefined;
  let ids = 0;

  const fail = (message: string) => {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(broken(message));
    waiting.clear();
  };

  const start = (): Worker => {
    const worker = new Worker(file);
    worker.on("message", ({ id, answer, error }: Answer) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) worker.unref();
      if (answer === undefined) asked?.reject(broken(error ?? "no answer"));
      else asked?.resolve(answer);
    });
    worker.on("error", (error) => fail(error.message));
    worker.on("exit", () => fail("the thread ended"));
    return worker;
  };

  return {
    async rate(request) {
      if (request.tallies.length <= smallPairs) return rateLadder(request);
      thread ??= start();
      thread.ref();
      ids += 1;
      const asked = Promise.withResolvers<RatingAnswer>();
      waiting.set(ids, asked);
      thread.postMessage({ id: ids, request });
      return asked.promise;
    },
    async close() {
      await thread?.terminate();
      thread = undefined;
    },
  };
}
