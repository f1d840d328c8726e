/** The body of a thread that computes ratings: hundreds of players must not hold up the loop of the process. */
import { parentPort } from "node:worker_threads";
import { assert, messageOf } from "../../kernel/index.ts";
import { type RatingRequest, rateLadder } from "./rate-ladder.ts";

assert(parentPort, "ratings.thread runs in a worker thread");
const port = parentPort;

port.on("message", ({ id, request }: { id: number; request: RatingRequest }) => {
  try {
    port.postMessage({ id, answer: rateLadder(request) });
  } catch (thrown) {
    port.postMessage({ id, error: messageOf(thrown) });
  }
});
