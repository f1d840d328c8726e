/** What it costs to type a command: beside the bare start of Node, from the sources and from the compiled program. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { owned } from "../support/process.ts";
import { atMost, type Goal } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "commands: help beside the bare start of Node, and answers of a running process";

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const median = (samples: readonly number[]) => [...samples].sort((a, b) => a - b)[samples.length >> 1]!;

/** Milliseconds of processor that all children so far have had. */
function childrenMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

const HELP = { "--version": 1.5, "--help": 3, "status --help": 3, "elo --help": 3 };
const ASKED = ["status", "why maintenance", "elo othello6_2p"];
const ANSWER_GOAL_MS = 200;

export const tiny = { rounds: 1 };

export async function run({ rounds = 15 } = {}): Promise<{ readonly sections: readonly Section[] }> {
  await using own = owned();
  const folder = own.folder();
  const main = own.startNode(fileOf("bin/ringrift.js"), ["up", "--port", "0", "--data-dir", folder]);
  await main.waitForLine(/^ready/);
  const programs = { sources: "bin/ringrift.js", compiled: "dist/app/cli.js" };
  const env = { ...process.env, NODE_COMPILE_CACHE: fileOf("node_modules/.cache/ringrift") };
  const cost = (args: readonly string[]) => {
    const start = () => spawnSync(process.execPath, args, { env });
    // The first one compiles.
    start();
    const before = childrenMs();
    const wall = Array.from({ length: rounds }, () => {
      const from = performance.now();
      start();
      return performance.now() - from;
    });
    return { cpu: (childrenMs() - before) / rounds, wall: median(wall) };
  };
  const sections = Object.entries(programs)
    .filter(([, program]) => existsSync(fileOf(program)))
    .map(([name, program]): Section => {
      const goals: Goal[] = [];
      const notes: Record<string, number> = {};
      for (const [line, times] of Object.entries(HELP)) {
        const bare = cost(["-e", "0"]);
        const ours = cost([fileOf(program), ...line.split(" ")]);
        goals.push(atMost(`${name}: ${line}, times the processor time of bare Node`, ours.cpu / bare.cpu, times));
        notes[`${line}: processor ms`] = ours.cpu;
      }
      for (const line of ASKED) {
        const { wall, cpu } = cost([fileOf(program), ...line.split(" "), "--data-dir", folder]);
        goals.push(atMost(`${name}: ${line}, median ms`, wall, ANSWER_GOAL_MS));
        notes[`${line}: processor ms`] = cpu;
      }
      return { title: `Commands, ${name}, ${rounds} times each`, measured: [], goals, notes };
    });
  await main.stop();
  return { sections };
}

export const print = ({ sections }: { readonly sections: readonly Section[] }): string => printSections(sections);
