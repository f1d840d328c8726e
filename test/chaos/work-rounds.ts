/**
 * Eight workers, most of them nodes that joined over TLS and signed every word, some behind a line that fails, and one that
 * throws things at all of them: kill -9, SIGSTOP beyond the lease and SIGCONT, SIGTERM, cut lines, a main process that is
 * killed. In the end the books are read.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { type MainProcess, mainProcess, processesWith } from "../e2e/parts/worker-world.ts";
import { selfSigned } from "../support/certificate.ts";
import { COMPILE_CACHE } from "../support/compiled.ts";
import { PATIENT, patience, until } from "../support/patience.ts";
import { freePort, type Owned, type Started } from "../support/process.ts";
import { FAULTS, type FaultProxy, faultProxy } from "./parts/fault-proxy.ts";
import { JOB_BOOKS, type JobBook, jobFaults } from "./parts/job-books.ts";

const PROGRAM = fileURLToPath(new URL("./parts/plain-workload.mjs", import.meta.url));
const SILENCE_SECONDS = 3;

export interface WorkRoundsOptions {
  readonly seed: number;
  readonly rounds: number;
  /** On children that stay. */
  readonly smallJobs: number;
  /** The longest of them takes so long; waiting costs no processor. */
  readonly smallMs?: number;
  /** With a child each, and a file that is brought home. */
  readonly childJobs: number;
  readonly workers: number;
  /** Whether the main process is killed as well, now and then. */
  readonly killMain: boolean;
  readonly log?: (line: string) => void;
}

export interface WorkBooks {
  readonly jobs: number;
  readonly acts: Readonly<Record<string, number>>;
  readonly suffered: Readonly<Record<string, number>>;
  /** Claims beyond one for each job, attempts beyond one, and results that were refused as stale. */
  readonly repeatedClaims: number;
  readonly spentAttempts: number;
  readonly refusedResults: number;
  /** Results that came after the end of their lease and counted. */
  readonly lateResults: number;
  readonly faults: readonly string[];
}

interface Hand {
  readonly name: string;
  readonly folder: string;
  readonly dataDir: string;
  readonly args: readonly string[];
  process: Started | undefined;
}

const SETTINGS = {
  RINGRIFT_WORK_LEASE_SILENCE: String(SILENCE_SECONDS),
  RINGRIFT_NODE_BEAT: "1",
  RINGRIFT_NODE_SUSPECT: "3",
  RINGRIFT_NODE_DEAD: "20",
  RINGRIFT_RATE_FACTOR: "100",
};
const WORKER = {
  RINGRIFT_WORKER_BEAT_INTERVAL: "0.5",
  RINGRIFT_WORKER_CLAIM_WAIT: "2",
  RINGRIFT_JOB_GRACE_PERIOD: "2",
  RINGRIFT_WORKER_DISK_RESERVE_GB: "0",
  RINGRIFT_LOG_LEVEL: "INFO",
};

function declare(folder: string): void {
  const program = { command: process.execPath, args: [PROGRAM], env_allow: [COMPILE_CACHE] };
  writeFileSync(
    join(folder, "ringrift.config.json"),
    JSON.stringify({
      workloads: {
        arena: { ...program, kinds: ["evaluation"] },
        each: { ...program, kinds: ["selfplay"], one_child_per_job: true },
      },
    }),
  );
}

const logOf = (dataDir: string): string =>
  ["worker.log", "ringrift.log"]
    .map((name) => {
      try {
        return readFileSync(join(dataDir, "logs", name), "utf8");
      } catch {
        return "";
      }
    })
    .join("");

