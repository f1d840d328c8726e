/**
 * A seeded world of three coordinators over one simulated log: the shipped leadership, replicas and term writers on databases in memory
 * that survive crashes. Appends are late, lost, or stored and not answered; lines are cut, processes stop for a while and go on, crash and
 * come back, clocks run at different rates, ids are forgotten before their time. Clients write, and write again what was not
 * answered; leaders act outside of the database while they trust themselves. One seed is one history.
 */
import type { DatabaseSync } from "node:sqlite";
import { memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import { rowsDigest } from "../../src/adapters/sqlite/replica/digests.ts";
import { openReplica, type Replica } from "../../src/adapters/sqlite/replica/replica.ts";
import { replicaPort } from "../../src/adapters/sqlite/replica/term-writer.ts";
import type { LeaseTiming } from "../../src/cluster/leadership/decide.ts";
import { type Leadership, type Leading, startLeadership } from "../../src/cluster/leadership/leadership.ts";
import { readTermAbout, writeTermAbout } from "../../src/cluster/leadership/members.ts";
import {
  type Clock,
  guardWith,
  isOperatingError,
  messageOf,
  pick,
  type Random,
  seededRandom,
  virtualClock,
} from "../../src/kernel/index.ts";
import {
  decodeEntry,
  defineOperation,
  defineStoreModule,
  encodeEntry,
  type Operation,
  type ReplicatedLog,
  type StoredEntry,
} from "../../src/router/index.ts";
import { type AppendFate, simulatedLog } from "../support/simulated-log.ts";
import { breathe } from "../support/virtual-time.ts";

export const PLANTS = [
  "none",
  "commit-before-ack",
  "pipelined-parts",
  "without-fence",
  "id-without-boot",
  "trust-without-margin",
  "without-schema-digest",
  "own-lease-alone",
] as const;
export type Plant = (typeof PLANTS)[number];

export interface ReplicasReport {
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly terms: number;
  readonly acked: number;
  readonly crashes: number;
  /** Acts outside that were held back. */
  readonly refusedActs: number;
}

const CLUSTER = { cluster: "simulated", generation: 1 };
const TIMING: LeaseTiming = { leaseMs: 12_000, marginMs: 2_000, beatMs: 3_000, headStartMs: 3_000 };
const NAMES = ["a", "b", "c"] as const;
/** Where somebody has set the leases differently: the part of the usual one that each has. */
const SHARES: Readonly<Record<string, number>> = { a: 1, b: 0.4, c: 1.5 };
const TROUBLE_MS = 60_000;
/** Long enough for the last misfortune to be over, and for somebody to lead again. */
const PEACE_MS = { least: 30_000, most: 120_000 };

/** Numbers each id once, as the journal does. */
const note = defineOperation<{ id: string }, number>("world.note", (tx, { id }) => {
  const known = tx.get<{ seq: number }>("SELECT seq FROM notes WHERE id = ?", id);
  if (known !== undefined) return known.seq;
  const seq = tx.get<{ n: number }>("SELECT count(*) AS n FROM notes")!.n + 1;
  tx.run("INSERT INTO notes (seq, id) VALUES (?, ?)", seq, id);
  return seq;
});

/** One attempt ends a job; every other one is told that it came too late. */
const finish = defineOperation<{ job: string; attempt: string }, boolean>("world.finish", (tx, { job, attempt }) => {
  tx.run("INSERT INTO ends (job, attempt) VALUES (?, ?) ON CONFLICT (job) DO NOTHING", job, attempt);
  return tx.get<{ attempt: string }>("SELECT attempt FROM ends WHERE job = ?", job)!.attempt === attempt;
});

const modules = [
  defineStoreModule({
    name: "world",
    migrations: [
      {
        id: 1,
        name: "notes and jobs",
        sql: `CREATE TABLE notes (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
              CREATE TABLE ends (job TEXT PRIMARY KEY, attempt TEXT NOT NULL) STRICT;`,
      },
    ],
    operations: [note, finish],
  }),
];

const leaderLeaseMs = (replica: Replica): number | undefined =>
  readTermAbout(replica.terms(1)[0]?.about ?? "")?.lease_ms ?? undefined;

/** One machine: its database outlives its processes. */
class Member {
  readonly name: string;
  readonly db: DatabaseSync;
  readonly rate: number;
  replica: Replica;
  life: Leadership | undefined;
  leading: Leading | undefined;
  isCut = false;
  broken: string | undefined;
  /** What a leader that sends two parts at once has still to write down. */
  secondPart: StoredEntry | undefined;
  /** Counts its processes; whatever an older one has left to do is never done. */
  boots = 0;
  stoppedUntil = 0;
  clock: Clock;

  constructor(name: string, rate: number, base: Clock) {
    this.name = name;
    this.rate = rate;
    this.db = memoryWriter(modules).db;
    this.replica = openReplica(this.db, CLUSTER);
    this.clock = base;
  }
}

class World {
  readonly base = virtualClock();
  readonly random: Random;
  readonly plant: Plant;
  readonly timing: LeaseTiming;
  readonly log;
  readonly members: readonly Member[];
  readonly trace: string[] = [];
  readonly violations: string[] = [];
  /** By id: the number that a client was told. */
  readonly acked = new Map<string, number>();
  readonly ends = new Map<string, string>();
  readonly effects: { readonly term: number; readonly at: number }[] = [];
  /** When the entry that began a term was stored. */
  readonly termAt = new Map<number, number>();
  /** Acts that the guard held back. */
  refusedActs = 0;
  isTroubled = true;
  crashes = 0;

  readonly #hasOwnLeases: boolean;

  constructor(seed: number, plant: Plant, hasOwnLeases: boolean) {
    this.random = seededRandom(seed);
    this.plant = plant;
    this.#hasOwnLeases = hasOwnLeases || plant === "own-lease-alone";
    const headStartMs = seed % 2 === 0 ? TIMING.headStartMs : 0;
    // Without a margin trust lasts as long as the others wait, and longer by the slower clock.
    this.timing = { ...TIMING, headStartMs, ...(plant === "trust-without-margin" ? { marginMs: 0 } : {}) };
    this.log = simulatedLog({
      clock: this.base,
      answerMs: 1_000,
      fateOf: () => this.#fate(),
      arrivalMs: () => pick(this.random, this.isTroubled ? 200 : 5),
    });
    this.members = NAMES.map((name) => new Member(name, 0.94 + this.random.next() * 0.12, this.base));
  }

  #fate(): AppendFate {
    const luck = this.isTroubled ? this.random.next() : 1;
    const [toMs, backMs] = [pick(this.random, 20), pick(this.random, 20)];
    const waits = this.isTroubled && pick(this.random, 2) === 0;
    if (luck < 0.02) return { toMs, backMs, fate: "lost" };
    if (luck < 0.05) return { toMs, backMs, fate: "stored, unanswered" };
    // So late that whoever sent it has long given up.
    if (luck < 0.07) return { toMs: pick(this.random, 30_000), backMs, fate: "answered" };
    return { toMs, backMs, fate: "answered", waits };
  }

  say(line: string): void {
    this.trace.push(`${Math.round(this.base.monotonic())} ${line}`);
  }

  /** The clock of one process: at its own rate, silent while the process is stopped, and for ever once it is dead. */
  #clockOf(member: Member): Clock {
    const { boots } = member;
    const run = (work: () => void) => {
      if (member.boots !== boots) return;
      const leftMs = member.stoppedUntil - this.base.monotonic();
      if (leftMs > 0) this.base.after(leftMs, () => run(work));
      else work();
    };
    return {
      now: () => this.base.now(),
      monotonic: () => this.base.monotonic() * member.rate,
      after: (delayMs, work) => this.base.after(delayMs / member.rate, () => run(work)),
    };
  }

  #wayOf(member: Member): ReplicatedLog {
    const { boots } = member;
    const way = this.log.connect(() => member.isCut || member.boots !== boots, member.clock);
    if (this.plant === "without-fence") return { ...way, append: (entry) => way.append(entry, this.log.last()) };
    if (this.plant === "pipelined-parts")
      return {
        ...way,
        append: (entry, expected) => {
          const { header, digest } = decodeEntry(entry.bytes);
          if (header.kind !== "changes") return way.append(entry, expected);
          // The second part of what is written is on its way before anybody knows what became of the first.
          const bytes = encodeEntry({ ...header, kind: "beat", chain: digest }, new Uint8Array());
          const answer = way.append(entry, expected);
          void way.append({ id: `${entry.id}.second`, bytes }, expected + 1).then(({ outcome }) => {
            if (outcome === "accepted") member.secondPart = { seq: expected + 2, bytes };
          });
          return answer;
        },
      };
    if (this.plant === "commit-before-ack")
      return {
        ...way,
        append(entry, expected) {
          const answer = way.append(entry, expected);
          // Who claims a term waits; whoever writes in it does not.
          if (decodeEntry(entry.bytes).header.kind !== "changes") return answer;
          return Promise.resolve({ outcome: "accepted", seq: expected + 1 });
        },
      };
    return way;
  }

  start(member: Member): void {
    member.boots += 1;
    const boot = `${member.name}${member.boots}`;
    member.clock = this.#clockOf(member);
    member.replica = openReplica(member.db, CLUSTER);
    // As if it did not look at the schema: a changeset for a table with more columns is taken without a word, and does nothing.
    if (this.plant === "without-schema-digest" && member.name === "c" && member.boots === 1)
      member.db.exec("DROP TABLE ends; CREATE TABLE ends (job TEXT PRIMARY KEY) STRICT;");
    const log = this.#wayOf(member);
    let sent = 0;
    const nextId = () => {
      sent += 1;
      const { term, seq } = member.replica.position();
      return this.plant === "id-without-boot" ? `${term}.${seq}` : `${boot}.${sent}`;
    };
    const port = replicaPort({ replica: member.replica, modules, log, clock: member.clock, nextId });
    const { boots } = member;
    const timing = this.#timingOf(member);
    member.life = startLeadership({
      replica: port,
      log,
      clock: member.clock,
      logLines: { info: (line) => this.say(line), warn: (line) => this.say(line) },
      timing,
      about: () => writeTermAbout({ url: member.name, fingerprint: null, version: "", lease_ms: timing.leaseMs }),
      leaderLeaseMs: () => (this.plant === "own-lease-alone" ? undefined : leaderLeaseMs(member.replica)),
      boot,
      node: member.name,
      givesWay: () => member.name !== "a",
      lead: async (leading) => {
        member.leading = leading;
        this.#act(member, leading);
        return async () => {
          if (member.boots === boots) member.leading = undefined;
        };
      },
    });
    member.life.running.catch((thrown: unknown) => {
      if (member.boots !== boots) return;
      member.broken = isOperatingError(thrown) ? thrown.code : messageOf(thrown);
      this.say(`${member.name} is broken: ${messageOf(thrown)}`);
    });
  }

  #timingOf({ name }: Member): LeaseTiming {
    const share = this.#hasOwnLeases ? SHARES[name]! : 1;
    const { leaseMs, marginMs, beatMs, headStartMs } = this.timing;
    return { leaseMs: leaseMs * share, marginMs: marginMs * share, beatMs: beatMs * share, headStartMs };
  }

  /** Whoever leads acts outside of the database as long as it may trust itself. */
  #act(member: Member, leading: Leading): void {
    const guard = guardWith(() => member.clock.monotonic() < leading.trustedUntil());
    const look = () => {
      if (member.leading !== leading || !this.isTroubled) return;
      try {
        guard("an act outside");
        this.effects.push({ term: leading.term.term, at: this.base.monotonic() });
      } catch {
        this.refusedActs += 1;
      }
      member.clock.after(50, look);
    };
    look();
  }

  crash(member: Member): void {
    this.crashes += 1;
    this.say(`${member.name} crashes`);
    member.boots += 1;
    member.life = undefined;
    member.leading = undefined;
    if (member.db.isTransaction) member.db.exec("ROLLBACK");
  }

  /** One misfortune, now and then. */
  trouble(): void {
    if (!this.isTroubled) return;
    const leader = this.members.find(({ leading }) => leading !== undefined);
    const anybody = this.members[pick(this.random, this.members.length)]!;
    // Who leads has most to lose.
    const member = this.random.next() < 0.4 ? (leader ?? anybody) : anybody;
    const lasts = 500 + pick(this.random, 25_000);
    const kind = pick(this.random, 7);
    if (kind <= 1 && member.life !== undefined) {
      this.crash(member);
      this.base.after(lasts, () => (member.life === undefined ? this.start(member) : undefined));
    } else if (kind === 2) {
      member.stoppedUntil = this.base.monotonic() + lasts;
      this.say(`${member.name} stops for ${lasts} ms`);
    } else if (kind === 3 || kind === 6) {
      member.isCut = true;
      this.say(`${member.name} is cut off for ${lasts} ms`);
      this.base.after(lasts, () => {
        member.isCut = false;
        this.log.wakeAll();
      });
    } else if (kind === 4) this.log.forgetIds();
    else if (member.leading !== undefined) {
      this.say(`${member.name} is asked to step down`);
      void member.life?.stepDown(NAMES[pick(this.random, 3)], "somebody asked");
    }
    this.base.after(1_000 + pick(this.random, 12_000), () => this.trouble());
  }

  /** Writes one after the other, each until somebody has answered it. */
  client(name: string): void {
    let n = 0;
    const next = () => {
      n += 1;
      if (n % 3 === 0)
        work(`${name}.${n}`, [finish({ job: `job ${n}`, attempt: name })], (won) => this.#ended(n, name, won));
      else work(`${name}.${n}`, [note({ id: `${name}.${n}` })], (seq) => this.#noted(`${name}.${n}`, seq));
    };
    const again = (run: () => void) => this.base.after(200 + pick(this.random, 3_000), run);
    const work = (id: string, operations: Operation[], done: (result: never) => void) => {
      const leaders = this.members.filter(({ leading }) => leading !== undefined);
      const member = leaders[pick(this.random, Math.max(1, leaders.length))];
      const retry = () => again(() => work(id, operations, done));
      if (member === undefined) return void retry();
      const { boots } = member;
      const asked = member.leading!.writer.apply([operations]).then(([outcome]) => {
        if (outcome!.ok && member.boots === boots) {
          done(outcome!.results[0] as never);
          again(next);
        } else retry();
      });
      // Nobody is answered by a process that has died.
      const hear = () => {
        if (member.boots !== boots && !settled) retry();
        else if (!settled) this.base.after(2_000, hear);
      };
      let settled = false;
      void asked.finally(() => {
        settled = true;
      });
      this.base.after(2_000, hear);
    };
    again(next);
  }

  #noted(id: string, seq: number): void {
    this.acked.set(id, seq);
  }

  #ended(n: number, name: string, won: boolean): void {
    if (!won) return;
    const before = this.ends.get(`job ${n}`);
    if (before !== undefined) this.violations.push(`job ${n} was ended by ${before} and by ${name}`);
    this.ends.set(`job ${n}`, name);
  }

  rollBack(entries: number): void {
    this.say(`the log forgets its last ${entries} entries`);
    this.log.rollBack(this.log.last() - entries);
    this.log.wakeAll();
  }

  /** Somebody asks now and then what the rows come to. */
  verify(): void {
    for (const { leading } of this.members) void leading?.writer.append("verify").catch(() => {});
    this.base.after(7_000, () => this.verify());
  }

  async run(untilMs: number, done: () => boolean = () => false): Promise<void> {
    while (this.base.monotonic() < untilMs && !done()) {
      const before = this.log.last();
      this.base.step();
      await breathe();
      for (let seq = before + 1; seq <= this.log.last(); seq += 1) this.#stored(seq);
      for (const member of this.members) this.#takeSecondPart(member);
    }
  }

  #takeSecondPart(member: Member): void {
    const { secondPart: part, replica, db } = member;
    if (part === undefined || db.isTransaction || replica.position().seq + 1 < part.seq) return;
    member.secondPart = undefined;
    if (member.leading !== undefined && replica.position().seq + 1 === part.seq) replica.replay([part]);
  }

  #stored(seq: number): void {
    const { header } = decodeEntry(this.log.entries()[seq - 1]!.bytes);
    if (header.kind === "term") this.termAt.set(header.term, this.base.monotonic());
    const newest = Math.max(...this.termAt.keys());
    if (header.term < newest)
      this.violations.push(`entry ${seq} is of term ${header.term}, after term ${newest} began`);
  }

  /** Thousands of worlds fit into one process when none leaves its databases behind. Nothing of it runs after its clock. */
  close(): void {
    for (const { db } of this.members) db.close();
  }

  isAtPeace(): boolean {
    const { log, members } = this;
    return (
      members.some(({ leading }) => leading !== undefined) &&
      members.every(
        ({ broken, replica, db }) =>
          broken !== undefined || (!db.isTransaction && replica.position().seq === log.last()),
      )
    );
  }

  judge(): void {
    const { members, violations, acked } = this;
    for (const { name, broken } of members) if (broken !== undefined) violations.push(`${name} broke: ${broken}`);
    if (!this.isAtPeace()) violations.push("there is no leader, or not all have caught up, in peace");
    for (const { name, db } of members) {
      const stored = new Map(
        db
          .prepare("SELECT id, seq FROM notes")
          .all()
          .map(({ id, seq }) => [String(id), Number(seq)]),
      );
      const wrong = [...acked].filter(([id, seq]) => stored.get(id) !== seq);
      if (wrong.length > 0) violations.push(`${name} lacks ${wrong.length} of ${acked.size} acknowledged notes`);
    }
    if (new Set(members.map(({ db }) => rowsDigest(db))).size > 1) violations.push("replicas differ at the same entry");
    const checks = Map.groupBy(
      members.flatMap(({ replica }) => replica.checks()),
      ({ seq }) => seq,
    );
    for (const [seq, all] of checks)
      if (new Set(all.map(({ digest }) => digest)).size > 1) violations.push(`replicas differed at entry ${seq}`);
    for (const { name, life } of members) {
      const refused = life?.refused() ?? null;
      if (refused === null) continue;
      const { header } = decodeEntry(this.log.entries()[refused.seq - 1]!.bytes);
      if (header.node !== refused.by || header.term !== refused.by_term || header.term <= refused.term)
        violations.push(`${name} says that entry ${refused.seq} is of ${refused.by}, which it is not`);
    }
    for (const { term, at } of this.effects) {
      const next = this.termAt.get(term + 1);
      if (next !== undefined && at > next) {
        violations.push(`term ${term} acted ${Math.round(at - next)} ms after term ${term + 1} began`);
        break;
      }
    }
  }
}

