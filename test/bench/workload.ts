/**
 * What the workload protocol costs: a job on a child that stays and on a child of its own, beside the same work with
 * nothing around it; self-play of the built-in games through a child, beside the same games in this process; and what the
 * guardian costs, once for all children of a worker.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createIds, seededRandom, silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { encodeGames } from "../../src/workloads/arena/files/games-file.ts";
import { arenaDeclaration, createGame, encodeSamples } from "../../src/workloads/arena/index.ts";
import { shapeOf } from "../../src/workloads/arena/net/layout.ts";
import { createNetwork } from "../../src/workloads/arena/net/network.ts";
import { mixSeed } from "../../src/workloads/arena/numerics/samplers.ts";
import { DEFAULT_SELF_PLAY, selfPlay } from "../../src/workloads/arena/play/self-play.ts";
import { networkEvaluator } from "../../src/workloads/arena/search/evaluator.ts";
import { createSearch, DEFAULT_SEARCH } from "../../src/workloads/arena/search/puct.ts";
import { createGuardian, createRunner, type JobRequest, parseDeclaration } from "../../src/workloads/process/index.ts";
import { membersOf, processTable } from "../../src/workloads/process/process-table.ts";
import { MISBEHAVING, openBench } from "../unit/workloads/bench.ts";
import { type BenchOptions, sized } from "./support/frame.ts";
import { atMost, compare, cpuUs } from "./support/measure.ts";
import { computedUs } from "./support/process-time.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "the workload protocol: a job, a child, a guardian, and self-play beside the bare loop";

const CONFIG_KEY = "othello6_2p";

const memoryKb = (pid: number, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);

/**
 * Self-play of the same games: in this process, and through jobs on a resident child. Both write the same two files. The
 * cost is what this process and the child computed, so that others on the machine do not count.
 */
async function selfPlayCost(bench: ReturnType<typeof openBench>, games: number, rounds: number): Promise<Section> {
  const game = createGame(CONFIG_KEY);
  const network = createNetwork(shapeOf(game), seededRandom(1));
  const place = { folder: join(bench.folder, "arena"), inputFolders: [] };
  const runner = createRunner(arenaDeclaration(), place, bench.edges);
  const bare = join(bench.folder, "bare");
  mkdirSync(bare);
  const seeds = Array.from({ length: games }, (_, i) => mixSeed(7, i));
  const job = (): JobRequest =>
    bench.job({ config_key: CONFIG_KEY, seed: 7, parameters: { games, simulations: 48, network_seed: 1 } });
  await runner.warm();
  const measured = await compare(
    [
      {
        name: `${games} games as a task of the bare loop`,
        // As a worker thread of the bare loop does it: a search for each task.
        run() {
          const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 48 });
          const { samples, games: records } = selfPlay(game, search, DEFAULT_SELF_PLAY, seeds);
          writeFileSync(join(bare, "samples"), encodeSamples(samples).bytes, { flush: true });
          writeFileSync(join(bare, "games"), encodeGames(CONFIG_KEY, records).bytes, { flush: true });
        },
      },
      {
        name: `${games} games as a job on a resident child`,
        async run() {
          const outcome = await runner.runJob(job());
          if (outcome.status !== "completed") throw new Error(outcome.reason);
        },
      },
    ],
    1,
    rounds,
    () => cpuUs() + computedUs(runner.child?.pid),
  );
  await runner.close();
  const ratio = measured.costRatio(
    `${games} games as a job on a resident child`,
    `${games} games as a task of the bare loop`,
  );
  return {
    title: "Self-play, 48 simulations",
    measured: measured.contenders,
    goals: [atMost("cost of the job : cost of the same games bare", ratio, 1.1)],
    notes: {},
  };
}

/** A job that does next to nothing, on a child that stays, and on a child of its own beside a process by hand. */
async function jobCost(bench: ReturnType<typeof openBench>, jobs: number, rounds: number): Promise<Section[]> {
  const declaration = { command: process.execPath, args: [MISBEHAVING, "good"], kinds: ["selfplay"] };
  const make = (name: string, alone: boolean) =>
    createRunner(
      parseDeclaration({ ...declaration, one_child_per_job: alone }),
      { folder: join(bench.folder, name), inputFolders: [] },
      bench.edges,
    );
  const resident = make("resident", false);
  const alone = make("alone", true);
  const runOn = async (runner: typeof resident) => {
    const outcome = await runner.runJob(bench.job());
    if (outcome.status !== "completed") throw new Error(outcome.reason);
  };
  const stays = await compare(
    [
      {
        name: "a job with one small artifact, on a resident child",
        run: async (times) => {
          for (let i = 0; i < times; i += 1) await runOn(resident);
        },
      },
    ],
    jobs,
    rounds,
  );
  const children = await compare(
    [
      {
        name: "the same program as a process by hand: start, shutdown, end",
        run: async () => {
          const child = spawn(process.execPath, [MISBEHAVING, "good"], { stdio: ["pipe", "pipe", "inherit"] });
          await once(child.stdout, "data");
          child.stdin.end('{"type":"shutdown"}\n');
          await once(child, "exit");
        },
      },
      { name: "a job on a child of its own", run: () => runOn(alone) },
    ],
    1,
    rounds,
  );
  await resident.close();
  return [
    { title: "A job on a resident child", measured: stays.contenders, goals: [], notes: {} },
    {
      title: "A job on a child of its own",
      measured: children.contenders,
      goals: [],
      notes: {
        "times the process by hand": children.costRatio(
          "a job on a child of its own",
          "the same program as a process by hand: start, shutdown, end",
        ),
      },
    },
  ];
}

async function guardianCost(rounds: number): Promise<Section> {
  const ids = createIds(systemClock(), systemRandom());
  const starts: number[] = [];
  let memory = { rss: 0, own: 0 };
  for (let i = 0; i < rounds; i += 1) {
    const guardian = createGuardian({ ids, log: silentLog() });
    const from = performance.now();
    await guardian.watch(() => {});
    starts.push(performance.now() - from);
    memory = { rss: memoryKb(guardian.pid!, "VmRSS") / 1024, own: memoryKb(guardian.pid!, "RssAnon") / 1024 };
    await guardian.close();
  }
  const sweep = await compare(
    [
      {
        name: "a look at all processes, environments included",
        run: () => void membersOf(processTable()!, { pid: process.pid, cookie: "no such cookie" }, true),
      },
    ],
    1,
    50,
  );
  return {
    title: "The guardian, once for all children of a worker",
    measured: sweep.contenders,
    goals: [],
    notes: {
      "start to ready, best, ms": Math.min(...starts),
      "resident memory, MiB": memory.rss,
      "of which its own, MiB": memory.own,
      "processes on this machine": processTable()!.length,
    },
  };
}

export const tiny = { size: "tiny" } satisfies BenchOptions;

export async function run(options: BenchOptions = {}): Promise<{ readonly sections: readonly Section[] }> {
  const size = options.size ?? (options.quick ? "quick" : "full");
  const bench = openBench();
  try {
    return {
      sections: [
        await selfPlayCost(bench, sized(size, 200, 40, 1), sized(size, 9, 3, 1)),
        ...(await jobCost(bench, sized(size, 300, 50, 2), sized(size, 9, 3, 1))),
        await guardianCost(sized(size, 7, 3, 1)),
      ],
    };
  } finally {
    await bench.close();
  }
}

export const print = ({ sections }: { readonly sections: readonly Section[] }): string => printSections(sections);

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${print(await run({ quick: process.argv.includes("--quick") }))}\n`);
