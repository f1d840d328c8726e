/**
 * A fleet over real HTTP: simulated workers with keys of their own, each holding a job, that beat every 120 s, tell their
 * progress every 60 s, and complete and claim in bursts of 20 a second. The coordinator runs in another process, with its
 * journal on disk (synchronous FULL). Every request is signed and every signature checked.
 */

import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { Agent } from "node:http";
import { loadavg } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Lease } from "../../src/work/index.ts";
import { owned } from "../support/process.ts";
import { bareCommits } from "./support/by-hand.ts";
import {
  type Coordinator,
  command,
  type FleetWorker,
  joinWorker,
  OFFER,
  say,
  type Timed,
} from "./support/fleet-worker.ts";
import { atLeast, atMost, type Goal } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "a fleet of workers over real HTTP: beats, updates, completions and bursts of claims";

export interface FleetOptions {
  readonly workers?: number;
  readonly seconds?: number;
}

const BEAT_EVERY_S = 120;
const UPDATE_EVERY_S = 60;
const CLAIMS_PER_S = 20;
const JOINS_AT_ONCE = 32;
/** What fishtest, the fleet server of Stockfish, is measured at with 9,400 workers: medians in ms. */
const FISHTEST = { beat: 6, update: 7, claim: 15 } as const;
const GAMES = Buffer.alloc(4_096, "g");
const sha256 = hash("sha256", GAMES);
const EVIDENCE = { outputs: [{ name: "games", sha256, bytes: GAMES.length }], counts: { games: 50 } };

const spread = (samples: readonly number[]) => {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), most: at(1) };
};

async function startCoordinator(dataDir: string) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./support/fleet-main.ts", import.meta.url)), dataDir], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      ...process.env,
      RINGRIFT_RATE_FACTOR: "10000",
      RINGRIFT_NODE_BEAT: String(BEAT_EVERY_S),
      RINGRIFT_NODE_SUSPECT: "300",
      RINGRIFT_NODE_DEAD: "600",
      RINGRIFT_WORK_LEASE_SILENCE: "300",
    },
  });
  const lines = createInterface({ input: child.stdout! });
  const nextLine = async <T>() => JSON.parse(((await once(lines, "line")) as [string])[0]) as T;
  const { port, token } = await nextLine<{ port: number; token: string }>();
  const at: Coordinator = { port, token, agent: new Agent({ keepAlive: true, maxSockets: 512 }) };
  return {
    at,
    /** Microseconds that it has computed. */
    async cpuUs(): Promise<number> {
      child.stdin!.write("\n");
      return (await nextLine<{ cpuUs: number }>()).cpuUs;
    },
    async end(): Promise<void> {
      at.agent.destroy();
      const ended = once(child, "exit");
      child.stdin!.end();
      await ended;
    },
  };
}

async function inBatches<T>(count: number, atOnce: number, run: (n: number) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const n = next;
      next += 1;
      all[n] = await run(n);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return all;
}

const refOf = ({ work_id, node_id, fence }: Lease) => ({ work_id, node_id, fence });
type Kind = "node beat" | "lease beat" | "update" | "complete" | "claim";

/** The life of the fleet for a while, at its own pace whatever the answers take. */
class Fleet {
  readonly samples = new Map<Kind, number[]>();
  readonly lost: string[] = [];
  completed = 0;
  readonly #to: Coordinator;
  readonly #workers: readonly FleetWorker[];
  /** The disk asked for one commit alone, between the bursts. */
  readonly bare: number[] = [];
  readonly #commitBare: () => number;
  #turn = 0;

  constructor(to: Coordinator, workers: readonly FleetWorker[], commitBare: () => number) {
    this.#to = to;
    this.#workers = workers;
    this.#commitBare = commitBare;
  }

  get requests(): number {
    return [...this.samples.values()].reduce((sum, { length }) => sum + length, 0);
  }

