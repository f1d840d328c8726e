/** The frame of a bench of several parts: `node test/bench/<name>.ts [--quick] [--json]`, or a module of `npm run bench`. */
import { parseArgs } from "node:util";
import { printSections, type Section } from "./table.ts";

export interface BenchOptions {
  /** Less of everything: seconds instead of minutes, and wider noise. */
  readonly quick?: boolean;
  /** Told each section as soon as it is measured. */
  readonly onSection?: (section: Section) => void;
}

export interface BenchReport {
  readonly bench: string;
  readonly node: string;
  readonly quick: boolean;
  readonly sections: readonly Section[];
  readonly met: boolean;
}

/** One part, in its full and its quick size. */
export type BenchPart = (quick: boolean) => Promise<Section | readonly Section[]>;

/** The parts run in their order. */
export function defineBench(bench: string, parts: readonly BenchPart[]) {
  const run = async (options: BenchOptions = {}): Promise<BenchReport> => {
    const quick = options.quick ?? false;
    const sections: Section[] = [];
    for (const part of parts)
      for (const section of [await part(quick)].flat()) {
        options.onSection?.(section);
        sections.push(section);
      }
    const met = sections.every(({ goals }) => goals.every((goal) => goal.met));
    return { bench, node: process.version, quick, sections, met };
  };
  return {
    run,
    print: (report: BenchReport): string => printSections(report.sections),
    /** As a program of its own. */
    async main(): Promise<void> {
      const { values } = parseArgs({ options: { json: { type: "boolean" }, quick: { type: "boolean" } } });
      const report = await run({
        quick: values.quick ?? false,
        onSection: (section) => (values.json ? undefined : console.log(`${printSections([section])}\n`)),
      });
      if (values.json) console.log(JSON.stringify(report, undefined, 2));
    },
  };
}
