/** What it costs to type a command: beside the bare start of Node, in a checkout and in the installed package. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../tools/parts/bundle.ts";
import { childrenMs } from "../../tools/parts/children.ts";
import { owned } from "../support/process.ts";
import { atMost, type Goal } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "commands: help beside the bare start of Node, and answers of a running process";

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const median = (samples: readonly number[]) => [...samples].sort((a, b) => a - b)[samples.length >> 1]!;

const HELP = { "--version": 1.5, "--help": 3, "status --help": 3, "elo --help": 3 };
const CONFIG = "othello6_2p";
const ASKED = ["status", "why maintenance", `elo ${CONFIG}`];
/** What else an operator asks, all questions of the end-to-end test among them; told, without a goal of its own. */
const ASKED_TOO = [
  ...[
    "pipeline",
    `why ${CONFIG}`,
    "why",
    "ledger",
    "nodes",
    "nodes show {node}",
    "trace {games}",
    "queue",
    "queue stats",
  ],
  ...[
    "queue list --state failed",
    "queue failures",
    "queue next",
    "dlq",
    "alerts",
    "health",
    `pause ${CONFIG} --dry-run`,
  ],
  ...[
    "config show --origin",
    "config diff",
    "doctor",
    "handover --since 1h",
    "resources",
    "events stats",
    "events history",
  ],
];
/** `doctor` finds something to say of any machine. */
const MAY_REFUSE = /^(doctor|why|config diff)/;

/** One round in seconds, and no more: what is asked afterwards has something to answer, and nothing runs beside it. */
const PLAN = {
  most_iterations: 1,
  games_per_iteration: 32,
  games_per_job: 8,
  selfplay: { simulations: 16, wide: 16, narrow: 16, format: "npz" },
  training: { wide: 16, narrow: 16 },
  evaluation: { simulations: 12, opening_plies: 5 },
  least_rows: 100,
  gate: { batch_blocks: 10, most_blocks: 40 },
};
const ANSWER_GOAL_MS = 200;
const READY_GOAL_MS = 1_000;

export interface CliOptions {
  readonly rounds?: number;
  /** Of each kind of command at most so many. */
  readonly lines?: number;
}
export const tiny: CliOptions = { rounds: 1, lines: 1 };

/** The package as npm would install it: what is published, beside its dependencies. */
async function installInto(folder: string): Promise<string> {
  const modules = join(folder, "node_modules");
  const ours = join(modules, "ringrift-coordination");
  mkdirSync(join(ours, "bin"), { recursive: true });
  for (const path of ["package.json", "bin/ringrift.js", "docs/reference"])
    cpSync(fileOf(path), join(ours, path), { recursive: true });
  for (const name of readdirSync(fileOf("node_modules")))
    if (!name.startsWith(".")) symlinkSync(fileOf(`node_modules/${name}`), join(modules, name));
  await bundle(join(ours, "dist"));
  return join(ours, "bin", "ringrift.js");
}

export async function run({
  rounds = 15,
  lines = 100,
}: CliOptions = {}): Promise<{ readonly sections: readonly Section[] }> {
  await using own = owned();
  const folder = own.folder();
  const programs = { checkout: fileOf("bin/ringrift.js"), package: await installInto(own.folder()) };
  const plans = join(own.folder(), "ringrift.config.json");
  writeFileSync(plans, JSON.stringify({ plans: { [CONFIG]: PLAN } }));
  const start = (program: string, dataDir: string, ...more: readonly string[]) =>
    own.startNode(program, ["up", "--port", "0", "--data-dir", dataDir, ...more], {
      ...(more.length === 0 ? {} : { env: { RINGRIFT_LOOP_CONFIGS: CONFIG } }),
    });
  const readyMs = async (program: string): Promise<number> => {
    const from = performance.now();
    const main = start(program, own.folder());
    await main.waitForLine(/^ready/);
    const took = performance.now() - from;
    await main.stop();
    return took;
  };
  const here = ["--data-dir", folder, "--config", plans];
  const trained = own.startNode(programs.checkout, [
    "train",
    CONFIG,
    "--headless",
    "--no-report",
    "--port",
    "0",
    ...here,
  ]);
  if ((await trained.exited).code !== 0) throw new Error(`nothing was trained to ask about: ${trained.stderr()}`);
  const main = start(programs.checkout, folder, "--workers", "0", "--config", plans);
  await main.waitForLine(/^ready/);
  const answerTo = (...words: readonly string[]) =>
    JSON.parse(
      spawnSync(process.execPath, [programs.checkout, ...words, "--json", ...here], { encoding: "utf8" }).stdout,
    );
  const ids: Readonly<Record<string, string>> = {
    "{node}": answerTo("status").status.node_id,
    "{games}": answerTo("records", "list").segments[0].sha256,
  };
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const cost = (args: readonly string[], codes: readonly number[] = [0]) => {
    const start = () => spawnSync(process.execPath, args, { env });
    // The first one compiles, and shows that there is an answer: how soon something is refused nobody asks.
    const { status, stderr } = start();
    if (!codes.includes(status ?? -1)) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
    const before = childrenMs();
    const wall = Array.from({ length: rounds }, () => {
      const from = performance.now();
      start();
      return performance.now() - from;
    });
    return { cpu: (childrenMs() - before) / rounds, wall: median(wall) };
  };
  const sections: Section[] = [];
  for (const [name, program] of Object.entries(programs)) {
    const goals: Goal[] = [];
    const notes: Record<string, number> = {};
    for (const [line, times] of Object.entries(HELP).slice(0, lines)) {
      const bare = cost(["-e", "0"]);
      const ours = cost([program, ...line.split(" ")]);
      goals.push(atMost(`${name}: ${line}, times the processor time of bare Node`, ours.cpu / bare.cpu, times));
      notes[`${line}: processor ms`] = ours.cpu;
      // How fast the machine is just now: on a busy one all that follows takes as many times longer.
      notes["node -e 0: median ms"] = bare.wall;
    }
    for (const line of ASKED.slice(0, lines)) {
      const { wall, cpu } = cost([program, ...line.split(" "), ...here]);
      goals.push(atMost(`${name}: ${line}, median ms`, wall, ANSWER_GOAL_MS));
      notes[`${line}: processor ms`] = cpu;
    }
    for (const line of ASKED_TOO.slice(0, lines)) {
      const words = line.split(" ").map((word) => ids[word] ?? word);
      const { wall, cpu } = cost([program, ...words, ...here], MAY_REFUSE.test(line) ? [0, 1] : [0]);
      notes[`${line}: median ms`] = wall;
      notes[`${line}: processor ms`] = cpu;
    }
    const ready: number[] = [];
    for (let i = 0; i < rounds; i += 1) ready.push(await readyMs(program));
    goals.push(atMost(`${name}: up, from exec to ready, median ms`, median(ready), READY_GOAL_MS));
    sections.push({ title: `Commands, ${name}, ${rounds} times each`, measured: [], goals, notes });
  }
  await main.stop();
  return { sections };
}

export const print = ({ sections }: { readonly sections: readonly Section[] }): string => printSections(sections);
