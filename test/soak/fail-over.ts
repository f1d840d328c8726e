/**
 * Three processes over three real nats-servers, for as many rounds as asked for: whoever leads is killed or stopped, servers are killed,
 * all of them are started again. After each round somebody leads, and in the end every replica has what was acknowledged. Counts are kept in
 * a book and add up over runs.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createStream } from "../../src/adapters/nats/connection.ts";
import { rowsDigest } from "../../src/adapters/sqlite/replica/digests.ts";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import type { MemberOptions } from "../e2e/parts/replica-member.ts";
import { findNatsServer, natsServers } from "../support/nats-servers.ts";
import { patience, until } from "../support/patience.ts";
import { owned, type Started } from "../support/process.ts";

export const about =
  "kill -9 and SIGSTOP of leaders and servers, really: nothing acknowledged is lost, and somebody leads again";

const HARMS = ["kill", "kill", "kill", "stop", "server"] as const;
type Harm = (typeof HARMS)[number];
type Book = { -readonly [K in Harm | "all_servers" | "acked"]: number };

const FOLDER = ".soak";
const BOOK = `${FOLDER}/fail-over-book.json`;
const EMPTY: Book = { kill: 0, stop: 0, server: 0, all_servers: 0, acked: 0 };
const NAMES = ["a", "b", "c"] as const;
const PART = new URL("../e2e/parts/replica-member.ts", import.meta.url);
/** Servers that are all started again take this long to elect a leader among themselves, and more. */
const TIMING = {
  leaseMs: patience(4_000),
  marginMs: patience(1_000),
  beatMs: patience(800),
  headStartMs: patience(500),
};
const ACKS_BETWEEN = 20;

export interface FailOverOptions {
  readonly rounds?: number;
  readonly seed?: number;
  /** Writes no book. */
  readonly unbooked?: boolean;
}
/** With this seed a coordinator is killed, and starts again while all servers are down. */
export const tiny: FailOverOptions = { rounds: 1, seed: 336_032, unbooked: true };
export const shownBy = "test/e2e/replicated-coordinators.test.ts";

const ackedBy = ({ lines }: Started) => lines.flatMap((line) => (line.startsWith("acked ") ? [line.slice(6)] : []));
/** How far it is, whether it lives, and what it said last beside that. */
const stateOf = (one: Started) =>
  `at ${seqOf(one)}, said ${one.lines
    .filter((line) => !/^(at|acked) /.test(line))
    .slice(-6)
    .join(" / ")}`;
/** The term in which it led last. */
const termOf = ({ lines }: Started) => Number(lines.findLast((line) => /^leads \d+$/.test(line))?.slice(6) ?? 0);
const seqOf = ({ lines }: Started) => Number(lines.findLast((line) => line.startsWith("at "))?.slice(3) ?? 0);

