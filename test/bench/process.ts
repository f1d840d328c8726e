/**
 * The main process as a whole: from exec to ready and from SIGTERM to gone, beside the bare start of Node, from the sources
 * and from the compiled program; and what it costs while nothing happens.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { owned } from "../support/process.ts";

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

export async function run(options: { rounds?: number; idle_seconds?: number } = {}) {
  const { rounds = 9, idle_seconds = 60 } = options;
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
  // What a start leaves behind (compiled code, a first look at everything) is not the cost of being idle.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const before = costOf(main.pid);
  await new Promise((resolve) => setTimeout(resolve, idle_seconds * 1_000));
  const after = costOf(main.pid);
  await main.stop();

  const bareMs = median(bare);
  return {
    bare_node_ms: bareMs,
    ...Object.fromEntries(
      Object.entries(lives).map(([name, list]) => {
        const readyMs = median(list.map((life) => life.readyMs));
        const stopMs = median(list.map((life) => life.stopMs));
        return [name, { ready_ms: readyMs, stop_ms: stopMs, ready_to_bare_node: readyMs / bareMs }];
      }),
    ),
    goal_ms: 1_000,
    idle: {
      seconds: idle_seconds,
      cpu_percent_of_a_core: ((after.cpuSeconds - before.cpuSeconds) / idle_seconds) * 100,
      goal_percent: 1,
      rss_mib: Math.round(after.rssMib),
    },
  };
}
