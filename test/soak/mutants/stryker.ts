/** Lets Stryker break the chosen lines of a room, one change at a time, and run the tests of the room on each. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../../src/kernel/index.ts";
import { ROOT, scriptOf } from "../../../tools/parts/root.ts";
import { KEPT } from "./report.ts";
import type { MutatedRoom } from "./rooms.ts";

/** Lines that are chosen together: enough for a statement that spans some. */
const CHUNK = 12;

/** Pieces of the files, drawn until there are enough lines. */
export function draw(files: readonly string[], lines: number, random: Random): string[] {
  const pieces = files.flatMap((file) => {
    const length = readFileSync(join(ROOT, file), "utf8").split("\n").length;
    return Array.from({ length: Math.ceil(length / CHUNK) }, (_, i) => ({ file, from: i * CHUNK + 1 }));
  });
  const wanted = Math.ceil(lines / CHUNK);
  if (wanted >= pieces.length) return [...files];
  return pieces
    .map((piece) => ({ piece, order: random.bits() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, wanted)
    .map(({ piece: { file, from } }) => `${file}:${from}-${from + CHUNK - 1}`)
    .sort();
}

export interface StrykerRun {
  readonly mutate: readonly string[];
  readonly workers: number;
  /** Only files and tests whose path contains these. */
  readonly file: string;
  readonly tests: string;
  /** Also what happens while a module is loaded: each such mutant takes every test of the room, on a thread of its own. */
  readonly atLoad: boolean;
}

export async function stryker(room: MutatedRoom, run: StrykerRun): Promise<void> {
  const { mutate, workers, file, tests: part, atLoad } = run;
  const near = globSync([...room.tests], { cwd: ROOT }).filter((path) => part !== "" && path.includes(part));
  const tests = near.length > 0 ? near : room.tests;
  const files = globSync([...tests], { cwd: ROOT }).length;
  // What is kept of one file is its own: what is found there is not lost when the rest is drawn anew.
  const name = file === "" ? room.name : `${room.name}-${file.replaceAll("/", "-")}`;
  const config = join(KEPT, `${name}.config.json`);
  const options = {
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner", join(ROOT, "test/soak/mutants/texts.ts")],
    ignorers: ["texts"],
    vitest: { configFile: "test/soak/mutants/vitest.config.ts", related: false },
    mutate,
    concurrency: workers,
    reporters: ["json", "progress-append-only"],
    jsonReporter: { fileName: join(KEPT, `${name}.report.json`) },
    incremental: true,
    incrementalFile: join(KEPT, `${name}.incremental.json`),
    tempDirName: join(KEPT, `sandbox-${name}`),
    ignorePatterns: ["dist", ".check", ".soak", ".bench", "coverage", ".ringrift"],
    ignoreStatic: !atLoad,
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 30,
    allowConsoleColors: false,
  };
  writeFileSync(config, JSON.stringify(options, undefined, 2));
  const child = spawn(process.execPath, [scriptOf("stryker"), "run", config], {
    cwd: ROOT,
    env: { ...process.env, MUTANT_TESTS: JSON.stringify(tests), MUTANT_TEST_FILES: String(files) },
    stdio: ["ignore", process.stderr, process.stderr],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`Stryker ended with exit code ${code} in ${room.name}`);
}
