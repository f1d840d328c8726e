/** Who gets the processors of this machine, and programs that want all of them. */
import { readFileSync } from "node:fs";
import type { Owned, Started } from "./process.ts";

/** Programs that do nothing, each as fast as a processor can. */
export const burners = (own: Owned, count: number): Started[] =>
  Array.from({ length: count }, () => own.startNode("for (;;);", [], { execArgv: ["-e"] }));

const ticksOf = (fields: readonly string[], places: readonly number[]): number =>
  places.reduce((sum, place) => sum + Number(fields[place]), 0);

/** What all processors have done: for users, niced, for the system, for devices. */
const done = (): number => ticksOf(readFileSync("/proc/stat", "utf8").split(/\s+/), [1, 2, 3, 6, 7]);

/** What the children of this process have done, with theirs, that have ended and were waited for. */
const doneByChildren = (): number => {
  const text = readFileSync("/proc/self/stat", "utf8");
  return ticksOf(text.slice(text.lastIndexOf(")") + 2).split(" "), [13, 14]);
};

/**
 * From now on: which share of what the processors did was done by children of this process that have ended since. Where the system
 * does not tell, all of it.
 */
export function processorTime() {
  if (process.platform !== "linux") return { shareOfChildren: () => 1 };
  const [all, children] = [done(), doneByChildren()];
  return { shareOfChildren: () => Math.min(1, (doneByChildren() - children) / (done() - all)) };
}
