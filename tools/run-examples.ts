/**
 * Runs every program in `examples/`, each with a data folder of its own, to its end.
 *
 * A file at the top of the folder is a program; a subfolder belongs to one of them and is started by it. An example that
 * needs a tool which is not here is told loudly, and is a failure in CI.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, extname, join } from "node:path";
import { OperatingError, ROOT, reportAndExit } from "./parts/root.ts";
import { runCommand } from "./parts/run-command.ts";

const TIMEOUT_MS = 120_000;
const RUNNERS: Readonly<Record<string, string>> = { ".ts": process.execPath, ".py": "python3" };

const isMissing = (program: string): boolean =>
  program !== process.execPath && spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined;

async function runExample(file: string, program: string, signal: AbortSignal): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-example-"));
  mkdirSync(join(folder, "data"));
  const bin = join(ROOT, "node_modules", ".bin");
  try {
    const { code, output, ended } = await runCommand({
      file: program,
      args: [join(ROOT, "examples", file)],
      cwd: folder,
      env: {
        ...process.env,
        PATH: [bin, process.env.PATH].join(delimiter),
        PYTHONPATH: join(ROOT, "clients", "python"),
        RINGRIFT_DATA_DIR: join(folder, "data"),
      },
      timeoutMs: TIMEOUT_MS,
      signal,
      logFile: join(folder, "output.log"),
    });
    if (code === 0 && ended === undefined) return true;
    process.stdout.write(`${output.trimEnd()}\n^^^^ examples/${file}: ${ended ?? `exit code ${code}`}\n`);
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runExamples(): Promise<number> {
  const folder = join(ROOT, "examples");
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => extname(file) in RUNNERS) : [];
  if (files.length === 0) throw new OperatingError("EXAMPLES_MISSING", "there is no program in examples/");
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupt.abort());
  const failed: string[] = [];
  const skipped: string[] = [];
  for (const file of files.sort()) {
    const program = RUNNERS[extname(file)]!;
    if (isMissing(program)) {
      process.stdout.write(`SKIPPED examples/${file}: it needs ${program}\n`);
      skipped.push(file);
    } else if (await runExample(file, program, interrupt.signal)) process.stdout.write(`ok examples/${file}\n`);
    else failed.push(file);
  }
  if (process.env.CI === "true") failed.push(...skipped);
  process.stdout.write(`${files.length} examples, ${failed.length} failed, ${skipped.length} skipped\n`);
  return failed.length === 0 ? 0 : 1;
}

await reportAndExit(runExamples);