/** The log forgets its newest entries once, as no log should: that must be noticed, and never spread. */
export async function runRolledBack(seed: number): Promise<ReplicasReport & { readonly noticed: readonly string[] }> {
  const world = new World(seed, "none", false);
  for (const member of world.members) world.start(member);
  for (const name of ["x", "y", "z"]) world.client(name);
  await world.run(TROUBLE_MS / 3);
  // Where one was cut off, it does not know what the log has lost, and goes on from there.
  const behind = seed % 2 === 0 ? undefined : world.members[2];
  if (behind !== undefined) behind.isCut = true;
  await world.run(TROUBLE_MS / 2);
  if (behind !== undefined) behind.isCut = false;
  world.rollBack(1 + pick(world.random, 8));
  world.isTroubled = false;
  await world.run(TROUBLE_MS + PEACE_MS.most);
  const { trace, acked, crashes, termAt, members, refusedActs } = world;
  // What the log has lost may be done again; only that it is noticed and does not spread can be asked for.
  const violations: string[] = [];
  const sound = members.filter(({ broken }) => broken === undefined);
  const noticed = members.flatMap(({ broken }) => broken ?? []);
  for (const one of sound)
    for (const other of sound)
      if (
        one.replica.position().seq === other.replica.position().seq &&
        !one.db.isTransaction &&
        !other.db.isTransaction &&
        rowsDigest(one.db) !== rowsDigest(other.db)
      )
        violations.push(`${one.name} and ${other.name} differ at the same entry`);
  const lacking = sound.filter(({ db }) => {
    const stored = new Set(
      db
        .prepare("SELECT id FROM notes")
        .all()
        .map(({ id }) => String(id)),
    );
    return [...acked.keys()].some((id) => !stored.has(id));
  });
  if (lacking.length > 0 && noticed.length === 0) violations.push("acknowledged notes are gone, and nobody noticed");
  const sums = { terms: termAt.size, acked: acked.size, crashes, refusedActs };
  return { violations, trace, ...sums, noticed };
}

/** `hasOwnLeases`: somebody has set them differently. */
export async function runReplicas(seed: number, plant: Plant = "none", hasOwnLeases = false): Promise<ReplicasReport> {
  const world = new World(seed, plant, hasOwnLeases);
  for (const member of world.members) world.start(member);
  for (const name of ["x", "y", "z"]) world.client(name);
  world.trouble();
  world.verify();
  await world.run(TROUBLE_MS);
  world.isTroubled = false;
  for (const member of world.members) {
    member.isCut = false;
    if (member.life === undefined && member.broken === undefined) world.start(member);
  }
  world.log.wakeAll();
  const peaceful = () => world.base.monotonic() > TROUBLE_MS + PEACE_MS.least && world.isAtPeace();
  await world.run(TROUBLE_MS + PEACE_MS.most, peaceful);
  world.judge();
  world.close();
  const { violations, trace, acked, crashes, termAt, refusedActs } = world;
  return { violations, trace, terms: termAt.size, acked: acked.size, crashes, refusedActs };
}
