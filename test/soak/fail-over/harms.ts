/** What is done to a cluster, and how long nobody was acknowledged because of it. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rowsDigest } from "../../../src/adapters/sqlite/replica/digests.ts";
import { openDatabase } from "../../../src/adapters/sqlite/writer.ts";
import { pick, type Random } from "../../../src/kernel/index.ts";
import type { Host } from "../../support/hosts.ts";
import { until } from "../../support/patience.ts";
import type { SmallDisk } from "../../support/small-disk.ts";
import { type Cluster, DATABASE, type Life, NAMES, type Name } from "./cluster.ts";

/** Each is done to a cluster that works, and has ended by the time that it resolves. */
type Act = (cluster: Cluster, random: Random) => Promise<void>;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const hostOf = ({ hosts }: Cluster, { name }: Life): Host => hosts![NAMES.indexOf(name)]!;
/** How often a line that comes and goes does so, and how fast. */
const FLAPS = 8;
const FLAP_MS = { least: 300, more: 2_500 };

/** Until somebody is acknowledged who was not before; with the old leader back as a standby. */
async function followed(cluster: Cluster, harmed: Life): Promise<void> {
  const next = await cluster.whoLeads();
  if (next.term() <= harmed.term())
    throw new Error(`${next.name} leads in term ${next.term()}, after ${harmed.name} in term ${harmed.term()}`);
}

const killed: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  await leader.process.killNow();
  cluster.members.delete(leader.name);
  await followed(cluster, leader);
  cluster.start(leader.name);
};

/** It ends in order, and hands over first. */
const ended: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  await leader.process.stop();
  cluster.members.delete(leader.name);
  await followed(cluster, leader);
  cluster.start(leader.name);
};

/** The process that leads and the server beside it, at once. */
const machine: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  const server = cluster.servers[NAMES.indexOf(leader.name)]!;
  await Promise.all([leader.process.killNow(), server.process().killNow()]);
  cluster.members.delete(leader.name);
  await followed(cluster, leader);
  server.start();
  cluster.start(leader.name);
};

/** Machines lose their power at once: members and servers die, and their disks have only what was flushed. */
async function losePower(cluster: Cluster, names: readonly Name[]): Promise<void> {
  const { servers, disks, members } = cluster;
  const places = names.map((name) => NAMES.indexOf(name));
  await Promise.all([
    ...names.map((name) => members.get(name)!.process.killNow()),
    ...places.map((i) => servers[i]!.process().killNow()),
  ]);
  for (const i of places) for (const disk of [disks!.members[i]!, disks!.servers[i]!]) disk.losePower!();
  for (const name of names) members.delete(name);
}

const powerOfLeader: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  await losePower(cluster, [leader.name]);
  await followed(cluster, leader);
  cluster.servers[NAMES.indexOf(leader.name)]!.start();
  cluster.start(leader.name);
};

const powerOfAll: Act = async (cluster) => {
  await cluster.whoLeads();
  await losePower(cluster, NAMES);
  for (const one of cluster.servers) one.start();
  for (const name of NAMES) cluster.start(name);
};

const stopped: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  leader.process.kill("SIGSTOP");
  await followed(cluster, leader);
  leader.process.kill("SIGCONT");
};

const server: Act = async (cluster, random) => {
  const one =
    cluster.servers[random.next() < 0.5 ? await cluster.streamLeader() : pick(random, cluster.servers.length)]!;
  await one.process().killNow();
  await cluster.whoLeads();
  one.start();
};

const serverStopped: Act = async (cluster) => {
  const one = cluster.servers[await cluster.streamLeader()]!;
  one.process().kill("SIGSTOP");
  await cluster.whoLeads();
  one.process().kill("SIGCONT");
};

const allServers: Act = async (cluster) => {
  await cluster.whoLeads();
  await Promise.all(cluster.servers.map(({ process }) => process().killNow()));
  for (const one of cluster.servers) one.start();
};

