/**
 * The main process as a whole: from exec to ready and from SIGTERM to gone, beside the bare start of Node, from the sources
 * and from the compiled program; and what it costs while nothing happens.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { owned } from "../support/process.ts";
import { atMost } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "exec to ready, SIGTERM to gone, and the cost of an idle main process";

const root = new URL("../../", import.meta.url);
const median = (samples: readonly number[]) => Math.round([...samples].sort((a, b) => a - b)[samples.length >> 1]!);

/** Milliseconds from the start of a Node that does nothing to its end. */
const bareNode = (): Promise<number> => {
  const from = performance.now();
  return new Promise((resolve) =>
    spawn(process.execPath, ["-e", ""]).once("exit", () => resolve(performance.now() - from)),
  );
};

const READY_GOAL_MS = 1_000;
const IDLE_GOAL_PERCENT = 1;

export interface ProcessOptions {
  readonly rounds?: number;
  readonly idle_seconds?: number;
  /** Until what a start leaves behind (compiled code, a first look at everything) has settled: it is not the cost of being idle. */
  readonly settle_seconds?: number;
}
export const tiny: ProcessOptions = { rounds: 1, idle_seconds: 0.5, settle_seconds: 0 };

interface Life {
  readonly readyMs: number;
  readonly stopMs: number;
}

/** What the kernel has counted for a process: seconds of CPU, and memory in MiB. */
function costOf(pid: number): { cpuSeconds: number; rssMib: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1];
  return { cpuSeconds: ticks / 100, rssMib: Number(rss) / 1_024 };
}

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

export async function run(options: ProcessOptions = {}): Promise<{ readonly sections: readonly Section[] }> {
  const { rounds = 9, idle_seconds = 60, settle_seconds = 10 } = options;
  await using own = owned();
  const programs = {
    sources: fileURLToPath(new URL("src/app/cli.ts", root)),
    compiled: fileURLToPath(new URL("dist/app/cli.js", root)),
  };
  const start = (program: string) =>
    own.startNode(program, ["up", "--port", "0", "--data-dir", own.folder()], {
      env: { RINGRIFT_PROFILE: "coordinator" },
    });

  const live = async (program: string): Promise<Life> => {
    const from = performance.now();
    const main = start(program);
    await main.waitForLine(/^ready/);
    const readyMs = performance.now() - from;
    const told = performance.now();
    await main.stop();
    return { readyMs, stopMs: performance.now() - told };
  };

  const bare: number[] = [];
  const lives: Record<string, Life[]> = {};
  for (const [name, program] of Object.entries(programs)) if (existsSync(program)) lives[name] = [];
  for (let i = 0; i < rounds; i += 1) {
    bare.push(await bareNode());
    for (const [name, list] of Object.entries(lives)) list.push(await live(programs[name as keyof typeof programs]));
  }

  const main = start(programs.sources);
  await main.waitForLine(/^ready/);
  await wait(settle_seconds);
  const before = costOf(main.pid);
  await wait(idle_seconds);
  const after = costOf(main.pid);
  await main.stop();

  const bareMs = median(bare);
  const starts = Object.entries(lives).map(([name, list]): Section => {
    const readyMs = median(list.map((life) => life.readyMs));
    return {
      title: `The main process, ${name}, ${rounds} lives`,
      measured: [],
      goals: [atMost(`${name}: exec to ready, median ms`, readyMs, READY_GOAL_MS)],
      notes: {
        "times the bare start of Node": readyMs / bareMs,
        "SIGTERM to gone, median ms": median(list.map((life) => life.stopMs)),
      },
    };
  });
  const percent = ((after.cpuSeconds - before.cpuSeconds) / idle_seconds) * 100;
  const idle: Section = {
    title: `The main process, idle for ${idle_seconds} s`,
    measured: [],
    goals: [atMost("idle: percent of a core", percent, IDLE_GOAL_PERCENT)],
    notes: { "resident memory, MiB": after.rssMib, "bare start and end of Node, median ms": bareMs },
  };
  return { sections: [...starts, idle] };
}

export const print = ({ sections }: { readonly sections: readonly Section[] }): string => printSections(sections);