  async #timed(kind: Kind, asked: Promise<Timed>): Promise<Timed> {
    const answer = await asked;
    const known = this.samples.get(kind);
    if (known === undefined) this.samples.set(kind, [answer.ms]);
    else known.push(answer.ms);
    const answers = (answer.json.answers ?? []) as { ok: boolean; error?: { code: string } }[];
    const refused = answers.find(({ ok }) => !ok);
    if (answer.status !== 200 || refused !== undefined)
      this.lost.push(`${kind}: ${answer.status} ${refused?.error?.code ?? answer.json.code ?? ""}`);
    return answer;
  }

  async beat(worker: FleetWorker): Promise<void> {
    const { nodeId: node_id, lease } = worker;
    const body = {
      node_id,
      incarnation: 1,
      version: "0.1.0",
      load: { running: 1, free: OFFER },
      spool: { waiting: 0 },
    };
    await this.#timed("node beat", say(this.#to, worker, "/v1/nodes/beat", body));
    if (lease === undefined || lease !== worker.lease) return;
    await this.#timed("lease beat", say(this.#to, worker, "/v1/work/beat", { beats: [{ ref: refOf(lease) }] }));
  }

  async update(worker: FleetWorker): Promise<void> {
    if (worker.lease === undefined) return;
    const beats = [{ ref: refOf(worker.lease), progress: { progress: 0.5, games: 25 } }];
    await this.#timed("update", say(this.#to, worker, "/v1/work/beat", { beats }));
  }

  async claim(worker: FleetWorker): Promise<void> {
    const { nodeId: node_id } = worker;
    const { json } = await this.#timed(
      "claim",
      say(this.#to, worker, "/v1/work/claim", { node_id, most: 1, offer: OFFER, start: true }),
    );
    [worker.lease] = (json.leases ?? []) as Lease[];
    if (worker.lease === undefined) this.lost.push("claim: nothing");
  }

  async finishAndClaim(worker: FleetWorker): Promise<void> {
    const { lease } = worker;
    if (lease === undefined) return;
    // From here on nobody beats for it.
    worker.lease = undefined;
    const completions = [{ ref: refOf(lease), evidence: EVIDENCE }];
    await this.#timed("complete", say(this.#to, worker, "/v1/work/complete", { completions }));
    this.completed += 1;
    await this.claim(worker);
  }

  /** The next so many workers, in turn. */
  #next(count: number): FleetWorker[] {
    return Array.from({ length: count }, () => {
      this.#turn = (this.#turn + 1) % this.#workers.length;
      return this.#workers[this.#turn]!;
    });
  }

  async live(seconds: number): Promise<void> {
    const under = new Set<Promise<void>>();
    const begin = (work: Promise<void>) => {
      const one: Promise<void> = work
        .catch((thrown: unknown) => void this.lost.push(String(thrown)))
        .finally(() => under.delete(one));
      under.add(one);
    };
    const TICKS = 20;
    const each = (perSecond: number, tick: number) =>
      Math.floor((perSecond * (tick + 1)) / TICKS) - Math.floor((perSecond * tick) / TICKS);
    const beats = this.#workers.length / BEAT_EVERY_S;
    const updates = this.#workers.length / UPDATE_EVERY_S;
    const began = performance.now();
    for (let tick = 0; tick < seconds * TICKS; tick += 1) {
      if (tick % TICKS === 0) for (const worker of this.#next(CLAIMS_PER_S)) begin(this.finishAndClaim(worker));
      for (let i = 0; i < each(beats, tick); i += 1) begin(this.beat(this.#next(1)[0]!));
      for (let i = 0; i < each(updates, tick); i += 1) begin(this.update(this.#next(1)[0]!));
      if (tick % TICKS >= TICKS / 2 && tick % 2 === 0) this.bare.push(this.#commitBare());
      const due = began + ((tick + 1) * 1_000) / TICKS - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due)));
    }
    await Promise.all(under);
  }
}

export const tiny: FleetOptions = { workers: 120, seconds: 2 };

export async function run({ workers: count = 1_000, seconds = 30 }: FleetOptions = {}) {
  await using own = owned();
  const coordinator = await startCoordinator(own.folder());
  const { at } = coordinator;
  const disk = bareCommits(join(own.folder(), "bare.db"));
  try {
    const began = performance.now();
    const workers = await inBatches(count, JOINS_AT_ONCE, (n) => joinWorker(at, `worker-${n}`));
    const joinSeconds = (performance.now() - began) / 1_000;
    const jobs = count + CLAIMS_PER_S * (seconds + 5);
    await inBatches(Math.ceil(jobs / 1_000), 2, () =>
      command(at, "/v1/work/jobs", {
        jobs: Array.from({ length: 1_000 }, (_, n) => ({ work_type: "selfplay", config_key: `hex8_${2 + (n % 3)}p` })),
      }),
    );
    const headers = { authorization: `Bearer ${at.token}` };
    await fetch(`http://127.0.0.1:${at.port}/v1/artifacts/${sha256}`, { method: "PUT", headers, body: GAMES });
    const fleet = new Fleet(at, workers, disk.commit);
    await inBatches(count, JOINS_AT_ONCE, (n) => fleet.claim(workers[n]!));
    fleet.samples.clear();
    const cpuBefore = await coordinator.cpuUs();
    await fleet.live(seconds);
    const cpuUs = (await coordinator.cpuUs()) - cpuBefore;
    const floor = spread(fleet.bare);
    const held = workers.filter(({ lease }) => lease !== undefined).length;
    const stats = await fetch(`http://127.0.0.1:${at.port}/v1/work/stats`).then((answer) => answer.json());
    const { states } = stats as { states: Record<string, number> };
    const figures = new Map([...fleet.samples].map(([kind, all]) => [kind, { ...spread(all), requests: all.length }]));
    const goals: Goal[] = [
      atMost("leases lost or requests refused", fleet.lost.length, 0),
      atLeast(
        "leases held at the end, of the books' own count",
        held / ((states.running ?? 0) + (states.claimed ?? 0)),
        1,
      ),
      atLeast("jobs completed, of the books' own count", fleet.completed / (states.completed ?? 0), 1),
      atMost("beat, p50 ms (fishtest: 6 at 9,400 workers)", figures.get("node beat")?.p50 ?? Number.NaN, FISHTEST.beat),
      atMost("update, p50 ms (fishtest: 7)", figures.get("update")?.p50 ?? Number.NaN, FISHTEST.update),
      atMost("claim in a burst of 20, p50 ms (fishtest: 15)", figures.get("claim")?.p50 ?? Number.NaN, FISHTEST.claim),
    ];
    const inMs = ({ p50, p99, most }: ReturnType<typeof spread>) =>
      [p50, p99, most].map((ms) => ms.toFixed(1)).join(", ");
    const notes: Record<string, number | string> = {
      "joins a second": count / joinSeconds,
      "computing of the coordinator for a request, all threads, ms": cpuUs / 1_000 / fleet.requests,
      "others on the machine: load of the last minute": loadavg()[0]!,
      [`a bare commit on the same disk (${fleet.bare.length}): p50, p99, most, ms`]: inMs(floor),
    };
    for (const [kind, { requests, ...figure }] of figures)
      notes[`${kind} (${requests} requests): p50, p99, most, ms`] = inMs(figure);
    if (fleet.lost.length > 0) notes["first losses"] = fleet.lost.slice(0, 3).join("; ");
    const section: Section = { title: `${count} workers for ${seconds} s`, measured: [], goals, notes };
    return { bench: "fleet", ok: fleet.lost.length === 0, sections: [section] };
  } finally {
    disk.close();
    await coordinator.end();
  }
}

export const print = ({ sections }: { sections: readonly Section[] }): string => printSections(sections);

if (import.meta.main) console.log(print(await run()));
