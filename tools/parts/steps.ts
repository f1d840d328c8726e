/** The steps of `npm test`, as data, in the order in which they run. */
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { COMPILER, COMPILER_THREADS, ROOT, scriptOf } from "./root.ts";
import { failedFiles, judgeTests, judgeTwice, type TestReport, type Verdict } from "./test-report.ts";

const MINUTE_MS = 60_000;

export interface Step {
  readonly name: string;
  readonly about: string;
  /** Arguments of the Node that runs us. `reportFile` is a file that the step may write for `judge`. */
  readonly args: (reportFile: string) => readonly string[];
  readonly timeoutMs: number;
  /** Steps of the same group that follow each other run side by side. */
  readonly group?: string;
  /** Looks closer than the exit code does. Given the report, and that of a second try if there was one. */
  readonly judge?: (reportFile: string, strict: boolean, again?: string) => Verdict;
  /** Arguments for a second try of what failed, alone; undefined where nothing is to be tried again. */
  readonly again?: (reportFile: string, againFile: string) => readonly string[] | undefined;
}

/** Where a step keeps what makes its next run quicker; `npm ci` clears it. */
const cacheOf = (name: string): string => join(ROOT, "node_modules", ".cache", "check", name);

/** A tool of ours whose last line of output sums it up. */
const tool = (file: string, ...args: string[]): Pick<Step, "args"> => ({
  args: () => [join(ROOT, "tools", file), ...args],
});

const typesOf = (project: string, kept: string): readonly string[] => [
  ...[COMPILER, ...COMPILER_THREADS, "-p", project],
  ...["--noEmit", "--incremental", "--tsBuildInfoFile", cacheOf(kept)],
];

/** More than these are no accident. */
const MAX_AGAIN = 5;

const readReport = (file: string): TestReport | undefined =>
  existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;

const vitestArgs = (project: string, workers: number, reportFile: string, files: readonly string[] = []) => [
  scriptOf("vitest"),
  "run",
  ...["--project", project],
  ...["--maxWorkers", String(workers)],
  ...["--reporter", "default", "--reporter", "json", `--outputFile.json=${reportFile}`],
  ...files,
];

/** Left to itself vitest spares one core for whoever watches. */
const CORES = availableParallelism();

const vitest = (project: string, folders: readonly string[], workers = CORES): Pick<Step, "args" | "judge"> => ({
  args: (reportFile) => vitestArgs(project, workers, reportFile),
  judge: (reportFile, strict, again) => {
    const expected = { root: ROOT, folders, strict };
    const [first, second] = [reportFile, again].map((file) => (file === undefined ? undefined : readReport(file)));
    if (first === undefined) return { summary: "", problems: ["vitest wrote no report"], warnings: [] };
    return second === undefined ? judgeTests(first, expected) : judgeTwice(first, second, expected);
  },
});

/** Real processes meet real accidents: files that failed are tried once more, alone, and what passes then is told. */
const twice = (project: string): Pick<Step, "again"> => ({
  again: (reportFile, againFile) => {
    const first = readReport(reportFile);
    const files = first === undefined ? [] : failedFiles(first);
    return files.length === 0 || files.length > MAX_AGAIN ? undefined : vitestArgs(project, 1, againFile, files);
  },
});

export const steps: readonly Step[] = [
  {
    name: "types",
    about: "the compiler, strict, over sources, tests, tools and examples",
    // What was found is kept, and only what a change touches is looked at again.
    args: () => typesOf(ROOT, "types.json"),
    timeoutMs: 5 * MINUTE_MS,
    group: "static",
  },
  {
    name: "types-web",
    about: "the compiler over what runs in browsers",
    args: () => typesOf(join(ROOT, "web"), "types-web.json"),
    timeoutMs: 5 * MINUTE_MS,
    group: "static",
  },
  {
    name: "lint",
    about: "format and lint rules (biome)",
    args: () => [scriptOf("biome"), "ci", "--colors=off", "--error-on-warnings", "."],
    timeoutMs: MINUTE_MS,
    group: "static",
  },
  {
    name: "imports",
    about: "imports go down, never up (dependency-cruiser)",
    ...tool("check-imports.ts"),
    timeoutMs: 2 * MINUTE_MS,
    group: "static",
  },
  {
    name: "dead-code",
    about: "files, exports and dependencies that nobody uses (knip)",
    ...tool("check-dead-code.ts"),
    timeoutMs: 2 * MINUTE_MS,
    group: "static",
  },
  {
    name: "program",
    about: "the bundle of the program, which the tests start from here on",
    ...tool("program.ts"),
    timeoutMs: MINUTE_MS,
    group: "static",
  },
  {
    name: "docs-drift",
    about: "the printed reference is what the code prints",
    ...tool("print-docs.ts", "--check"),
    timeoutMs: 2 * MINUTE_MS,
    group: "static",
  },
  {
    name: "unit",
    about: "the tests beside the code",
    ...vitest("unit", ["src", "tools", "test/support"], CORES + 1),
    timeoutMs: 15 * MINUTE_MS,
    group: "inside",
  },
  {
    name: "simulation",
    about: "the contracts of delivery, work, supervision and learning over hundreds of seeds",
    // Beside the others, which wait for disks and processes now and then.
    ...vitest("simulation", ["test/simulation"], Math.ceil(CORES / 2)),
    timeoutMs: 15 * MINUTE_MS,
    group: "inside",
  },
  {
    name: "e2e",
    about: "real processes, and a short chaos run of kill -9",
    // They wait more than they compute.
    ...vitest("e2e", ["test/e2e", "test/chaos"], CORES + 1),
    ...twice("e2e"),
    timeoutMs: 20 * MINUTE_MS,
    group: "outside",
  },
  {
    name: "tiny",
    about: "every bench and every soak still runs, at its smallest",
    ...tool("tiny.ts"),
    timeoutMs: 10 * MINUTE_MS,
    group: "outside",
  },
  {
    name: "docs-commands",
    about: "every command, program and link in the docs works",
    ...tool("check-docs.ts"),
    timeoutMs: 15 * MINUTE_MS,
    group: "outside",
  },
  {
    name: "package",
    about: "the packed tarball, installed elsewhere: its bin, an import, its types",
    ...vitest("package", ["test/e2e"]),
    timeoutMs: 5 * MINUTE_MS,
    group: "outside",
  },
];
