/** Three members over three servers, on loopback or on three hosts, and what they say of themselves while they are harmed. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { rowsDigest } from "../../../src/adapters/sqlite/replica/digests.ts";
import type { LeaseTiming } from "../../../src/cluster/leadership/decide.ts";
import type { Version } from "../../e2e/parts/growing-module.ts";
import type { MemberOptions } from "../../e2e/parts/replica-member.ts";
import { type Host, startedOn } from "../../support/hosts.ts";
import { type NatsServer, natsServers } from "../../support/nats-servers.ts";
import { patience, until } from "../../support/patience.ts";
import type { Owned, Started } from "../../support/process.ts";
import type { DeviceDisk, SmallDisk } from "../../support/small-disk.ts";
import type { AuditOptions, LogAudit } from "./log-audit.ts";

export const NAMES = ["a", "b", "c"] as const;
export type Name = (typeof NAMES)[number];

export const DATABASE = "coordination.db";
const MEMBER = new URL("../../e2e/parts/replica-member.ts", import.meta.url);
const MAKER = new URL("./make-stream.ts", import.meta.url);
const AUDITOR = new URL("./log-audit.ts", import.meta.url);
/** Somebody leads when so many events were acknowledged since. */
const ACKS_BETWEEN = 20;

export interface Ack {
  readonly id: string;
  readonly term: number;
  /** Milliseconds of the clock that all processes of this machine share. */
  readonly at: number;
}

/** One process, and what it has said so far: each line is read once. */
export interface Life {
  readonly name: Name;
  readonly process: Started;
  readonly acks: () => readonly Ack[];
  readonly term: () => number;
  readonly seq: () => number;
  readonly engine: () => string | null;
  readonly broken: () => readonly string[];
  /** It led, and found that nothing is left to fill in. */
  readonly isFilled: () => boolean;
  readonly state: () => string;
}

function lifeOf(name: Name, process: Started): Life {
  const acks: Ack[] = [];
  const broken: string[] = [];
  let isFilled = false;
  let [next, term, seq, engine, said] = [0, 0, 0, null as string | null, [] as string[]];
  const read = () => {
    for (; next < process.lines.length; next += 1) {
      const line = process.lines[next]!;
      const [word, first = "", second, third] = line.split(" ");
      if (word === "acked") acks.push({ id: first, term: Number(second), at: Number(third) });
      else if (word === "at") seq = Number(first);
      else if (word === "ended") seq = Number(second);
      else if (word === "engine") engine = first === "" ? null : first;
      else {
        if (/^leads \d+$/.test(line)) term = Number(first);
        if (word === "filled") isFilled = true;
        if (word === "broken") broken.push(`${name}: ${line}`);
        said = [...said, line].slice(-6);
      }
    }
  };
  const after =
    <T>(get: () => T) =>
    (): T => {
      read();
      return get();
    };
  return {
    ...{ name, process },
    acks: after(() => acks),
    term: after(() => term),
    seq: after(() => seq),
    engine: after(() => engine),
    broken: after(() => broken),
    isFilled: after(() => isFilled),
    state: after(() => `${name} is at ${seq}, said ${said.join(" / ")}`),
  };
}

/** Only one on a device loses what was not flushed. */
type Disk = SmallDisk & Partial<DeviceDisk>;

/** What a member and the server beside it write on; each of them on its own. */
export interface Disks {
  readonly members: readonly Disk[];
  readonly servers: readonly Disk[];
}

export interface Cluster {
  readonly servers: readonly NatsServer[];
  readonly hosts: readonly Host[] | undefined;
  readonly disks: Disks | undefined;
  readonly members: Map<Name, Life>;
  folderOf(name: Name): string;
  /** Of all processes that ever were. */
  readonly everybody: readonly Life[];
  /** With the version of the program that it had, or with this one from now on. */
  start(name: Name, version?: Version): void;
  /** Somebody goes on being acknowledged, and gives who it is. */
  whoLeads(): Promise<Life>;
  /** Waits until all have what there is. */
  allFollow(): Promise<void>;
  /** The number of the server that leads the stream, as whoever leads says. */
  streamLeader(): Promise<number>;
  /** Waits until all follow, ends them one after another, and gives what is wrong. */
  endAndLook(): Promise<{ readonly wrong: readonly string[]; readonly acked: number; readonly terms: number }>;
}

export interface ClusterOptions {
  readonly own: Owned;
  readonly program: string;
  readonly hosts: readonly Host[] | undefined;
  readonly disks: Disks | undefined;
  readonly timing: LeaseTiming;
  /** For the messages of what went wrong. */
  readonly seed: number;
}

