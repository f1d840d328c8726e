/**
 * Breaks the code on purpose, one small change at a time (Stryker), and counts the changes that the tests of the room notice.
 * A seed chooses which lines are broken, what was found is kept in `.soak/mutants/`, so a run that was cut off goes on where
 * it was. A change that cannot be noticed because it means the same stands in `mutants/equivalents.json`, with its reason.
 *
 * `npm run soak -- mutants --set room=sync --set lines=400`
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Random, seededRandom } from "../../src/kernel/index.ts";
import { ROOT, scriptOf } from "../../tools/parts/root.ts";
import equivalents from "./mutants/equivalents.json" with { type: "json" };
import { type MutatedRoom, ROOMS } from "./mutants/rooms.ts";

export interface MutantOptions {
  readonly seed?: number;
  /** Only this room; all unless said. */
  readonly room?: string;
  /** Only files whose path contains this, against the tests whose path does, where there are some. */
  readonly file?: string;
  /** Only tests whose path contains this, where the file's own tests are others. */
  readonly tests?: string;
  /** Lines of each room that may be broken. */
  readonly lines?: number;
  /** How many runs of tests go side by side. */
  readonly workers?: number;
}
export const tiny: MutantOptions = { room: "work", file: "work/fair-share", lines: 12 };

/** Lines that are chosen together: enough for a statement that spans some. */
const CHUNK = 12;
const KEPT = join(ROOT, ".soak", "mutants");

interface Mutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly location: { readonly start: Place; readonly end: Place };
}
interface Place {
  readonly line: number;
  readonly column: number;
}
interface Survivor {
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  readonly was: string;
  readonly became: string;
  /** Which of the places in the file where this text stands, from one: lines move, this does not. */
  readonly nth: number;
}
type Equivalent = Omit<Survivor, "line"> & { readonly reason: string };

const sameness = ({ file, mutator, was, became, nth }: Omit<Survivor, "line">): string =>
  [file, mutator, was, became, nth].join("\0");

const filesOf = ({ mutate }: MutatedRoom, part: string): string[] => {
  const not = mutate.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1));
  const left = new Set(globSync([...not, "src/**/*.test.ts", "src/**/index.ts"], { cwd: ROOT }));
  return globSync(
    mutate.filter((glob) => !glob.startsWith("!")),
    { cwd: ROOT },
  )
    .filter((file) => !left.has(file) && file.includes(part))
    .sort();
};