/** Everything that stands around the workers. */
async function setUp(own: Owned, options: WorkRoundsOptions) {
  const certificate = selfSigned(own.folder());
  const port = await freePort();
  const main = mainProcess(own, {
    ...SETTINGS,
    ...WORKER,
    RINGRIFT_PORT: String(port),
    RINGRIFT_LOG_LEVEL: "WARN",
    ...(certificate === undefined
      ? {}
      : { RINGRIFT_TLS_CERT_FILE: certificate.cert, RINGRIFT_TLS_KEY_FILE: certificate.key }),
  });
  declare(main.folder);
  await main.start(["--workers", "1"]);
  const tls =
    certificate === undefined
      ? {}
      : { tls: { cert: readFileSync(certificate.cert, "utf8"), key: readFileSync(certificate.key, "utf8") } };
  const proxy = await faultProxy({ target: port, random: seededRandom(options.seed + 1), ...tls });
  const token = await main.token();
  const scheme = certificate === undefined ? "http" : "https";
  const hands: Hand[] = [];
  for (let i = 1; i < options.workers; i += 1) {
    const folder = own.folder();
    declare(folder);
    const isDirect = i % 2 === 1;
    const trust =
      certificate === undefined
        ? []
        : isDirect
          ? ["--ca", certificate.cert]
          : ["--fingerprint", fingerprintOf(certificate.cert)];
    const address = isDirect ? `${scheme}://localhost:${port}` : `${scheme}://127.0.0.1:${proxy.port}`;
    const args = ["join", address, token, "--label", `hand-${i}`, ...trust, "--slots", "1"];
    hands.push({ name: `hand-${i}`, folder, dataDir: join(folder, ".ringrift"), args, process: undefined });
  }
  return { main, proxy, hands };
}

function fingerprintOf(certFile: string): string {
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  return new X509Certificate(readFileSync(certFile)).fingerprint256;
}

export async function workRounds(own: Owned, options: WorkRoundsOptions): Promise<WorkBooks> {
  const random = seededRandom(options.seed);
  const say = options.log ?? (() => {});
  const { main, proxy, hands } = await setUp(own, options);
  const note = join(main.folder, "note");
  const start = (hand: Hand) => {
    // Who has joined once needs no token any more.
    const args = hand.process === undefined ? hand.args : ["worker", "--slots", "1"];
    hand.process = own.startCli(args, { cwd: hand.folder, env: WORKER });
  };
  for (const hand of hands) start(hand);
  await Promise.all(hands.map((hand) => hand.process!.waitForLine(/worker ready/)));
  const ids = [
    ...(await main.add(
      Array.from({ length: options.smallJobs }, () => ({
        parameters: { ms: pick(random, options.smallMs ?? 60), note },
        max_attempts: 50,
      })),
    )),
    ...(await main.add(
      Array.from({ length: options.childJobs }, () => ({
        work_type: "selfplay",
        parameters: { ms: pick(random, 400), note },
        max_attempts: 50,
      })),
    )),
  ];

  const acts: Record<string, number> = {};
  for (let round = 1; round <= options.rounds; round += 1) {
    const hand = hands[pick(random, hands.length)]!;
    const act = pick(random, options.killMain ? 11 : 10);
    const name = await throwAt(hand, act, { main, proxy, random, start });
    acts[name] = (acts[name] ?? 0) + 1;
    say(`round ${round}: ${name} ${hand.name} ${JSON.stringify(await main.states().catch(() => ({})))}`);
  }
  proxy.fault = "none";
  await allDone(main, ids.length, say);
  await spoolsEmpty([main.dataDir, ...hands.map(({ dataDir }) => dataDir)]);
  for (const hand of hands) await hand.process!.stop();
  await main.started().stop();
  await proxy.close();
  const faults = [...readBooks(main, ids), ...(await orphans([main.folder, ...hands.map(({ folder }) => folder)]))];
  const numbers = figures(main);
  const refused = [main, ...hands].reduce((sum, { dataDir }) => sum + rejectedIn(dataDir), 0);
  const lost = [main, ...hands].reduce(
    (sum, { dataDir }) => sum + logOf(dataDir).split("the lease is lost").length - 1,
    0,
  );
  return { jobs: ids.length, acts, suffered: proxy.suffered, ...numbers, refusedResults: refused + lost, faults };
}

