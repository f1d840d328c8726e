/** The frame of a bench of several parts: `node test/bench/<name>.ts [--quick] [--json]`, or a module of `npm run bench`. */
import { parseArgs } from "node:util";
import { printSections, type Section } from "./table.ts";

/** `quick` is seconds instead of minutes, with wider noise; `tiny` only shows that it runs. */
export type BenchSize = "full" | "quick" | "tiny";

/** How much of something a part does at each size. */
export const sized = <T>(size: BenchSize, full: T, quick: T, tiny: T): T => ({ full, quick, tiny })[size];

export interface BenchOptions {
  readonly quick?: boolean;
  readonly size?: BenchSize;
  /** One part by its name, where they have names. */
  readonly only?: string;
  /** Told each section as soon as it is measured. */
  readonly onSection?: (section: Section) => void;
}

export interface BenchReport {
  readonly bench: string;
  readonly node: string;
  readonly size: BenchSize;
  readonly sections: readonly Section[];
}

/** One part, in the size that is wanted. */
export type BenchPart = (size: BenchSize) => Promise<Section | readonly Section[]>;

/** The parts run in their order; those that have names can be run one by one. */
export function defineBench(bench: string, given: readonly BenchPart[] | Readonly<Record<string, BenchPart>>) {
  const run = async (options: BenchOptions = {}): Promise<BenchReport> => {
    const size = options.size ?? (options.quick ? "quick" : "full");
    const sections: Section[] = [];
    const parts = Object.entries(given).flatMap(([name, part]) => ((options.only ?? name) === name ? [part] : []));
    if (parts.length === 0) throw new Error(`there is no part '${options.only}': ${Object.keys(given).join(", ")}`);
    for (const part of parts)
      for (const section of [await part(size)].flat()) {
        options.onSection?.(section);
        sections.push(section);
      }
    return { bench, node: process.version, size, sections };
  };
  return {
    run,
    tiny: { size: "tiny" } satisfies BenchOptions,
    print: (report: BenchReport): string => printSections(report.sections),
    /** As a program of its own. */
    async main(): Promise<void> {
      const { values } = parseArgs({
        options: { json: { type: "boolean" }, quick: { type: "boolean" }, only: { type: "string" } },
      });
      const report = await run({
        ...(values.only === undefined ? {} : { only: values.only }),
        quick: values.quick ?? false,
        onSection: (section) => (values.json ? undefined : console.log(`${printSections([section])}\n`)),
      });
      if (values.json) console.log(JSON.stringify(report, undefined, 2));
    },
  };
}
