/**
 * A fleet of worker processes on one machine, of which some are always killed, frozen, cut off or told to end, and come back. Every job is
 * done once, the books of the queue balance, whoever fell ill is in the history of repairs, and nothing in it is left open.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { assert, pick, seededRandom } from "../../src/kernel/index.ts";
import { type FaultProxy, faultProxy } from "../chaos/parts/fault-proxy.ts";
import { JOB_BOOKS, type JobBook, jobFaults } from "../chaos/parts/job-books.ts";
import { declareTiny, type MainProcess, mainProcess } from "../e2e/parts/worker-world.ts";
import { patience, until } from "../support/patience.ts";
import { freePort, type Owned, owned, type Started } from "../support/process.ts";
import { ask } from "../support/surface.ts";

export const about =
  "a fleet of workers that are killed, frozen, cut off and told to end: every job once, and all repairs on record";

export interface FleetRecoveryOptions {
  readonly workers?: number;
  readonly minutes?: number;
  readonly seed?: number;
  /** The longest time for which a worker is away. */
  readonly away_seconds?: number;
}
export const tiny: FleetRecoveryOptions = { workers: 4, minutes: 0.1, away_seconds: 4 };

/** Nobody who only waits for a processor is taken for dead: the more share one machine, the longer that may be. */
const deadSeconds = (workers: number): number => patience(3_000 + 150 * workers) / 1_000;
const silence = (seconds: number) => ({
  RINGRIFT_WORK_LEASE_SILENCE: String(seconds),
  RINGRIFT_NODE_SUSPECT: String(seconds / 2),
  RINGRIFT_NODE_DEAD: String(seconds),
});
const MAIN = {
  RINGRIFT_NODE_BEAT: "0.5",
  RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0",
  RINGRIFT_NODE_HEALTH_CHECK: "0.5",
  RINGRIFT_RECOVERY_OBSERVE: "0.5",
  RINGRIFT_RATE_FACTOR: "1000",
  RINGRIFT_LOG_LEVEL: "ERROR",
};
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.5", RINGRIFT_WORKER_CLAIM_WAIT: "1", RINGRIFT_JOB_GRACE_PERIOD: "1" };
/** Of the fleet at once: more, and repairs would wait for the network to come back. */
const MAX_AWAY = 0.3;
const WAITING_PER_WORKER = 4;
const STARTED_AT_ONCE = 2;
const LONG = { timeout: patience(180_000), interval: 250 };

const HARMS = ["killed", "frozen", "cut off", "told to end"] as const;
type Harm = (typeof HARMS)[number];

/** One machine of the fleet, behind a line of its own. */
async function startWorker(own: Owned, label: string, port: number, token: string, seed: number) {
  const folder = own.folder();
  declareTiny(folder);
  const line: FaultProxy = await faultProxy({ target: port, random: seededRandom(seed) });
  const begin = (): Started => {
    const args = ["join", `http://localhost:${line.port}`, token, "--label", label, "--slots", "1"];
    return own.startCli(args, { cwd: folder, env: NODE });
  };
  let running = begin();
  /** What was done to it, and how its lives ended: nobody starts one again that ended by itself. */
  const life: string[] = [];
  const faults: string[] = [];
  let isMeant = false;
  const noted = (started: Started) => {
    void started.exited.then(({ code, signal }) => {
      life.push(`ended with ${code ?? signal}`);
      if (!isMeant)
        faults.push(`${label} ended by itself with ${code ?? signal}: ${started.lines.slice(-3).join(" ")}`);
    });
    return started;
  };
  noted(running);
  const again = () => {
    isMeant = false;
    running = noted(begin());
    life.push("started");
  };
  await running.waitForLine(/worker ready/, { timeoutMs: LONG.timeout });
  const harms: Readonly<Record<Harm, { begin(): unknown; end(): void }>> = {
    killed: {
      begin() {
        isMeant = true;
        return running.killNow();
      },
      end: again,
    },
    frozen: { begin: () => running.kill("SIGSTOP"), end: () => running.kill("SIGCONT") },
    "cut off": {
      begin() {
        line.fault = "refuse";
        line.cutAll();
      },
      end() {
        line.fault = "none";
      },
    },
    "told to end": {
      begin() {
        isMeant = true;
        return running.stop(LONG.timeout);
      },
      end: again,
    },
  };
  return {
    label,
    harm(harm: Harm) {
      life.push(harm);
      return harms[harm].begin();
    },
    heal(harm: Harm) {
      life.push(`not ${harm} any more`);
      return harms[harm].end();
    },
    line,
    faults,
    lastWords: () => [life.slice(-12).join(", "), ...running.lines.slice(-8)].join("\n"),
  };
}

