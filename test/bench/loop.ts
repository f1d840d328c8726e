/**
 * The closed loop through the whole system beside the bare loop, on the same cores in one run: the same games a round, the
 * same search, the same samples a row, gates of the same length. The two take turns, so that a busy machine slows both.
 *
 * Both begin with rounds that do not count: until then the machine is still compiling what it runs, and a loop runs for
 * hours. Every gate ends at its first look with a promotion, so that both do the same work. What the system does besides (checks of
 * games, hold-out, ratings, watching champions, files and books) is part of what is measured: the table says where it goes.
 */
import { availableParallelism, loadavg } from "node:os";
import { STAGES, type Stage } from "../../src/pipeline/stage/index.ts";
import { stageHistory } from "../../src/pipeline/tables.ts";
import { createGame, DEFAULT_CONFIG_KEY, DEFAULT_LOOP } from "../../src/workloads/arena/index.ts";
import { processesWith } from "../e2e/parts/worker-world.ts";
import { bareLoop, type RoundReport } from "../support/bare-loop/bare-loop.ts";
import { createPool } from "../support/bare-loop/pool.ts";
import { planned, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";
import { atLeast, cpuUs } from "./support/measure.ts";
import { computedUs } from "./support/process-time.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "games and trained samples a second through the whole system, beside the bare loop";

const KEY = DEFAULT_CONFIG_KEY;
const LEAST_RATIO = 0.8;
const LOOK_EVERY_MS = 250;

export interface LoopBenchOptions {
  readonly rounds?: number;
  readonly turns?: number;
  readonly workers?: number;
  /** Rounds at the beginning that do not count. */
  readonly warm_rounds?: number;
  /** Games of a round, and blocks of a gate. */
  readonly games?: number;
  readonly gate_blocks?: number;
}
export const tiny: LoopBenchOptions = { rounds: 1, turns: 1, warm_rounds: 1, games: 16, gate_blocks: 4 };

interface Size {
  readonly rounds: number;
  readonly workers: number;
  readonly warm: number;
  readonly games: number;
  readonly gateBlocks: number;
}

interface Spent {
  seconds: number;
  games: number;
  samples: number;
}
const nothing = (): Spent => ({ seconds: 0, games: 0, samples: 0 });
const add = (a: Spent, b: Spent): Spent => ({
  seconds: a.seconds + b.seconds,
  games: a.games + b.games,
  samples: a.samples + b.samples,
});

interface Turn extends Spent {
  /** Seconds, by what they went into. */
  readonly parts: Readonly<Record<string, number>>;
}

async function bareTurn({ rounds, workers, warm, games, gateBlocks }: Size, seed: number): Promise<Turn> {
  const game = createGame(KEY);
  const pool = createPool(KEY, workers);
  try {
    const plan = { ...DEFAULT_LOOP, seed, gamesPerRound: games, gateBatchBlocks: gateBlocks };
    let before = 0;
    const { rounds: all } = await bareLoop(game, plan, {
      ...edges(pool, warm + rounds),
      onRound({ round }) {
        if (round === warm) before = cpuUs();
      },
    });
    const lastWarm = all[warm - 1]!;
    const [counted, last] = [all.slice(warm), all.at(-1)!];
    const sum = (of: (round: RoundReport) => number) => counted.reduce((total, round) => total + of(round), 0) / 1_000;
    return {
      seconds: (last.elapsedMs - lastWarm.elapsedMs) / 1_000,
      games: rounds * games,
      samples: (last.rows - lastWarm.rows) * DEFAULT_LOOP.samplesPerRow,
      parts: {
        "bare: self-play": sum(({ selfPlayMs }) => selfPlayMs),
        "bare: training": sum(({ trainMs }) => trainMs),
        "bare: gates": sum(({ gateMs }) => gateMs),
        "bare: computed, all threads": (cpuUs() - before) / 1e6,
      },
    };
  } finally {
    await pool.close();
  }
}

const edges = (pool: ReturnType<typeof createPool>, rounds: number) => ({
  pool,
  gate: () => "promote" as const,
  nowMs: () => performance.now(),
  stop: (done: number) => done >= rounds,
});

/** Seconds of a span in which no job was held by anybody. */
function idleSeconds(jobs: readonly { from: number; to: number }[], begin: number, end: number): number {
  let busyUntil = begin;
  let idle = 0;
  for (const { from, to } of jobs.toSorted((a, b) => a.from - b.from)) {
    if (from > busyUntil) idle += Math.min(from, end) - busyUntil;
    busyUntil = Math.min(end, Math.max(busyUntil, to));
  }
  return (idle + Math.max(0, end - busyUntil)) / 1_000;
}

interface Held {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly by: string;
  readonly name: string;
}

/** Every gate ends at its first look: jobs of later batches were put out ahead, and counted for nothing. */
const isOfFirstLook = (name: string): boolean => /:b0p\d+$/.test(name);

async function systemTurn({ rounds, workers, warm, games, gateBlocks }: Size, seed: number): Promise<Turn> {
  await using own = owned();
  const plans = planned(
    {
      seed,
      most_iterations: warm + rounds,
      games_per_iteration: games,
      // The worst that a candidate could be is good enough.
      gate: { elo0: -2_000, elo1: -1_000, least_elo1: -1_000, batch_blocks: gateBlocks },
    },
    [KEY],
  );
  const loop = await startLoop(own, { plans, slots: workers, lookEveryMs: LOOK_EVERY_MS });
  try {
    await loop.until(({ iteration }) => iteration > warm, KEY);
    const mainBefore = cpuUs();
    // The worker alone carries the word; the rest are its programs and their guardian.
    const worker = new Set(processesWith(`--under\0${process.pid}`));
    const computed = (isWorker: boolean) =>
      processesWith(loop.dataDir).reduce((sum, pid) => sum + (worker.has(pid) === isWorker ? computedUs(pid) : 0), 0);
    const before = { worker: computed(true), programs: computed(false) };
    await loop.complete(KEY);
    const main = (cpuUs() - mainBefore) / 1e6;
    const work = (computed(true) - before.worker) / 1e6;
    const programs = (computed(false) - before.programs) / 1e6;
    const { store } = loop.main.router;
    const history = stageHistory(store, { configKey: KEY, limit: 10_000 }).filter(({ iteration }) => iteration > warm);
    const begin = Math.min(...history.map(({ since }) => since));
    const end = Math.max(...history.map(({ ended_at }) => ended_at));
    const inStage = (stage: Stage) =>
      history.reduce((sum, each) => sum + (each.stage === stage ? each.ended_at - each.since : 0), 0) / 1_000;
    const held = store.read<Held>(
      `SELECT claimed_at AS "from", finished_at AS "to", work_type AS kind, requested_by AS "by", dedup_key AS name
       FROM work_jobs JOIN work_lanes USING (lane) WHERE claimed_at >= ? AND finished_at IS NOT NULL`,
      begin,
    );
    const heldSeconds = (of: (job: Held) => boolean) =>
      held.reduce((sum, job) => sum + (of(job) ? job.to - job.from : 0), 0) / 1_000;
    const stageSeconds = STAGES.map((stage) => [stage, inStage(stage)] as const);
    const seconds = (end - begin) / 1_000;
    const rows = history.reduce(
      (sum, { stage, evidence }) => sum + (stage === "selfplay" ? Number(evidence.rows) : 0),
      0,
    );
    return {
      seconds,
      games: rounds * games,
      samples: rows * DEFAULT_LOOP.samplesPerRow,
      parts: {
        ...Object.fromEntries(stageSeconds.map(([stage, took]) => [`system: stage ${stage}`, took])),
        "system: between stages": seconds - stageSeconds.reduce((sum, [, took]) => sum + took, 0),
        "system: no job was held by anybody": idleSeconds(held, begin, end),
        "system: jobs held, self-play": heldSeconds(({ kind }) => kind === "selfplay"),
        "system: jobs held, checks of games": heldSeconds(({ kind }) => kind === "validation"),
        "system: jobs held, exports": heldSeconds(({ kind }) => kind === "export"),
        "system: jobs held, training": heldSeconds(({ kind }) => kind === "training"),
        "system: jobs held, gates": heldSeconds(({ by, name }) => by === "evaluation_daemon" && isOfFirstLook(name)),
        "system: jobs held, gates beyond their verdict": heldSeconds(
          ({ by, name }) => by === "evaluation_daemon" && !isOfFirstLook(name),
        ),
        "system: jobs held, ratings": heldSeconds(({ by }) => by === "elo_service"),
        "system: jobs held, watching champions": heldSeconds(({ by }) => by === "model_performance_watchdog"),
        "system: computed by the main process": main,
        "system: computed by the worker": work,
        "system: computed by the programs": programs,
      },
    };
  } finally {
    await loop.end();
  }
}

const addParts = (turns: readonly Turn[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const { parts } of turns)
    for (const [name, took] of Object.entries(parts)) sums[`${name} (s)`] = (sums[`${name} (s)`] ?? 0) + took;
  return sums;
};

export async function run(options: LoopBenchOptions = {}): Promise<{ readonly sections: readonly Section[] }> {
  const { rounds = 4, turns = 3, workers = Math.min(2, availableParallelism()), warm_rounds: warm = 3 } = options;
  const { games: gamesPerRound = DEFAULT_LOOP.gamesPerRound, gate_blocks: gateBlocks = 40 } = options;
  const size: Size = { rounds, workers, warm, games: gamesPerRound, gateBlocks };
  const bare: Turn[] = [];
  const system: Turn[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    bare.push(await bareTurn(size, turn));
    system.push(await systemTurn(size, turn));
  }
  const [ours, theirs] = [system.reduce(add, nothing()), bare.reduce(add, nothing())];
  const rate = ({ seconds }: Spent, count: number) => count / seconds;
  const games = rate(ours, ours.games) / rate(theirs, theirs.games);
  const samples = rate(ours, ours.samples) / rate(theirs, theirs.samples);
  const spent = addParts([...bare, ...system]);
  const computed = (of: string) =>
    Object.entries(spent).reduce((sum, [name, took]) => sum + (name.startsWith(`${of}: computed`) ? took : 0), 0);
  const sections: Section[] = [
    {
      title: `${KEY}, ${workers} workers, ${turns} turns of ${rounds} rounds each`,
      measured: [],
      notes: {
        "bare: games a second": rate(theirs, theirs.games),
        "system: games a second": rate(ours, ours.games),
        "bare: trained samples a second": rate(theirs, theirs.samples),
        "system: trained samples a second": rate(ours, ours.samples),
        "bare: all of it (s)": theirs.seconds,
        "system: all of it (s)": ours.seconds,
        // On a machine where others compute too, this says more than the clock does.
        "bare: computed, a round (s)": computed("bare") / (rounds * turns),
        "system: computed, a round (s)": computed("system") / (rounds * turns),
        "load average at the end": loadavg()[0]!,
      },
      goals: [
        atLeast("games a second, system to bare", games, LEAST_RATIO),
        atLeast("trained samples a second, system to bare", samples, LEAST_RATIO),
      ],
    },
    { title: "Where the time goes", measured: [], notes: spent, goals: [] },
  ];
  return { sections };
}

export const print = ({ sections }: { readonly sections: readonly Section[] }): string => printSections(sections);
