/**
 * Half an hour of the loop with random kills: of programs, workers, the main process and everything. In the last third the
 * main process is left alone and must hold still: flat memory, no leak of files, handles or processes, books that balance.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { assert, pick, seededRandom, systemClock } from "../../src/kernel/index.ts";
import { createArtifactCatalog } from "../../src/sync/index.ts";
import { processesWith } from "../e2e/parts/worker-world.ts";
import { CONFIG, LARGER, QUICK } from "../support/loop.ts";
import { readFolder, trainUnderKills, type Victim } from "../support/loop-kills.ts";
import { until } from "../support/patience.ts";
import { owned } from "../support/process.ts";

export interface LoopKillOptions {
  readonly minutes?: number;
  readonly seed?: number;
  readonly workers?: number;
  /** Longest wait before the next kill. */
  readonly wait_seconds?: number;
  /** Small rounds, and too short a time to say anything about growth: only that nothing is lost and nothing is left. */
  readonly only_books?: boolean;
}
export const tiny: LoopKillOptions = { minutes: 0.15, workers: 1, wait_seconds: 3, only_books: true };

interface Look {
  readonly at_seconds: number;
  readonly pid: number;
  readonly rss_mb: number;
  readonly handles: number;
  readonly processes: number;
}

/** What the main process may grow while it is left alone: its heap settles, it does not climb. */
const MAX_GROWTH = 1.25;
const SETTLING_SHARE = 0.4;
/** Refused results are kept for people, a hundred at most, each with its folder; beside them little may lie about. */
const MAX_LEFTOVERS = 320;
const MAX_HANDLES = 16;

const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

/** Waits for what still ends; those that do not. */
async function ended(dataDir: string): Promise<number[]> {
  const left = () => processesWith(dataDir);
  await until(
    () => left().length === 0,
    () => "some run",
  ).catch(() => undefined);
  return left();
}

const middle = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

export async function run(options: LoopKillOptions = {}) {
  const { minutes = 30, seed = 1, workers = 2, wait_seconds = 12, only_books = false } = options;
  const random = seededRandom(seed);
  const lengthMs = minutes * 60_000;
  const beganMs = performance.now();
  const elapsedMs = () => performance.now() - beganMs;
  const looks: Look[] = [];

  function* victims(): Generator<Victim> {
    while (elapsedMs() < lengthMs) {
      const calm: readonly Victim[] = ["program", "worker"];
      const cruel: readonly Victim[] = ["program", "program", "worker", "worker", "main", "everything"];
      const some = elapsedMs() > (2 / 3) * lengthMs ? calm : cruel;
      yield some[pick(random, some.length)]!;
    }
  }
  const look = ({ pid }: { pid: number }, dataDir: string) => {
    const rssKb = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
    looks.push({
      at_seconds: Math.round(elapsedMs() / 1_000),
      pid,
      rss_mb: Math.round(rssKb / 1_024),
      handles: readdirSync(`/proc/${pid}/fd`).length,
      processes: processesWith(dataDir).length,
    });
  };

  await using own = owned();
  const { dataDir, lives, kills, faults } = await trainUnderKills(own, {
    seed: seed + 1,
    plan: { ...(only_books ? QUICK : LARGER), most_iterations: undefined },
    args: ["train", "--headless", "--no-report", "--workers", String(workers)],
    victims: victims(),
    maxWaitMs: wait_seconds * 1_000,
    isEndless: true,
    look,
    log: (line) => void process.stderr.write(`${Math.round(elapsedMs() / 1_000)} s ${line}\n`),
  });
  // A guardian takes its time to end what its worker left behind.
  const left = await ended(dataDir);
  const { books, iterations, known } = readFolder(dataDir, (store) => ({
    books: createArtifactCatalog({ store: store as never, clock: systemClock() }).books(CONFIG)[0],
    iterations: store.read<{ n: number }>("SELECT max(iteration) AS n FROM pipeline_history")[0]!.n,
    known: new Set(store.read<{ sha256: string }>("SELECT sha256 FROM sync_artifacts").map(({ sha256 }) => sha256)),
  }));
  // A young process still grows into its size; what comes after that must not.
  const lastLife = looks.filter(({ pid }) => pid === looks.at(-1)!.pid);
  const quiet = lastLife.slice(Math.floor(lastLife.length * SETTLING_SHARE));
  const half = Math.ceil(quiet.length / 2);
  const halves = (of: (look: Look) => number) => ({
    first: middle(quiet.slice(0, half).map(of)),
    last: middle(quiet.slice(half).map(of)),
  });
  const rss = halves(({ rss_mb }) => rss_mb);
  const handles = halves((each) => each.handles);
  // What is kept on purpose has a limit of its own: the store of artifacts, the worker's cache of inputs, the log.
  const kept = ["artifacts", "logs", join("worker", "inputs")].map((name) => join(dataDir, name));
  const leftovers = filesIn(dataDir).filter((file) => !kept.some((folder) => file.startsWith(folder)));
  const artifacts = filesIn(join(dataDir, "artifacts"));
  const names = artifacts.map((file) => file.split("/").at(-1)!);
  const result = {
    minutes,
    lives,
    kills,
    iterations,
    produced: books?.produced ?? 0,
    rejected: books?.rejected_by_reason,
    main_rss_mb: rss,
    main_handles: handles,
    most_processes: Math.max(...looks.map(({ processes }) => processes)),
    artifacts: artifacts.length,
    artifacts_unknown: names.filter((name) => !known.has(name)).length,
    artifacts_mb: Math.round(artifacts.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6),
    inputs_of_the_worker: filesIn(join(dataDir, "worker", "inputs")).length,
    leftovers: leftovers.map((file) => file.slice(dataDir.length + 1)),
    looks,
  };
  process.stderr.write(`${JSON.stringify({ ...result, looks: undefined })}\n`);
  assert(faults.length === 0, faults.join("\n"));
  assert(left.length === 0, `processes are left: ${left.join(" ")}`);
  // Killed early enough, it has produced nothing that would have to balance.
  assert(books?.balanced ?? only_books, `the books do not balance: ${JSON.stringify(books)}`);
  if (only_books) return result;
  assert(iterations >= minutes / 2, `only ${iterations} iterations in ${minutes} minutes`);
  assert(rss.last <= rss.first * MAX_GROWTH, `the main process grew from ${rss.first} to ${rss.last} MB`);
  assert(leftovers.length <= MAX_LEFTOVERS, `files are left: ${leftovers.join(" ")}`);
  assert(handles.last <= handles.first + MAX_HANDLES, `handles grew from ${handles.first} to ${handles.last}`);
  return result;
}