/** Cuts, waits until somebody is acknowledged although it is cut, and heals. */
const cut =
  (how: (cluster: Cluster, leader: Life, random: Random) => readonly Host[] | Promise<readonly Host[]>): Act =>
  async (cluster, random) => {
    const leader = await cluster.whoLeads();
    const cutOff = await how(cluster, leader, random);
    await pause(1_000 + pick(random, 4_000));
    await cluster.whoLeads();
    for (const host of cutOff) host.heal();
  };

const whole = (host: Host, way: "in" | "out" | "both"): readonly Host[] => {
  host.cut(way);
  return [host];
};

const flapping: Act = async (cluster, random) => {
  const leader = await cluster.whoLeads();
  for (let i = 0; i < FLAPS; i += 1) {
    const host = random.next() < 0.7 ? hostOf(cluster, leader) : cluster.hosts![pick(random, NAMES.length)]!;
    host.cut((["both", "in", "out"] as const)[pick(random, 3)]!);
    await pause(FLAP_MS.least + pick(random, FLAP_MS.more));
    host.heal();
    await pause(FLAP_MS.least + pick(random, FLAP_MS.more));
  }
};

const standbyOf = async (cluster: Cluster, random: Random): Promise<Life> => {
  const leader = await cluster.whoLeads();
  const others = [...cluster.members.values()].filter((life) => life !== leader);
  return others[pick(random, others.length)]!;
};
const diskOf = ({ disks }: Cluster, { name }: Life): SmallDisk => disks!.members[NAMES.indexOf(name)]!;

/**
 * What is in the log and cannot be written down here ends the term: another leads, until there is room again. Before that it goes on for a
 * while in the pages that its files have already.
 */
const leaderFull: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  diskOf(cluster, leader).fill();
  let next = leader;
  await until(
    async () => {
      next = await cluster.whoLeads();
      return next !== leader;
    },
    () => `${leader.name} leads although its disk is full: ${leader.state()}`,
  );
  diskOf(cluster, leader).free();
};

const standbyFull: Act = async (cluster, random) => {
  // One that was harmed before has come back: a program that finds no room while it starts ends.
  await cluster.allFollow();
  const standby = await standbyOf(cluster, random);
  diskOf(cluster, standby).fill();
  await pause(2_000);
  await cluster.whoLeads();
  diskOf(cluster, standby).free();
};

/** A server that ran out of room stops to keep streams; a person makes room and starts it again. */
const serverFull: Act = async (cluster) => {
  const at = await cluster.streamLeader();
  const disk = cluster.disks!.servers[at]!;
  disk.fill();
  await pause(2_000);
  await cluster.whoLeads();
  disk.free();
  const one = cluster.servers[at]!;
  await one.process().killNow();
  one.start();
};

/** One bit, anywhere. */
function flipBit(file: string, random: Random): void {
  const bytes = readFileSync(file);
  const at = pick(random, Math.max(1, bytes.length));
  bytes[at] = bytes[at]! ^ (1 << pick(random, 8));
  writeFileSync(file, bytes);
}

/** In what a server has on disk of the stream. It finds that when it starts, and takes the entries of the others. */
const streamBit: Act = async (cluster, random) => {
  const at = ((await cluster.streamLeader()) + 1 + pick(random, 2)) % cluster.servers.length;
  const one = cluster.servers[at]!;
  await one.process().killNow();
  const blocks = readdirSync(one.store, { recursive: true, encoding: "utf8" })
    .filter((file) => /streams\/games\/msgs\/.*\.blk$/.test(file))
    .map((file) => join(one.store, file));
  if (blocks.length === 0) throw new Error(`${one.name} keeps no stream in ${one.store}`);
  flipBit(blocks[pick(random, blocks.length)]!, random);
  one.start();
  // Whoever reads from it next reads all that it has.
  await pause(2_000);
};

