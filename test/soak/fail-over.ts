/**
 * Three processes over three real nats-servers, for as many rounds as asked for: whoever leads is killed or stopped, servers are killed and
 * stopped, all of them are started again; on hosts of their own, in network namespaces, they are cut off from each other; disks of
 * members and servers are full for a while, or lose with the power what was not flushed; a bit of a stream or of a database is turned over.
 * After each round somebody leads. At the end of each chapter every replica has what was acknowledged, and is what the log makes of an empty
 * database; and no entry of the log is of somebody who did not lead. Chapters are kept in a book, so that a run goes on where the last one
 * stopped.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { leaseTimingOf } from "../../src/cluster/leadership/index.ts";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { hostsOnABridge } from "../support/hosts.ts";
import { findNatsServer } from "../support/nats-servers.ts";
import { patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { deviceDisk, smallDisk } from "../support/small-disk.ts";
import { startCluster } from "./fail-over/cluster.ts";
import { HARMS, type Harm, harmOnce, isPartition, needsDevice, needsDisk } from "./fail-over/harms.ts";

export const about =
  "kill -9, SIGSTOP and partitions of leaders and servers, really: nothing acknowledged is lost, and somebody leads again";

const NAMES = Object.keys(HARMS) as Harm[];
/** How often each is done beside the others. */
const SHARES: Readonly<Record<Harm, number>> = {
  kill: 14,
  end: 1,
  machine: 6,
  stop: 7,
  server: 2,
  server_stop: 1,
  all_servers: 1,
  cut_leader: 2,
  cut_stream_leader: 1,
  cut_link: 1,
  cut_one_way: 1,
  cut_flapping: 1,
  power_leader: 1,
  power_all: 1,
  disk_leader: 1,
  disk_standby: 1,
  disk_server: 1,
  bit_stream: 1,
  bit_database: 1,
  upgrade: 1,
};
/** Room for some minutes of events, and little enough that all of them fit into memory. */
const DISK_MEGABYTES = 160;
/** A leader must be followed within this time. */
const FIRST_ACK_MS = patience(30_000);

const FOLDER = ".soak";
const BOOK = `${FOLDER}/fail-over-book.json`;

interface Book {
  readonly acked: number;
  readonly terms: number;
  /** For each harm, each time that nobody was acknowledged, in milliseconds: as many as it was done. */
  readonly silences: Readonly<Partial<Record<Harm, readonly number[]>>>;
}
const EMPTY: Book = { acked: 0, terms: 0, silences: {} };

const joined = (one: Book, other: Book): Book => ({
  acked: one.acked + other.acked,
  terms: one.terms + other.terms,
  silences: Object.fromEntries(
    NAMES.map((harm) => [harm, [...(one.silences[harm] ?? []), ...(other.silences[harm] ?? [])]] as const).filter(
      ([, silences]) => silences.length > 0,
    ),
  ),
});

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** How often each was done, and how long it took until somebody was acknowledged again. */
function tableOf({ acked, terms, silences }: Book) {
  const row = (of: readonly number[]) => {
    const sorted = of.toSorted((a, b) => a - b);
    return { times: of.length, p50_ms: at(sorted, 0.5), p99_ms: at(sorted, 0.99), most_ms: sorted.at(-1) ?? 0 };
  };
  const harms = Object.entries(silences) as [Harm, readonly number[]][];
  const times = (which: (harm: Harm) => boolean) =>
    harms.filter(([harm]) => which(harm)).reduce((sum, [, of]) => sum + of.length, 0);
  return {
    ...{ acked, terms },
    kills: times((harm) => harm === "kill" || harm === "machine"),
    stops: times((harm) => harm === "stop"),
    partitions: times(isPartition),
    harms: Object.fromEntries(harms.map(([harm, of]) => [harm, row(of)])),
  };
}

