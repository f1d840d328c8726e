/**
 * `ringrift train` under kill -9: of the program that does a job, of the worker, of the main process, of everything, at
 * moments that a seed decides. Whatever was killed is started again by whoever would do so: the worker by its main process,
 * the main process by the next life here.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { championHistory } from "../../src/pipeline/models/index.ts";
import type { Store } from "../../src/router/index.ts";
import { processesWith } from "../e2e/parts/worker-world.ts";
import { artifactPath, CONFIG, type planned, sha256Of } from "./loop.ts";
import type { Owned, Started } from "./process.ts";

export const VICTIMS = ["program", "worker", "main", "everything"] as const;
export type Victim = (typeof VICTIMS)[number];

export interface KillOptions {
  readonly seed: number;
  readonly plan: Parameters<typeof planned>[0];
  readonly args: readonly string[];
  /** Whom to kill, one after the other; when all are dead it is left to end by itself. */
  readonly victims: Iterable<Victim>;
  /** Longest wait before the next one. */
  readonly maxWaitMs: number;
  readonly log?: (line: string) => void;
  /** It would go on for ever: at the end it is told to stop. */
  readonly isEndless?: boolean;
  /** Before each kill, while all are alive; it may wait for a moment of its own. */
  readonly look?: (main: Started, dataDir: string, victim: Victim) => void | Promise<void>;
}

export interface Killed {
  readonly dataDir: string;
  readonly lives: number;
  readonly kills: Readonly<Record<Victim, number>>;
  readonly faults: readonly string[];
}

const ENV = {
  RINGRIFT_WORK_LEASE_SILENCE: "2",
  RINGRIFT_NODE_BEAT: "0.5",
  RINGRIFT_NODE_SUSPECT: "1.5",
  RINGRIFT_NODE_DEAD: "20",
  RINGRIFT_WORKER_BEAT_INTERVAL: "0.3",
  RINGRIFT_WORKER_CLAIM_WAIT: "1",
  RINGRIFT_JOB_GRACE_PERIOD: "1",
  RINGRIFT_PORT: "0",
};

/** What stands on disk, while nobody writes it. */
export function readFolder<T>(dataDir: string, look: (store: Pick<Store, "read">) => T): T {
  const db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true, timeout: 5_000 });
  try {
    return look({ read: <R>(sql: string, ...values: never[]) => db.prepare(sql).all(...values) as R[] });
  } finally {
    db.close();
  }
}

/** What is wrong with the champions on disk right now; they must be right at every moment. */
function championFaults(dataDir: string): string[] {
  return readFolder(dataDir, (store) => {
    const all = championHistory(store, CONFIG);
    const rounds = all.filter(({ cause }) => cause === "gate").map(({ iteration }) => iteration);
    const [now] = all;
    return [
      ...rounds.filter((round, i) => rounds.indexOf(round) !== i).map((round) => `round ${round} promoted twice`),
      ...(now === undefined || sha256Of(artifactPath(dataDir, now.model)) === now.model
        ? []
        : [`the file of champion ${now.model} is not whole`]),
    ];
  });
}

export async function trainUnderKills(own: Owned, options: KillOptions): Promise<Killed> {
  const { seed, plan, args, maxWaitMs, log = () => undefined } = options;
  const random = seededRandom(seed);
  const folder = own.folder();
  const dataDir = join(folder, ".ringrift");
  writeFileSync(join(folder, "ringrift.config.json"), JSON.stringify({ plans: { [CONFIG]: plan } }));
  const kills: Record<Victim, number> = { program: 0, worker: 0, main: 0, everything: 0 };
  const faults: string[] = [];
  let lives = 0;
  let main: Started | undefined;
  let isOver = false;

  const start = async () => {
    lives += 1;
    const started = own.startCli([...args], { cwd: folder, env: { ...ENV, RINGRIFT_DATA_DIR: dataDir } });
    void started.exited.then(({ code }) => {
      if (code === 0) isOver = true;
    });
    main = started;
    await started.waitForLine(/ready pid/);
  };
  const isWorker = (pid: number) => processesWith(`--under\0${main!.pid}`).includes(pid);
  const find: Record<Victim, () => number[]> = {
    program: () => processesWith(join(dataDir, "worker", "slots")).filter((pid) => pid !== main!.pid && !isWorker(pid)),
    worker: () => processesWith(dataDir).filter(isWorker),
    main: () => [main!.pid],
    everything: () => [...new Set([main!.pid, ...processesWith(dataDir)])],
  };
  const kill = async (victim: Victim) => {
    const found = find[victim]();
    const pids = victim === "program" && found.length > 0 ? [found[pick(random, found.length)]!] : found;
    for (const pid of pids)
      try {
        process.kill(pid, "SIGKILL");
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
      }
    if (pids.length > 0) kills[victim] += 1;
    log(`${victim}: ${pids.join(" ") || "nobody there"}`);
    if (victim !== "main" && victim !== "everything") return;
    await main!.exited;
    faults.push(...championFaults(dataDir));
    await start();
  };

  await start();
  for (const victim of options.victims) {
    const waiting = new AbortController();
    // Moments are drawn from the seed; a run that ends meanwhile has had all it needs.
    await Promise.race([wait(random.next() * maxWaitMs, undefined, { signal: waiting.signal }), main!.exited]).catch(
      () => undefined,
    );
    waiting.abort();
    if (isOver) break;
    await options.look?.(main!, dataDir, victim);
    await kill(victim);
  }
  const { code, signal } = await (options.isEndless === true ? main!.stop() : main!.exited);
  if (code !== 0) faults.push(`it ended with ${signal ?? code}: ${main!.lines.slice(-20).join("\n")}`);
  faults.push(...championFaults(dataDir));
  return { dataDir, lives, kills, faults };
}
