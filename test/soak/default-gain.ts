/**
 * What `npm start` comes to in a given time, beside what a commit before came to in the same time: seeds in pairs, one run after the other on a machine
 * that is otherwise quiet, then the champions of each pair play each other apart from all gates. A seed is one observation. With a `folder` it is
 * kept after every run and every match, and goes on from there.
 *
 * `side_by_side` runs both of a pair at once, each on a processor of its own: half of the time for the same number of seeds, and what the machine does
 * meanwhile falls on both. They change processors from seed to seed.
 *
 * With `iterations` both sides do so many rounds instead of so many seconds, and the champions of each pair must be the same file: then what came since has
 * not changed what the default comes to, whatever it costs in time.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { evenMatch, playMatch } from "../../src/app/commands/experiment/play-match.ts";
import { workloadList } from "../../src/app/worker/workload-list.ts";
import { assert, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { championHistory } from "../../src/pipeline/models/index.ts";
import { drawBlocks, estimateElo, pairedDifference } from "../../src/pipeline/statistics/index.ts";
import { ROOT } from "../../tools/parts/root.ts";
import { CONFIG, QUICK } from "../support/loop.ts";
import { readFolder } from "../support/loop-kills.ts";
import { type Owned, owned } from "../support/process.ts";

/** Whether a program can be told which processor it runs on. */
function canPin(): boolean {
  return process.platform === "linux" && availableParallelism() > 1;
}

export const about = "what npm start comes to in five minutes, beside a commit before";

export interface DefaultGainOptions {
  /** A commit; `.` for the very sources of now, which shows how much runs differ by luck. */
  readonly before?: string;
  readonly seconds?: number;
  /** Rounds instead of a time: then both sides must come to the same champions. */
  readonly iterations?: number;
  readonly seeds?: number;
  readonly first_seed?: number;
  /** Blocks of each match. */
  readonly blocks?: number;
  /** Runs of this call, where it is made in pieces. */
  readonly runs?: number;
  /** Both of a pair at once, each on one processor. */
  readonly side_by_side?: boolean;
  readonly folder?: string;
  /** One round of a quick plan instead of a time, and no verdict. */
  readonly quick?: boolean;
}
export const tiny: DefaultGainOptions = { before: ".", seeds: 1, blocks: 2, quick: true, side_by_side: canPin() };

/** The lower end of the 95 % interval must lie above this; more is the goal. */
const LEAST_ELO = -30;
const GOAL_ELO = 100;
const ARMS = ["before", "now"] as const;

interface Book {
  readonly before: string;
  readonly seconds: number;
  readonly iterations: number;
  /** Whether each run had one processor instead of all. */
  readonly side_by_side?: boolean;
  /** Champions, promotions and load, by arm and seed. */
  readonly runs: { readonly [key: string]: { champion: string; promotions: number; load: number } };
  /** Elo of now over before, by seed. */
  readonly elo: { readonly [seed: string]: number };
}

/** The sources of a commit, with the packages of now and a bundle of their own. */
function sourcesOf(before: string, folder: string): string {
  if (before === ".") return ROOT;
  const place = join(folder, "sources");
  if (existsSync(join(place, "node_modules", ".ready"))) return place;
  rmSync(place, { recursive: true, force: true });
  execFileSync("git", ["clone", "-q", "--shared", "--no-checkout", ROOT, place]);
  execFileSync("git", ["-C", place, "checkout", "-q", "--detach", before]);
  const modules = join(place, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== ".cache") symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  execFileSync(process.execPath, [join(place, "tools", "program.ts"), "--or-sources"], { cwd: place });
  writeFileSync(join(modules, ".ready"), before);
  return place;
}

/** One run of `npm start` as a person would have it, and the champion that it ends with. */
async function train(
  own: Owned,
  sources: string,
  dataDir: string,
  seed: number,
  {
    seconds,
    iterations,
    quick: isQuick,
    processor,
  }: {
    readonly seconds: number;
    readonly iterations: number;
    readonly quick: boolean;
    readonly processor: number | undefined;
  },
  keep: string,
) {
  rmSync(dataDir, { recursive: true, force: true });
  const cwd = own.folder();
  const { seed: _seed, most_iterations: _most, ...quick } = QUICK;
  if (isQuick) writeFileSync(join(cwd, "ringrift.config.json"), JSON.stringify({ plans: { [CONFIG]: quick } }));
  const until = iterations > 0 ? ["--iterations", `${iterations}`] : ["--for", `${seconds}s`];
  const flags = ["--headless", "--no-report", "--port", "0", "--seed", `${seed}`, ...until];
  const args = ["train", CONFIG, ...flags, "--data-dir", dataDir];
  const pinned = { execPath: "taskset", execArgv: ["-c", `${processor}`, process.execPath] };
  const main = own.startNode(join(sources, "bin", "ringrift.js"), args, {
    cwd,
    ...(processor === undefined ? {} : pinned),
  });
  const load = loadavg()[0]!;
  const { code } = await main.exited;
  assert(code === 0, `it ended with ${code}: ${main.lines.slice(-20).join("\n")}`);
  const history = readFolder(dataDir, (store) => championHistory(store, CONFIG, 10_000));
  const champion = history[0]?.model;
  assert(champion !== undefined, `seed ${seed} has no champion`);
  copyFileSync(join(dataDir, "artifacts", champion.slice(0, 2), champion), join(keep, champion));
  rmSync(dataDir, { recursive: true, force: true });
  return { champion, promotions: history.filter(({ cause }) => cause === "gate").length, load };
}

