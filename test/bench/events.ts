/**
 * The speed of the event system, as ratios in one run: `node test/bench/events.ts [--quick] [--json]`. Nothing here is
 * asserted: a busy machine makes it slower, and the goals say what a quiet one should show.
 */
import { emptyPoll, flatMemory } from "./events-bounded.ts";
import { publishDurably } from "./events-durable.ts";
import { publishInProcess } from "./events-in-process.ts";
import { defineBench, sized } from "./support/frame.ts";

export const about = "publishing: in the process, durably, over millions of events";

/** In the order they run. The way between processes is `crossing.ts`. */
const bench = defineBench("events", [
  (size) => publishInProcess(sized(size, 50_000, 20_000, 200), sized(size, 15, 9, 1)),
  (size) => publishDurably(sized(size, 50_000, 5_000, 100), sized(size, 500, 50, 5), sized(size, 9, 5, 1)),
  (size) => flatMemory(sized(size, 5_000_000, 200_000, 2_000)),
  (size) => emptyPoll(sized(size, 1_000_000, 10_000, 500), sized(size, 20_000, 20_000, 100)),
]);
export const run = bench.run;
export const tiny = bench.tiny;
export const print = bench.print;

if (import.meta.main) await bench.main();
