/**
 * The loop trains while whoever leads is killed, ten times, on machines whose clocks are minutes apart. All work is done by nodes that are
 * never harmed: so no job may be taken from them, none completes twice, the books balance, and the champion is whole. Runs are kept in a
 * book, so that counts add up.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { seededRandom } from "../../src/kernel/index.ts";
import { CLAIMER_GONE } from "../../src/work/claim-desk.ts";
import { selfSigned } from "../support/certificate.ts";
import { commandsIn } from "../support/commands.ts";
import { unpackedPackages } from "../support/debian-programs.ts";
import { artifactPath, CONFIG, QUICK, sha256Of } from "../support/loop.ts";
import { readFolder } from "../support/loop-kills.ts";
import { findNatsServer, natsServers } from "../support/nats-servers.ts";
import { patience, until } from "../support/patience.ts";
import { freePort, owned, type Started } from "../support/process.ts";
import { ask } from "../support/surface.ts";

export const about =
  "the loop trains through fail-overs with clocks minutes apart: no job twice, none taken away, books that balance";

export interface FailOverTrainOptions {
  readonly iterations?: number;
  readonly fail_overs?: number;
  /** How far the clocks of two of the three are from that of the third, one before it and one behind. */
  readonly apart_seconds?: number;
  /** Longest wait between two kills. */
  readonly wait_seconds?: number;
  readonly nodes?: number;
  readonly seed?: number;
  readonly coordinators?: number;
  /** Only until somebody leads: no loop is played to its end. */
  readonly only_lead?: boolean;
  /** Writes no book. */
  readonly unbooked?: boolean;
}
export const tiny: FailOverTrainOptions = {
  ...{ coordinators: 1, fail_overs: 0, nodes: 0 },
  ...{ only_lead: true, unbooked: true },
};

const NAMES = ["a", "b", "c"] as const;
const FOLDER = ".soak";
const BOOK = `${FOLDER}/fail-over-train-book.json`;
const MINUTES = { timeout: patience(300_000), interval: 200 };
const FIRST_LEAD_MS = patience(30_000);
const LIBRARY = `usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketimeMT.so.1`;