export async function run({ rounds = 90, seed = Date.now() % 1_000_000, unbooked = false }: FailOverOptions = {}) {
  const program = findNatsServer();
  if (program === undefined) return { ok: true, skipped: "no nats-server from 2.15 on is to be had here" };
  await using own = owned();
  const random = seededRandom(seed);
  const servers = await natsServers(own, program);
  const log = {
    servers: servers.map(({ url }) => url),
    monitors: servers.map(({ monitor }) => monitor),
    stream: "games",
    replicas: 3,
    answerMs: patience(1_000),
  };
  const isMade = () =>
    createStream(log).then(
      () => true,
      (thrown: { code?: string }) => thrown.code === "LOG_EXISTS",
    );
  await until(isMade, () => "no stream could be made");
  const folder = own.folder();
  const start = (name: string) => {
    mkdirSync(join(folder, name), { recursive: true });
    const options: MemberOptions = { name, folder: join(folder, name), log, timing: TIMING };
    return own.startNode(PART, [JSON.stringify(options)]);
  };
  const members = new Map(NAMES.map((name) => [name as string, start(name)]));
  const everybody: Started[] = [...members.values()];
  const done: Book = { ...EMPTY };
  const allAcked = () => everybody.flatMap(ackedBy);
  const firstAckMs: number[] = [];
  const wrong: string[] = [];

  /** Somebody goes on being acknowledged; gives who it is. */
  const whoLeads = async (): Promise<[string, Started]> => {
    const before = new Map([...members].map(([name, one]) => [name, ackedBy(one).length]));
    let found: [string, Started] | undefined;
    await until(
      () => {
        found = [...members].find(([name, one]) => ackedBy(one).length >= (before.get(name) ?? 0) + ACKS_BETWEEN);
        return found !== undefined;
      },
      () => `nobody leads (seed ${seed})`,
    );
    return found!;
  };

  const harm = async (kind: Harm): Promise<void> => {
    const [name, leader] = await whoLeads();
    const begun = performance.now();
    if (kind === "server") {
      const server = servers[pick(random, servers.length)]!;
      await server.process().killNow();
      await whoLeads();
      server.start();
    } else if (kind === "stop") {
      leader.kill("SIGSTOP");
      await whoLeads();
      leader.kill("SIGCONT");
    } else {
      await leader.killNow();
      const [next, follower] = await whoLeads();
      if (termOf(follower) <= termOf(leader))
        wrong.push(`${next} leads in term ${termOf(follower)}, after ${name} in term ${termOf(leader)}`);
      const again = start(name);
      everybody.push(again);
      members.set(name, again);
    }
    firstAckMs.push(performance.now() - begun);
    done[kind] += 1;
  };

  for (let round = 0; round < rounds; round += 1) await harm(HARMS[pick(random, HARMS.length)]!);
  await Promise.all(servers.map(({ process }) => process().killNow()));
  for (const server of servers) server.start();
  done.all_servers += 1;
  await whoLeads();

  // All catch up, and end one after another; the last that leads has everything.
  const newest = () => Math.max(...[...members.values()].map(seqOf));
  await until(
    () => [...members.values()].every((one) => seqOf(one) > 0 && newest() - seqOf(one) < 50),
    () =>
      `not all have caught up (seed ${seed}): ${[...members].map(([name, one]) => `${name} is ${stateOf(one)}`).join("; ")}`,
  );
  const end = async (name: string) => {
    const one = members.get(name)!;
    one.kill("SIGTERM");
    await one.exited;
    members.delete(name);
  };
  // Who leads and ends is followed as well.
  await end((await whoLeads())[0]);
  const [last] = await whoLeads();
  for (const name of [...members.keys()].filter((other) => other !== last)) await end(name);
  await end(last);
  const acked = allAcked();
  done.acked = acked.length;
  if (new Set(acked).size !== acked.length) wrong.push("an event was acknowledged twice");
  const opened = NAMES.map((name) => {
    const db = new DatabaseSync(join(folder, name, "coordination.db"));
    const { seq } = db.prepare("SELECT seq FROM replica_position").get() as { seq: number };
    const ids = db
      .prepare("SELECT event_id FROM events ORDER BY seq")
      .all()
      .map(({ event_id }) => String(event_id));
    return { name, seq, ids, digest: rowsDigest(db), close: () => db.close() };
  }).toSorted((one, other) => other.seq - one.seq);
  const best = opened[0]!;
  const stored = new Set(best.ids);
  const lost = acked.filter((id) => !stored.has(id)).length;
  if (lost > 0) wrong.push(`${lost} of ${acked.length} acknowledged events are lost`);
  if (stored.size !== best.ids.length) wrong.push("an event is there twice");
  for (const { name, ids, seq, digest } of opened) {
    if (ids.some((id, i) => id !== best.ids[i])) wrong.push(`${name} has other events than ${best.name}`);
    if (seq === best.seq && digest !== best.digest) wrong.push(`${name} and ${best.name} differ at entry ${seq}`);
  }
  for (const { lines } of everybody) wrong.push(...lines.filter((line) => line.startsWith("broken")));
  for (const { close } of opened) close();
  if (wrong.length > 0) throw new Error(`seed ${seed}: ${wrong.join("; ")}`);
  const before: Book = unbooked || !existsSync(BOOK) ? EMPTY : JSON.parse(readFileSync(BOOK, "utf8"));
  const total = Object.fromEntries(Object.entries(done).map(([key, n]) => [key, n + (before[key as Harm] ?? 0)]));
  if (!unbooked) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(BOOK, JSON.stringify(total));
  }
  const sorted = firstAckMs.toSorted((a, b) => a - b).map(Math.round);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { ok: true, seed, done, total, until_20_acks_ms: { p50: at(0.5), p99: at(0.99) } };
}