export async function run(options: DefaultGainOptions = {}) {
  const { before = "HEAD~1", quick = false, seeds = 12, first_seed = 1, blocks = 400 } = options;
  const iterations = options.iterations ?? (quick ? 1 : 0);
  const seconds = iterations > 0 ? 0 : (options.seconds ?? 300);
  const { side_by_side = false } = options;
  assert(!side_by_side || canPin(), "side by side needs two processors, and taskset to keep each run on its own");
  await using own = owned();
  const folder = options.folder ?? own.folder();
  const models = join(folder, "models");
  mkdirSync(models, { recursive: true });
  const file = join(folder, "book.json");
  const none: Book = { before, seconds, iterations, side_by_side, runs: {}, elo: {} };
  let book: Book = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : none;
  assert(
    book.before === before &&
      book.seconds === seconds &&
      book.iterations === iterations &&
      (book.side_by_side ?? false) === side_by_side,
    `${folder} is of another comparison`,
  );
  const write = (next: Book) => {
    book = next;
    writeFileSync(file, JSON.stringify(book, undefined, 2));
  };
  const sources = { before: sourcesOf(before, folder), now: ROOT };
  const all = Array.from({ length: seeds }, (_, n) => first_seed + n);
  // Both arms of a seed one after the other, or at once: what the machine does by the hour falls on both.
  const open = all.flatMap((seed) =>
    ARMS.map((arm, n) => ({ arm, seed, key: `${arm}/${seed}`, processor: (seed + n) % 2 })),
  );
  const wanted = open.filter(({ key }) => book.runs[key] === undefined).slice(0, options.runs ?? open.length);
  for (let next = 0; next < wanted.length; ) {
    const { seed } = wanted[next]!;
    const together = side_by_side ? wanted.filter((each) => each.seed === seed) : [wanted[next]!];
    next += together.length;
    await Promise.all(
      together.map(async ({ arm, key, processor }) => {
        const given = { seconds, iterations, quick, processor: side_by_side ? processor : undefined };
        const made = await train(own, sources[arm], join(folder, `data-${arm}`), seed, given, models);
        write({ ...book, runs: { ...book.runs, [key]: made } });
        process.stderr.write(`${key}: ${JSON.stringify(made)}\n`);
      }),
    );
  }
  const world = {
    ...{ clock: systemClock(), random: systemRandom(), env: process.env, signal: new AbortController().signal },
    ...{ workloads: workloadList(undefined, 1), workers: 2 },
  };
  const match = {
    name: "default-gain",
    config_key: CONFIG as `${string}_2p`,
    match: { blocks, parameters: { simulations: 48, opening_plies: 8 } },
  };
  for (const seed of all) {
    const [old, now] = ARMS.map((arm) => book.runs[`${arm}/${seed}`]?.champion);
    if (old === undefined || now === undefined || book.elo[seed] !== undefined) continue;
    const side = (sha256: string) => ({ sha256, path: join(models, sha256) });
    const sides = { candidate: side(now), opponent: side(old) };
    const isSame = old === now;
    const { counts } = isSame ? evenMatch(blocks, 2) : await playMatch(match, seed, 2, sides, world);
    const elo = isSame ? 0 : estimateElo(counts, drawBlocks(2)).elo.estimate;
    write({ ...book, elo: { ...book.elo, [seed]: elo } });
  }
  const measured = Object.values(book.elo);
  const difference = measured.length < 2 ? null : pairedDifference(measured);
  const isWhole = measured.length === seeds;
  const different = all.filter((seed) => {
    const [old, now] = ARMS.map((arm) => book.runs[`${arm}/${seed}`]?.champion);
    return old !== undefined && now !== undefined && old !== now;
  });
  return {
    ok: iterations > 0 ? different.length === 0 : !isWhole || difference!.low > LEAST_ELO,
    whole: isWhole,
    ...(iterations > 0 && { different }),
    goals: isWhole && iterations === 0 ? [{ what: `${GOAL_ELO} Elo more`, met: difference!.estimate >= GOAL_ELO }] : [],
    difference,
    ...book,
  };
}