interface Act {
  readonly case_id: string;
  readonly node_id: string;
  readonly label: string;
  readonly rung: string;
  readonly state: string;
}

/** What the history of repairs lacks, beside what was told of nodes. */
function historyFaults(acts: readonly Act[], told: readonly { event_type: string; node_id: string; state: string }[]) {
  const open = acts
    .filter(({ state }) => state === "acting")
    .map(({ node_id, rung }) => `${rung} of ${node_id} is open`);
  const treated = new Set(acts.map(({ node_id }) => node_id));
  const ill = told.filter(
    ({ event_type, state }) => event_type === "NODE_UNHEALTHY" && /unhealthy|evicted/.test(state),
  );
  const forgotten = ill
    .filter(({ node_id }) => !treated.has(node_id))
    .map(({ node_id }) => `nobody treated ${node_id}`);
  const begun = told.filter(({ event_type }) => event_type === "RECOVERY_INITIATED").length;
  const rungs = acts.filter(({ rung }) => rung !== "observe" && rung !== "person").length;
  return [
    ...open,
    ...new Set(forgotten),
    ...(begun === rungs ? [] : [`${begun} repairs were told, and ${rungs} are on record`]),
  ];
}

export async function run(options: FleetRecoveryOptions = {}) {
  await using own = owned();
  const port = await freePort();
  const { workers = 40 } = options;
  const main = mainProcess(own, { ...MAIN, ...silence(deadSeconds(workers)), RINGRIFT_PORT: String(port) });
  await main.start();
  try {
    return await harmAndHeal(own, main, port, options);
  } catch (thrown) {
    throw new Error(`the main process said last:\n${main.started().lines.slice(-20).join("\n")}`, { cause: thrown });
  }
}