export async function startCluster({ own, program, hosts, disks, timing, seed }: ClusterOptions): Promise<Cluster> {
  const servers = await natsServers(own, program, hosts, disks?.servers);
  const folder = own.folder();
  const folderOf = (name: Name) => join(disks?.members[NAMES.indexOf(name)]?.folder ?? folder, name);
  const logOf = (i: number) => ({
    servers: servers.map(({ url }) => url),
    // As coordinators do that run their servers: each looks at its own.
    monitors: hosts === undefined ? servers.map(({ monitor }) => monitor) : [servers[i]!.monitor],
    stream: "games",
    replicas: 3,
    answerMs: Math.min(2_000, timing.leaseMs / 4),
  });
  const versions = new Map<Name, Version>();
  const startOn = (i: number, file: URL, options: object) =>
    own.startNode(file, [JSON.stringify(options)], hosts && startedOn(hosts[i]!, process.execPath));
  await startOn(0, MAKER, { log: logOf(0) }).waitForLine(/^made$/);

  const members = new Map<Name, Life>();
  const everybody: Life[] = [];
  const start: Cluster["start"] = (name, version = versions.get(name) ?? 1) => {
    versions.set(name, version);
    const i = NAMES.indexOf(name);
    mkdirSync(folderOf(name), { recursive: true });
    const options: MemberOptions = { name, folder: folderOf(name), log: logOf(i), timing, version };
    const life = lifeOf(name, startOn(i, MEMBER, options));
    members.set(name, life);
    everybody.push(life);
  };
  for (const name of NAMES) start(name);

  const states = () => [...members.values()].map((life) => life.state()).join("; ");
  const whoLeads = async (): Promise<Life> => {
    const before = new Map([...members.values()].map((life) => [life, life.acks().length]));
    let found: Life | undefined;
    await until(
      () => {
        found = [...members.values()].find((life) => life.acks().length >= (before.get(life) ?? 0) + ACKS_BETWEEN);
        return found !== undefined;
      },
      () => `nobody leads (seed ${seed}): ${states()}`,
    );
    return found!;
  };

  const allFollow: Cluster["allFollow"] = async () => {
    const newest = () => Math.max(...[...members.values()].map((life) => life.seq()));
    await until(
      () => [...members.values()].every((life) => life.seq() > 0 && newest() - life.seq() < 50),
      () => `not all have caught up (seed ${seed}): ${states()}`,
    );
  };

  const endAndLook: Cluster["endAndLook"] = async () => {
    await allFollow();
    const end = async (life: Life) => {
      life.process.kill("SIGTERM");
      await life.process.exited;
      members.delete(life.name);
    };
    // Who leads and ends is followed as well.
    await end(await whoLeads());
    const last = await whoLeads();
    for (const life of [...members.values()].filter((other) => other !== last)) await end(life);
    await end(last);
    const seen = Math.max(...everybody.map((life) => life.seq()));
    const asked: AuditOptions = { log: logOf(0), seen };
    const told = await startOn(0, AUDITOR, asked).waitForLine(/^audit (.*)$/, { timeoutMs: patience(120_000) });
    const audit = JSON.parse(told.match[1]!) as LogAudit;
    const acks = everybody.flatMap((life) => life.acks());
    return { wrong: wrongIn(folderOf, acks, audit, everybody), acked: acks.length, terms: audit.terms };
  };
  const streamLeader = async () => {
    const leader = await whoLeads();
    const found = () => servers.findIndex(({ name }) => name === leader.engine());
    await until(
      () => found() >= 0,
      () => `no server leads the stream (seed ${seed}): ${states()}`,
    );
    return found();
  };
  return { servers, hosts, disks, folderOf, members, everybody, start, whoLeads, allFollow, streamLeader, endAndLook };
}

/** What the three databases, the log, and those who were answered do not agree about. */
function wrongIn(
  folderOf: Cluster["folderOf"],
  acks: readonly Ack[],
  audit: LogAudit,
  everybody: readonly Life[],
): string[] {
  const wrong: string[] = everybody.flatMap((life) => life.broken());
  const acked = acks.map(({ id }) => id);
  if (new Set(acked).size !== acked.length) wrong.push("an event was acknowledged twice");
  if (audit.stale.length > 0) wrong.push(`stale entries are in the log: ${audit.stale.slice(0, 10).join(", ")}`);
  const opened = NAMES.map((name) => {
    const db = new DatabaseSync(join(folderOf(name), DATABASE));
    const { seq } = db.prepare("SELECT seq FROM replica_position").get() as { seq: number };
    const rows = db.prepare("SELECT event_id FROM events ORDER BY seq").all();
    const unfilled = db.prepare("SELECT name FROM pragma_table_info('growing') WHERE name = 'letters'").get()
      ? Number(db.prepare("SELECT count(*) AS n FROM growing WHERE letters IS NOT length(game)").get()!.n)
      : 0;
    if (unfilled > 0 && everybody.some((life) => life.isFilled()))
      wrong.push(`${name} lacks the new column in ${unfilled} rows`);
    const found = {
      name: name as string,
      seq,
      ids: rows.map(({ event_id }) => String(event_id)),
      digest: rowsDigest(db),
    };
    db.close();
    return found;
  }).toSorted((one, other) => other.seq - one.seq);
  const best = opened[0]!;
  const stored = new Set(best.ids);
  const lost = acked.filter((id) => !stored.has(id)).length;
  if (lost > 0) wrong.push(`${lost} of ${acked.length} acknowledged events are lost`);
  if (stored.size !== best.ids.length) wrong.push("an event is there twice");
  for (const { name, ids, seq, digest } of opened) {
    if (ids.some((id, i) => id !== best.ids[i])) wrong.push(`${name} has other events than ${best.name}`);
    if (seq === audit.entries && digest !== audit.digest)
      wrong.push(`${name} is not what the log says at entry ${seq}`);
  }
  if (best.seq !== audit.entries) wrong.push(`${best.name} is at entry ${best.seq} of ${audit.entries} and led last`);
  return wrong;
}