export interface FailOverOptions {
  readonly rounds?: number;
  /** Rounds after which everything is looked at and written into the book. */
  readonly chapter?: number;
  readonly seed?: number;
  /** Only these, with commas between them. */
  readonly harms?: string;
  /** Length of a lease; shorter makes more rounds in the same time. */
  readonly lease_seconds?: number;
  /** On this machine's loopback: nobody can be cut off there. */
  readonly loopback?: boolean;
  /** Writes no book. */
  readonly unbooked?: boolean;
}
/** A coordinator is killed, and all servers are started again. */
export const tiny: FailOverOptions = { rounds: 2, harms: "kill,all_servers", loopback: true, unbooked: true };
export const shownBy = "test/e2e/replicated-coordinators.test.ts";

function chosen(harms: string | undefined): Harm[] {
  const asked = harms?.split(",") ?? NAMES;
  const unknown = asked.filter((harm) => !NAMES.includes(harm as Harm));
  if (unknown.length > 0) throw new Error(`no such harm: ${unknown.join(", ")}; there are ${NAMES.join(", ")}`);
  return asked as Harm[];
}

/** As many as asked for, each by its share, in an order that follows from the seed; each at least once where there is room. */
function plan(harms: readonly Harm[], rounds: number, random: ReturnType<typeof seededRandom>): Harm[] {
  const pool = harms.flatMap((harm) => Array.from({ length: SHARES[harm] }, () => harm));
  const all = harms.length <= rounds && harms.length < NAMES.length ? [...harms] : [];
  while (all.length < rounds) all.push(pool[pick(random, pool.length)]!);
  return all;
}

export async function run(options: FailOverOptions = {}) {
  const { rounds = 90, chapter = 15, seed = Date.now() % 1_000_000, lease_seconds: leaseSeconds = 4 } = options;
  const { loopback = false, unbooked = false } = options;
  const program = findNatsServer();
  if (program === undefined) return { ok: true, skipped: "no nats-server from 2.15 on is to be had here" };
  const random = seededRandom(seed);
  const timing = leaseTimingOf(patience(leaseSeconds * 1_000));
  const undo: (() => void)[] = [];
  let total: Book = unbooked || !existsSync(BOOK) ? EMPTY : JSON.parse(readFileSync(BOOK, "utf8"));
  let done = EMPTY;
  try {
    const hosts = loopback ? undefined : hostsOnABridge(`rf${process.pid % 1_000}`, 3, (one) => void undo.push(one));
    const harms = chosen(options.harms).filter(
      (harm) => hosts !== undefined || !(isPartition(harm) || needsDisk(harm)),
    );
    const planned = plan(harms, rounds, random);
    for (let from = 0; from < planned.length; from += chapter) {
      const rest = planned.slice(from, from + chapter);
      using room = new DisposableStack();
      const disk = rest.some(needsDevice) ? deviceDisk : smallDisk;
      const three = () => Array.from({ length: 3 }, () => disk(DISK_MEGABYTES, (unmount) => room.defer(unmount))!);
      const disks = rest.some(needsDisk) ? { members: three(), servers: three() } : undefined;
      await using own = owned();
      const cluster = await startCluster({ own, program, hosts, disks, timing, seed });
      const silences: Partial<Record<Harm, readonly number[]>> = {};
      for (const harm of rest) {
        const silenceMs = await harmOnce(cluster, harm, random);
        silences[harm] = [...(silences[harm] ?? []), silenceMs];
        console.log(`${harm}: nobody was acknowledged for ${silenceMs} ms`);
        if (silenceMs > FIRST_ACK_MS)
          throw new Error(`seed ${seed}: nobody was acknowledged for ${silenceMs} ms after ${harm}`);
      }
      const { wrong, acked, terms } = await cluster.endAndLook();
      if (wrong.length > 0) throw new Error(`seed ${seed}: ${wrong.join("; ")}`);
      done = joined(done, { acked, terms, silences });
      total = joined(total, { acked, terms, silences });
      if (!unbooked) {
        mkdirSync(FOLDER, { recursive: true });
        writeFileSync(BOOK, JSON.stringify(total));
      }
    }
  } finally {
    for (const one of undo) one();
  }
  return { ok: true, seed, lease_seconds: leaseSeconds, done: tableOf(done), total: tableOf(total) };
}
