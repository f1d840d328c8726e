/**
 * The speed of the event system, as ratios in one run: `node test/bench/events.ts [--quick] [--json]`. Nothing here is
 * asserted: a busy machine makes it slower, and the goals say what a quiet one should show.
 */
import { parseArgs } from "node:util";
import { emptyPoll, flatMemory } from "./events-bounded.ts";
import { publishDurably } from "./events-durable.ts";
import { publishInProcess } from "./events-in-process.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "publishing: in the process, durably, over millions of events";

export interface BenchOptions {
  /** Fewer events: seconds instead of minutes, and wider noise. */
  readonly quick?: boolean;
  /** Told each section as soon as it is measured. */
  readonly onSection?: (section: Section) => void;
}

export interface BenchReport {
  readonly bench: "events";
  readonly node: string;
  readonly quick: boolean;
  readonly sections: readonly Section[];
  readonly met: boolean;
}

/** The parts in the order they run, each with its full and its quick size. The way between processes is `crossing.ts`. */
const parts: readonly ((quick: boolean) => Promise<Section | readonly Section[]>)[] = [
  (quick) => publishInProcess(quick ? 20_000 : 50_000, quick ? 9 : 15),
  (quick) => publishDurably(quick ? 5_000 : 50_000, quick ? 50 : 500, quick ? 5 : 9),
  (quick) => flatMemory(quick ? 200_000 : 5_000_000),
  (quick) => emptyPoll(quick ? 10_000 : 1_000_000),
];

export async function run(options: BenchOptions = {}): Promise<BenchReport> {
  const quick = options.quick ?? false;
  const sections: Section[] = [];
  for (const part of parts)
    for (const section of [await part(quick)].flat()) {
      options.onSection?.(section);
      sections.push(section);
    }
  const met = sections.every(({ goals }) => goals.every((goal) => goal.met));
  return { bench: "events", node: process.version, quick, sections, met };
}

export const print = (report: BenchReport): string => printSections(report.sections);

if (import.meta.main) {
  const { values } = parseArgs({ options: { json: { type: "boolean" }, quick: { type: "boolean" } } });
  const report = await run({
    quick: values.quick ?? false,
    onSection: (section) => (values.json ? undefined : console.log(`${printSections([section])}\n`)),
  });
  if (values.json) console.log(JSON.stringify(report, undefined, 2));
}