async function harmAndHeal(own: Owned, main: MainProcess, port: number, options: FleetRecoveryOptions) {
  const { workers: count = 40, minutes = 10, seed = 1, away_seconds = 30 } = options;
  const random = seededRandom(seed);
  const token = await main.token();
  const workers: Awaited<ReturnType<typeof startWorker>>[] = [];
  for (let from = 0; from < count; from += STARTED_AT_ONCE) {
    const some = Array.from({ length: Math.min(STARTED_AT_ONCE, count - from) }, (_, n) => from + n);
    workers.push(...(await Promise.all(some.map((n) => startWorker(own, `w${n}`, port, token, seed + n)))));
  }
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
  const get = async <T>(path: string) => (await ask({ socketPath }, path)).json as T;

  const harmed: Record<string, number> = {};
  const away = new Map<string, { readonly harm: Harm; readonly untilMs: number }>();
  const begun = performance.now();
  let added = 0;
  const keepBusy = async () => {
    const { pending = 0 } = await main.states();
    const more = WAITING_PER_WORKER * count - pending;
    if (more <= 0) return;
    const jobs = Array.from({ length: more }, () => ({
      parameters: { ms: 100 + pick(random, 900) },
      max_attempts: 100,
    }));
    added += (await main.add(jobs)).length;
  };
  const comeBack = (force: boolean) => {
    for (const worker of workers) {
      const gone = away.get(worker.label);
      if (gone === undefined || (!force && performance.now() < gone.untilMs)) continue;
      worker.heal(gone.harm);
      away.delete(worker.label);
    }
  };
  const acts = async () => (await get<{ acts: Act[] }>("/v1/recovery/history?limit=1000")).acts;
  /** Whoever was killed often within ten minutes is handed to a person, who sees here that it is back. */
  const asked = new Set<string>();
  const answerAsPerson = async () => {
    for (const { case_id, node_id, label, rung, state } of await acts()) {
      if (rung !== "person" || state !== "acting" || asked.has(case_id) || away.has(label)) continue;
      const body = { rung: "observe", reason: "it is back" };
      const { status, json } = await ask({ socketPath }, `/v1/recovery/${node_id}`, { method: "POST", body });
      // It may have become well between the look and the answer.
      assert(status < 300 || json.code === "NODE_NOT_ILL", `a person was refused: ${JSON.stringify(json)}`);
      asked.add(case_id);
    }
  };
  await keepBusy();
  while (performance.now() - begun < minutes * 60_000) {
    comeBack(false);
    const there = workers.filter(({ label }) => !away.has(label));
    if (away.size < Math.max(1, Math.floor(MAX_AWAY * count))) {
      const worker = there[pick(random, there.length)]!;
      const harm = HARMS[pick(random, HARMS.length)]!;
      away.set(worker.label, { harm, untilMs: performance.now() + (1 + pick(random, away_seconds)) * 1_000 });
      harmed[harm] = (harmed[harm] ?? 0) + 1;
      await worker.harm(harm);
    }
    await keepBusy();
    await answerAsPerson();
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  comeBack(true);

  await until(
    async () => (await main.states()).completed === added,
    () => `not all of ${added} jobs were done`,
    LONG,
  );
  interface Node {
    readonly label: string;
    readonly state: string;
    readonly local: boolean;
    readonly health: { readonly condition: string; readonly reason: string | null };
  }
  const nodes = async () => (await get<{ nodes: Node[] }>("/v1/nodes")).nodes.filter(({ local }) => !local);
  const isWell = ({ state, health }: Node) => state === "online" && !/unhealthy|evicted/.test(health.condition);
  const unwell = async () => (await nodes()).filter((node) => !isWell(node));
  let left: readonly Node[] = [];
  await until(
    async () => {
      await answerAsPerson();
      left = await unwell();
      return left.length === 0 && (await nodes()).length === count;
    },
    () =>
      left
        .map((node) => {
          const { lastWords } = workers.find(({ label }) => label === node.label)!;
          return `${node.label} is ${node.state} and not well again: ${node.health.reason}; its worker said last:\n${lastWords()}`;
        })
        .join("\n"),
    LONG,
  );
  await until(
    async () => (await acts()).every(({ state }) => state !== "acting"),
    () => "repairs are still open",
    LONG,
  );
  const endedByThemselves = workers.flatMap((worker) => worker.faults);
  for (const { line } of workers) await line.close();
  await main.started().stop(LONG.timeout);
  using db = new DatabaseSync(join(main.dataDir, "coordination.db"), { readOnly: true });
  const books = db.prepare(JOB_BOOKS).all() as unknown as JobBook[];
  const faults = books.flatMap((job) => jobFaults(job).map((fault) => `${job.work_id} ${fault}`));
  const told = db
    .prepare(
      `SELECT event_type, payload ->> '$.node_id' AS node_id, coalesce(payload ->> '$.node_state', '') AS state FROM events
       WHERE event_type IN ('NODE_UNHEALTHY', 'RECOVERY_INITIATED')`,
    )
    .all() as { event_type: string; node_id: string; state: string }[];
  // The list of the API is bounded; what is on record is in the table.
  const history = db
    .prepare("SELECT case_id, node_id, label, rung, state FROM recovery_acts")
    .all() as unknown as Act[];
  faults.push(...historyFaults(history, told), ...endedByThemselves);
  assert(books.length === added, `${books.length} of ${added} jobs are in the books`);
  return {
    ok: faults.length === 0,
    faults: faults.slice(0, 20),
    workers: count,
    jobs: added,
    harmed,
    acts: history.length,
    handed_over: asked.size,
  };
}
