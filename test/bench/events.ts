/**
 * The speed of the event system, as ratios in one run: `node test/bench/events.ts [--quick] [--json]`. Nothing here is
 * asserted: a busy machine makes it slower, and the goals say what a quiet one should show.
 */
import { emptyPoll, flatMemory } from "./events-bounded.ts";
import { publishDurably } from "./events-durable.ts";
import { publishInProcess } from "./events-in-process.ts";
import { defineBench } from "./support/frame.ts";

export const about = "publishing: in the process, durably, over millions of events";

/** In the order they run. The way between processes is `crossing.ts`. */
const bench = defineBench("events", [
  (quick) => publishInProcess(quick ? 20_000 : 50_000, quick ? 9 : 15),
  (quick) => publishDurably(quick ? 5_000 : 50_000, quick ? 50 : 500, quick ? 5 : 9),
  (quick) => flatMemory(quick ? 200_000 : 5_000_000),
  (quick) => emptyPoll(quick ? 10_000 : 1_000_000),
]);
export const run = bench.run;
export const print = bench.print;

if (import.meta.main) await bench.main();