/** What makes a program believe in another time of day; its other clocks go as they do. */
function shiftedBy(seconds: number): Record<string, string> {
  if (seconds === 0) return {};
  const folder = unpackedPackages("faketime", ["libfaketime"], LIBRARY);
  if (folder === undefined) throw new Error("no libfaketime is to be had here: use --set apart_seconds=0");
  return {
    LD_PRELOAD: join(folder, LIBRARY),
    FAKETIME: `${seconds > 0 ? "+" : ""}${seconds}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}

interface Loop {
  readonly configs: readonly {
    readonly config_key: string;
    readonly state: string;
    readonly iteration: number;
    readonly champion: { readonly model: string } | null;
    readonly books: { readonly balanced: boolean; readonly in_flight: number };
  }[];
}

/** What the rows of the work say of jobs that nobody should have touched. */
const worked = (dataDir: string) =>
  readFolder(dataDir, (store) => {
    const count = (sql: string) => Number(store.read<{ n: number }>(sql)[0]?.n ?? 0);
    return {
      completed: count("SELECT count(*) AS n FROM events WHERE event_type = 'WORK_COMPLETED'"),
      double_completions: count(`SELECT count(*) AS n FROM (SELECT payload ->> 'work_id' AS id FROM events
        WHERE event_type = 'WORK_COMPLETED' GROUP BY id HAVING count(*) > 1)`),
      ended: store
        .read<{ told: string }>(
          `SELECT event_type || ' ' || payload AS told FROM events
           WHERE event_type IN ('WORK_TIMEOUT', 'TASK_ABANDONED', 'TASK_ORPHANED', 'TASK_FAILED') ORDER BY seq`,
        )
        .map(({ told }) => told),
      // What was chosen for somebody who had hung up was given back before anybody had it.
      needless_reaps: count(`SELECT count(*) AS n FROM events WHERE event_type IN ('WORK_TIMEOUT', 'TASK_ORPHANED')
        OR (event_type = 'TASK_ABANDONED' AND payload ->> 'reason' <> '${CLAIMER_GONE}')`),
      second_attempts: count("SELECT count(*) AS n FROM work_jobs WHERE attempts > 1"),
    };
  });

export async function run(options: FailOverTrainOptions = {}) {
  const { iterations = 4, fail_overs: failOvers = 10, apart_seconds: apart = 300, seed = 1, nodes = 2 } = options;
  const { wait_seconds: waitSeconds = 8, only_lead: onlyLead = false, unbooked = false } = options;
  const program = findNatsServer();
  await using own = owned();
  const certificate = selfSigned(own.folder());
  if (program === undefined || certificate === undefined)
    return { ok: true, skipped: "no nats-server from 2.15 on, or no openssl, is to be had here" };
  const { fingerprint256 } = new X509Certificate(readFileSync(certificate.cert));
  const random = seededRandom(seed);
  const servers = await natsServers(own, program);
  const shared = {
    RINGRIFT_RAFT_ENABLED: "true",
    RINGRIFT_COORDINATORS_SERVERS: servers.map(({ url }) => url).join(","),
    RINGRIFT_COORDINATORS_MONITORS: servers.map(({ monitor }) => monitor).join(","),
    RINGRIFT_COORDINATORS_LEASE: String(patience(4_000) / 1_000),
    RINGRIFT_TLS_CERT_FILE: certificate.cert,
    RINGRIFT_TLS_KEY_FILE: certificate.key,
  };
  // As everywhere a coordinator comes back where it was: nodes know it by its address.
  const ports = [await freePort(), await freePort(), await freePort()];
  const machines = NAMES.slice(0, options.coordinators ?? NAMES.length).map((name, i) => {
    const folder = own.folder();
    writeFileSync(join(folder, "ringrift.config.json"), JSON.stringify({ plans: { [CONFIG]: QUICK } }));
    const env = { ...shared, RINGRIFT_NODE_ID: name, RINGRIFT_PORT: String(ports[i]) };
    const clock = shiftedBy([0, apart, -apart][i]!);
    const told = commandsIn(folder, { env: { NO_COLOR: "1", ...env } });
    const done = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await told(...args);
      if (code !== 0) throw new Error(`${args.join(" ")} on ${name}: ${err}${out}`);
      return out.trim();
    };
    const train = ["train", CONFIG, "--iterations", String(iterations), "--workers", "0", "--headless", "--no-report"];
    const start = () => own.startCli(train, { cwd: folder, env: { ...env, ...clock } });
    return { name: name as string, folder, dataDir: join(folder, ".ringrift"), done, start };
  });
  const [first] = machines as [(typeof machines)[number]];
  await until(
    () =>
      first.done("cluster", "init").then(
        () => true,
        () => false,
      ),
    () => "the first coordinator could not be made",
    MINUTES,
  );
  const running = new Map<string, Started>([["a", first.start()]]);
  const urlIn = async (started: Started): Promise<string> =>
    `https://127.0.0.1:${(await started.waitForLine(/^standby .* port (\d+) /, { timeoutMs: MINUTES.timeout })).match[1]}`;
  const url = await urlIn(running.get("a")!);
  await running.get("a")!.waitForLine(/^leads term 1 /);
  const token = await first.done("token", "create", "members", "--scope", "operator");
  const tokenFile = join(own.folder(), "token");
  writeFileSync(tokenFile, token, { mode: 0o600 });
  for (const machine of machines.slice(1)) {
    await machine.done("cluster", "join", url, "--token-file", tokenFile, "--fingerprint", fingerprint256);
    running.set(machine.name, machine.start());
    await urlIn(running.get(machine.name)!);
  }
  const joinToken = await first.done("token", "create", "nodes", "--scope", "worker");
  for (let n = 0; n < nodes; n += 1) {
    const args = ["join", url, joinToken, "--fingerprint", fingerprint256, "--label", `worker-${n}`, "--slots", "1"];
    const worker = own.startCli(args, {
      cwd: own.folder(),
      env: {
        RINGRIFT_WORKER_BEAT_INTERVAL: "0.5",
        RINGRIFT_WORKER_CLAIM_WAIT: "1",
        ...shiftedBy(n % 2 === 0 ? apart : 0),
      },
    });
    await worker.waitForLine(/joined .* as worker-/);
  }

  const termOf = (started: Started): number =>
    Number(started.lines.findLast((line) => /^leads term \d+ /.test(line))?.split(" ")[2] ?? 0);
  /** Whoever won the last term, and answers. */
  const leader = async () => {
    let found: { machine: (typeof machines)[number]; started: Started; loop: Loop } | undefined;
    await until(
      async () => {
        const [best] = [...running].toSorted(([, one], [, other]) => termOf(other) - termOf(one));
        const machine = machines.find(({ name }) => name === best![0])!;
        try {
          const { socket_path: socketPath } = JSON.parse(readFileSync(join(machine.dataDir, "endpoint.json"), "utf8"));
          const { status, json } = await ask({ socketPath }, "/v1/loop");
          if (status === 200) found = { machine, started: best![1], loop: json as unknown as Loop };
        } catch {
          // Nobody answers there yet.
        }
        return found !== undefined;
      },
      () =>
        `nobody leads (seed ${seed}): ${[...running].map(([name, { lines }]) => `${name}: ${lines.slice(-4).join(" / ")}`).join("; ")}`,
      MINUTES,
    );
    return found!;
  };
  const wrong: string[] = [];
  const leads: number[] = [];
  for (let i = 0; i < failOvers; i += 1) {
    await wait(random.next() * waitSeconds * 1_000);
    const { machine, started } = await leader();
    const begun = performance.now();
    await started.killNow();
    running.delete(machine.name);
    await leader();
    leads.push(Math.round(performance.now() - begun));
    console.log(`fail-over ${i + 1}: ${leads.at(-1)} ms until the next one answers`);
    running.set(machine.name, machine.start());
  }
  if (Math.max(...leads) > FIRST_LEAD_MS) wrong.push(`it took ${Math.max(...leads)} ms until somebody led again`);
  let last = await leader();
  const ofConfig = () => last.loop.configs.find(({ config_key }) => config_key === CONFIG);
  await until(
    async () => {
      last = await leader();
      const state = ofConfig()?.state;
      if (state === "failed") throw new Error(`the loop cannot go on (seed ${seed})`);
      return state === "complete" || (onlyLead && state !== undefined);
    },
    () => `the loop is not complete: ${JSON.stringify(ofConfig())}`,
    { ...MINUTES, timeout: 3 * MINUTES.timeout },
  );
  const config = ofConfig()!;
  const { dataDir } = last.machine;
  if (!config.books.balanced || config.books.in_flight !== 0) wrong.push(`books: ${JSON.stringify(config.books)}`);
  const champion = config.champion?.model;
  if (!onlyLead && (champion === undefined || sha256Of(artifactPath(dataDir, champion)) !== champion))
    wrong.push(`the champion ${champion} is not whole`);
  const { ended, ...found } = worked(dataDir);
  for (const told of ended) console.log(`ended: ${told}`);
  if (found.double_completions > 0) wrong.push(`${found.double_completions} jobs completed twice`);
  if (found.needless_reaps > 0) wrong.push(`${found.needless_reaps} jobs were taken from who worked on them`);
  if (wrong.length > 0) throw new Error(`seed ${seed}: ${wrong.join("; ")}; ${JSON.stringify(found)}`);
  const done = { runs: 1, fail_overs: leads.length, iterations: config.iteration, completed: found.completed };
  const before: typeof done | undefined =
    unbooked || !existsSync(BOOK) ? undefined : JSON.parse(readFileSync(BOOK, "utf8"));
  const total = Object.fromEntries(
    Object.entries(done).map(([key, n]) => [key, n + (before?.[key as keyof typeof done] ?? 0)]),
  );
  if (!unbooked) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(BOOK, JSON.stringify(total));
  }
  const sorted = leads.toSorted((one, other) => one - other);
  return { ok: true, seed, ...found, done, total, leads_ms: { p50: sorted[sorted.length >> 1], most: sorted.at(-1) } };
}
