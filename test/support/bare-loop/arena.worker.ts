/** The body of a worker thread: takes one task at a time, answers with its result. */
import { parentPort, workerData } from "node:worker_threads";
import { assert, messageOf } from "../../../src/kernel/index.ts";
import { createGame } from "../../../src/workloads/arena/games/catalog.ts";
import { type MatchTask, runMatch, runSelfPlay, type SelfPlayTask } from "./tasks.ts";

assert(parentPort, "arena.worker runs in a worker thread");
const port = parentPort;
const game = createGame((workerData as { configKey: string }).configKey);

port.on("message", (task: SelfPlayTask | MatchTask) => {
  try {
    port.postMessage({ result: task.kind === "self-play" ? runSelfPlay(game, task) : runMatch(game, task) });
  } catch (thrown) {
    port.postMessage({ error: messageOf(thrown) });
  }
});