/** Pieces of the files, drawn until there are enough lines. */
function draw(files: readonly string[], lines: number, random: Random): string[] {
  const pieces = files.flatMap((file) => {
    const length = readFileSync(join(ROOT, file), "utf8").split("\n").length;
    return Array.from({ length: Math.ceil(length / CHUNK) }, (_, i) => ({ file, from: i * CHUNK + 1 }));
  });
  return pieces
    .map((piece) => ({ piece, order: random.bits() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, Math.ceil(lines / CHUNK))
    .map(({ piece: { file, from } }) => `${file}:${from}-${from + CHUNK - 1}`)
    .sort();
}

/** Where a place is in the text; lines and columns count from one. */
const offsetOf = (lines: readonly string[], { line, column }: Place): number =>
  lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;

/** The text of a mutant, and which of the places where it stands this is. */
function textAt(source: string, { start, end }: Mutant["location"]): Pick<Survivor, "was" | "nth"> {
  const lines = source.split("\n");
  const [from, to] = [offsetOf(lines, start), offsetOf(lines, end)];
  const was = source.slice(from, to);
  let nth = 1;
  if (was !== "") for (let at = source.indexOf(was); at !== -1 && at < from; at = source.indexOf(was, at + 1)) nth += 1;
  return { was, nth };
}

interface StrykerRun {
  readonly mutate: readonly string[];
  readonly workers: number;
  /** Only files and tests whose path contains these. */
  readonly file: string;
  readonly tests: string;
}

async function stryker(room: MutatedRoom, { mutate, workers, file, tests: part }: StrykerRun): Promise<string> {
  const near = globSync([...room.tests], { cwd: ROOT }).filter((path) => part !== "" && path.includes(part));
  const tests = near.length > 0 ? near : room.tests;
  // What is kept of one file is its own: files may be looked at side by side.
  const name = file === "" ? room.name : `${room.name}-${file.replaceAll("/", "-")}`;
  const report = join(KEPT, `${name}.json`);
  const config = join(KEPT, `${name}.config.json`);
  const options = {
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    vitest: { configFile: "test/soak/mutants/vitest.config.ts", related: false },
    mutate,
    concurrency: workers,
    reporters: ["json", "progress-append-only"],
    jsonReporter: { fileName: report },
    incremental: true,
    incrementalFile: join(KEPT, `${name}.incremental.json`),
    tempDirName: join(KEPT, `sandbox-${name}`),
    ignorePatterns: ["dist", ".check", ".soak", ".bench", "coverage"],
    timeoutMS: 60_000,
    dryRunTimeoutMinutes: 30,
    allowConsoleColors: false,
  };
  writeFileSync(config, JSON.stringify(options, undefined, 2));
  const child = spawn(process.execPath, [scriptOf("stryker"), "run", config], {
    cwd: ROOT,
    env: { ...process.env, MUTANT_TESTS: tests.join(",") },
    stdio: ["ignore", process.stderr, process.stderr],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`Stryker ended with exit code ${code} in ${room.name}`);
  return report;
}

const FOUND = new Set(["Killed", "Timeout"]);
const MISSED = new Set(["Survived", "NoCoverage"]);

function judge(room: MutatedRoom, reportFile: string) {
  const { files } = JSON.parse(readFileSync(reportFile, "utf8")) as {
    files: Record<string, { source: string; mutants: Mutant[] }>;
  };
  const all = Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.map((mutant) => ({ file, source, mutant })),
  );
  const survivors = all
    .filter(({ mutant }) => MISSED.has(mutant.status))
    .map(
      ({ file, source, mutant: { location, mutatorName, replacement } }): Survivor => ({
        file,
        line: location.start.line,
        mutator: mutatorName,
        became: replacement ?? "",
        ...textAt(source, location),
      }),
    );
  const known = new Set((equivalents as readonly Equivalent[]).map(sameness));
  const real = survivors.filter((survivor) => !known.has(sameness(survivor)));
  const found = all.filter(({ mutant }) => FOUND.has(mutant.status)).length;
  const score = found + real.length === 0 ? 1 : found / (found + real.length);
  return {
    room: room.name,
    mutants: found + survivors.length,
    found,
    equivalent: survivors.length - real.length,
    missed: real.length,
    score: Math.round(score * 1_000) / 1_000,
    least: room.least,
    survivors: real,
  };
}

export async function run(options: MutantOptions = {}) {
  const { seed = 1, room, file = "", tests = file, lines = 300, workers = availableParallelism() } = options;
  const chosen = ROOMS.filter(({ name }) => room === undefined || name === room);
  if (chosen.length === 0)
    throw new Error(`there is no room '${room}'; there are: ${ROOMS.map(({ name }) => name).join(", ")}`);
  mkdirSync(KEPT, { recursive: true });
  const rooms = [];
  for (const each of chosen) {
    const mutate = draw(filesOf(each, file), lines, seededRandom(seed));
    rooms.push(judge(each, await stryker(each, { mutate, workers, file, tests })));
  }
  return { ok: rooms.every(({ score, least }) => score >= least), seed, rooms };
}

export const print = ({ rooms }: Awaited<ReturnType<typeof run>>): string =>
  rooms
    .flatMap(({ room, mutants, found, equivalent, missed, score, least, survivors }) => [
      `${room.padEnd(16)} ${found} of ${mutants} found, ${missed} missed, ${equivalent} mean the same: ${(100 * score).toFixed(1)} % (least ${100 * least} %)`,
      ...survivors.map(
        (it) => `  ${it.file}:${it.line} ${it.mutator}, place ${it.nth}: ${short(it.was)} -> ${short(it.became)}`,
      ),
    ])
    .join("\n");

const short = (text: string): string => JSON.stringify(text.length > 70 ? `${text.slice(0, 67)}...` : text);
