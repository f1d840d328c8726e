/**
 * Files, exports and dependencies that nobody uses: knip over everything, and once more over what ships alone, because a file
 * that only its own test imports looks used in the first run.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { isProgram, ROOT, reportAndExit, scriptOf } from "./parts/root.ts";

export interface DeadCodeReport {
  readonly problems: readonly string[];
}

const runs = [[], ["--production", "--include", "files"]];

export function checkDeadCode(root: string, cache?: string): DeadCodeReport {
  const cached = cache === undefined ? [] : ["--cache", "--cache-location", cache];
  const problems = runs.flatMap((args) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [scriptOf("knip"), "--no-progress", "--reporter", "compact", ...args, ...cached],
      { cwd: root, encoding: "utf8", maxBuffer: 64 * 2 ** 20 },
    );
    const lines = `${stdout}${stderr}`.split("\n").filter((line) => line.trim() !== "");
    return status === 0 ? [] : lines;
  });
  return { problems };
}

if (isProgram(import.meta.url))
  await reportAndExit(() => {
    const { problems } = checkDeadCode(ROOT, join(ROOT, "node_modules", ".cache", "check", "knip"));
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    process.stdout.write(problems.length === 0 ? "nothing is dead\n" : `${problems.length} lines of problems\n`);
    return problems.length === 0 ? 0 : 1;
  });
