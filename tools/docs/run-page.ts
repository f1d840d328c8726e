import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../parts/root.ts";
import { runCommand } from "../parts/run-command.ts";
import { type Background, startBackground } from "./background.ts";
import type { Block } from "./blocks.ts";
import type { Workshop } from "./workshop.ts";

export interface Limits {
  readonly blockMs: number;
  readonly readyMs: number;
  readonly endMs: number;
}

export interface PageResult {
  readonly ran: number;
  readonly problems: readonly string[];
  readonly skipped: readonly string[];
}

const OUTPUT_LINES = 60;

/** Where the block's program is written; its name tells the line, so that a compiler's message can be led back. */
export const programOf = (workshop: Workshop, block: Block): string => join(workshop.work, `line-${block.line}.ts`);

/** A block as a script. What one exports, and where it goes, is there for the next, as in a reader's terminal. */
function scriptOf(workshop: Workshop, block: Block): string {
  const [state, place] = [join(workshop.folder, "exported"), join(workshop.folder, "place")];
  const script = join(workshop.folder, `line-${block.line}.sh`);
  const code = block.code
    .replaceAll(/^\$ /gm, "")
    .replaceAll(/\b(127\.0\.0\.1|localhost):8770\b/g, `$1:${workshop.env.RINGRIFT_PORT}`);
  const stay = block.repository || block.background;
  writeFileSync(
    script,
    [
      "set -e",
      `if [ -f '${state}' ]; then . '${state}'; fi`,
      block.repository ? `cd '${ROOT}'` : `if [ -f '${place}' ]; then cd "$(cat '${place}')"; fi`,
      code,
      ...(stay ? [] : [`export -p > '${state}'`, `pwd > '${place}'`]),
    ].join("\n"),
  );
  return script;
}

/** Runs the marked blocks of a page in order. A block that fails ends the page: what follows builds on it. */
export async function runPage(
  name: string,
  blocks: readonly Block[],
  workshop: Workshop,
  limits: Limits,
  signal: AbortSignal,
): Promise<PageResult> {
  const problems: string[] = [];
  const skipped: string[] = [];
  const started: { block: Block; background: Background }[] = [];
  const tell = (block: Block, what: string, output: string) => {
    const lines = output.trimEnd().split("\n").slice(-OUTPUT_LINES);
    problems.push([`${name}:${block.line}: ${what}`, ...lines.map((line) => `    ${line}`)].join("\n"));
  };
  let ran = 0;
  for (const block of blocks) {
    if (!block.run || block.problem !== undefined) continue;
    if (block.needs !== undefined && spawnSync(block.needs, ["--version"], { stdio: "ignore" }).error !== undefined) {
      skipped.push(`${name}:${block.line}: it needs ${block.needs}`);
      continue;
    }
    ran += 1;
    const place = { cwd: workshop.work, env: workshop.env };
    if (block.background) {
      const background = startBackground("sh", [scriptOf(workshop, block)], { ...place, ...limits });
      started.push({ block, background });
      const wrong = await background.ready;
      if (wrong === undefined) continue;
      tell(block, wrong, background.output());
      break;
    }
    const program = block.language === "ts" ? process.execPath : "sh";
    const file = block.language === "ts" ? programOf(workshop, block) : scriptOf(workshop, block);
    const logFile = join(workshop.folder, `line-${block.line}.log`);
    const { code, output, ended } = await runCommand({
      ...{ file: program, args: [file], ...place, timeoutMs: limits.blockMs, signal, logFile },
    });
    if (ended !== undefined) tell(block, `${ended} after ${limits.blockMs / 1_000} s`, output);
    else if (block.fails && code === 0) tell(block, "it should fail, and did not", output);
    else if (!block.fails && code !== 0) tell(block, `exit code ${code}`, output);
    else continue;
    break;
  }
  for (const { block, background } of started.reverse()) {
    const wrong = await background.end();
    if (wrong !== undefined) tell(block, wrong, background.output());
  }
  return { ran, problems, skipped };
}