/** One cruelty; its name. */
async function throwAt(
  hand: Hand,
  act: number,
  world: {
    main: MainProcess;
    proxy: FaultProxy;
    random: ReturnType<typeof seededRandom>;
    start: (hand: Hand) => void;
  },
): Promise<string> {
  const { main, proxy, random, start } = world;
  const breathe = () => wait(pick(random, 600));
  await breathe();
  if (act < 3) {
    await hand.process!.killNow();
    await breathe();
    start(hand);
    return "kill -9";
  }
  if (act < 5) {
    hand.process!.kill("SIGSTOP");
    await wait((SILENCE_SECONDS + 6) * 1_000 * 0.6 + pick(random, 2_000));
    hand.process!.kill("SIGCONT");
    return "SIGSTOP";
  }
  if (act < 6) {
    await hand.process!.stop();
    start(hand);
    return "SIGTERM";
  }
  if (act < 7) {
    proxy.cutAll();
    return "cut";
  }
  if (act < 10) {
    proxy.fault = FAULTS[pick(random, FAULTS.length)]!;
    const name = proxy.fault;
    await wait(500 + pick(random, 2_000));
    proxy.fault = "none";
    return name;
  }
  await main.started().killNow();
  await main.start(["--workers", "1"]);
  return "main kill -9";
}

const LOOK_EVERY_MS = 200;

async function allDone(main: MainProcess, jobs: number, say: (line: string) => void): Promise<void> {
  let states: Record<string, number> = {};
  let looks = 0;
  const done = async () => {
    states = await main.states().catch(() => ({}));
    if (looks % 25 === 0) say(JSON.stringify(states));
    looks += 1;
    return (states.completed ?? 0) + (states.failed ?? 0) + (states.cancelled ?? 0) === jobs;
  };
  const patient = { timeout: patience(600_000), interval: LOOK_EVERY_MS };
  await until(done, () => `jobs are left: ${JSON.stringify(states)}`, patient);
}

const filesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
};
const resultsIn = (dataDir: string) => filesIn(join(dataDir, "worker", "spool", "results"));
const rejectedIn = (dataDir: string): number => filesIn(join(dataDir, "worker", "spool", "rejected")).length;

const spoolsEmpty = (folders: readonly string[]): Promise<void> =>
  until(
    () => folders.every((folder) => resultsIn(folder).length === 0),
    () => `results stay in the spool: ${folders.flatMap(resultsIn).join(", ")}`,
  );

/** Nothing that a worker started runs any more. */
async function orphans(folders: readonly string[]): Promise<string[]> {
  const left = () => folders.flatMap((folder) => processesWith(folder));
  const patient = { ...PATIENT, interval: LOOK_EVERY_MS };
  await until(
    () => left().length === 0,
    () => "",
    patient,
  ).catch(() => undefined);
  return left().map((pid) => `process ${pid} was left behind`);
}

const booksOf = (main: MainProcess) => new DatabaseSync(join(main.dataDir, "coordination.db"), { readOnly: true });

function readBooks(main: MainProcess, ids: readonly string[]): string[] {
  const db = booksOf(main);
  const faults: string[] = [];
  const jobs = new Map((db.prepare(JOB_BOOKS).all() as unknown as JobBook[]).map((job) => [job.work_id, job]));
  for (const id of ids) {
    const job = jobs.get(id);
    const wrong = (what: string) => faults.push(`${id}: ${what}`);
    if (job === undefined) wrong("is lost");
    else {
      for (const fault of jobFaults(job)) wrong(fault);
      const { outputs = [] } = JSON.parse(job.outcome ?? "{}") as { outputs?: { sha256: string; bytes: number }[] };
      for (const { sha256, bytes } of outputs) {
        const path = join(main.dataDir, "artifacts", sha256.slice(0, 2), sha256);
        if (statSync(path, { throwIfNoEntry: false })?.size !== bytes) wrong(`its file ${sha256} is not there`);
      }
    }
  }
  db.close();
  return faults.slice(0, 20);
}

function figures(main: MainProcess) {
  const db = booksOf(main);
  const row = db
    .prepare("SELECT sum(fence) - count(*) AS repeated, sum(attempts) - count(*) AS spent FROM work_jobs")
    .get();
  const late = (db.prepare(JOB_BOOKS).all() as unknown as JobBook[]).reduce((sum, job) => sum + job.late, 0);
  db.close();
  const { repeated, spent } = row as { repeated: number; spent: number };
  return { repeatedClaims: repeated, spentAttempts: spent, lateResults: late };
}