/** In the database of a standby: it is refused when it is opened, or its rows come to another digest. Then it begins anew with the log. */
const databaseBit: Act = async (cluster, random) => {
  const standby = await standbyOf(cluster, random);
  await standby.process.stop();
  const folder = cluster.folderOf(standby.name);
  const file = join(folder, DATABASE);
  const digest = () => {
    const db = openDatabase(file);
    try {
      return rowsDigest(db);
    } finally {
      db.close();
    }
  };
  const before = digest();
  const bytes = readFileSync(file);
  flipBit(file, random);
  let found: string;
  try {
    found = digest() === before ? "bit_unused" : "bit_by_digest";
  } catch {
    found = "bit_refused";
  }
  // Only what no row is made of may stay unseen: the same rows, whole again when they are written anew.
  if (found === "bit_unused") writeFileSync(file, bytes);
  else rmSync(folder, { recursive: true });
  console.log(`a bit of ${bytes.length} bytes: ${found}`);
  cluster.members.delete(standby.name);
  cluster.start(standby.name);
};

/** Standbys first, then whoever leads: the next version leads with one more column, and fills it in while it works. */
const upgraded: Act = async (cluster) => {
  const leader = await cluster.whoLeads();
  const again = async (life: Life) => {
    await life.process.stop();
    cluster.members.delete(life.name);
    cluster.start(life.name, 2);
    // As a person looks before the next one.
    await cluster.allFollow();
  };
  for (const life of [...cluster.members.values()]) if (life !== leader) await again(life);
  await again(leader);
  await until(
    () => [...cluster.members.values()].some((life) => life.isFilled()),
    () => `nobody filled in the new column: ${[...cluster.members.values()].map((life) => life.state()).join("; ")}`,
  );
};

export const HARMS = {
  kill: killed,
  end: ended,
  machine,
  stop: stopped,
  server,
  server_stop: serverStopped,
  all_servers: allServers,
  cut_leader: cut((cluster, leader) => whole(hostOf(cluster, leader), "both")),
  cut_stream_leader: cut(async (cluster) => whole(cluster.hosts![await cluster.streamLeader()]!, "both")),
  cut_link: cut((cluster, leader, random) => {
    const others = cluster.hosts!.filter((host) => host !== hostOf(cluster, leader));
    hostOf(cluster, leader).cutFrom(others[pick(random, others.length)]!);
    return [hostOf(cluster, leader)];
  }),
  cut_one_way: cut((cluster, leader, random) => whole(hostOf(cluster, leader), random.next() < 0.5 ? "in" : "out")),
  cut_flapping: flapping,
  power_leader: powerOfLeader,
  power_all: powerOfAll,
  disk_leader: leaderFull,
  disk_standby: standbyFull,
  disk_server: serverFull,
  bit_stream: streamBit,
  bit_database: databaseBit,
  upgrade: upgraded,
} as const satisfies Readonly<Record<string, Act>>;

export type Harm = keyof typeof HARMS;
export const needsDevice = (harm: Harm): boolean => harm.startsWith("power_");
export const needsDisk = (harm: Harm): boolean => harm.startsWith("disk_") || needsDevice(harm);
export const isPartition = (harm: Harm): boolean => harm.startsWith("cut_");

const machineMs = () => Number(process.hrtime.bigint() / 1_000_000n);

/** The longest time between two of these moments. */
const longestGap = (moments: readonly number[]): number =>
  moments
    .toSorted((one, other) => one - other)
    .reduce((most, at, i, all) => Math.max(most, at - (all[i - 1] ?? at)), 0);

/** Does it, waits until somebody leads again, and gives the longest time in which nobody was acknowledged. */
export async function harmOnce(cluster: Cluster, harm: Harm, random: Random): Promise<number> {
  await cluster.whoLeads();
  const begun = machineMs();
  await HARMS[harm](cluster, random);
  const ended = machineMs();
  await cluster.whoLeads();
  // A line that comes and goes stops the work again and again: what counts is how soon it goes on afterwards.
  const from = harm === "cut_flapping" ? ended : begun;
  const later = cluster.everybody.flatMap((life) => life.acks().flatMap(({ at }) => (at > from ? [at] : [])));
  return longestGap([from, ...later, machineMs()]);
}
