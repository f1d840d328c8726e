/**
 * A seeded world around the shipped router: SQLite in memory that survives crashes, a clock that only the world moves, a
 * disk that answers late and at times refuses to write or to be read, crashes before and after the commit, commits of more
 * events than a consumer has places for, handlers that are slow, fail and poison, letters that are sent back amid the traffic or
 * given up in the end, and a consumer that keeps changing its mind about what it wants. One seed is one history.
 */
import { z } from "zod";
import { inThreadStore, memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import type { SqliteWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { builtinRows, createCatalog, defineEvents } from "../../src/events/index.ts";
import {
  type Clock,
  createIds,
  OperatingError,
  pick,
  type Random,
  seededRandom,
  silentLog,
  virtualClock,
} from "../../src/kernel/index.ts";
import { type DurableHandler, defineTable, EventRouter, pairsOfEvent, type Store } from "../../src/router/index.ts";
import { countPairs } from "../../src/router/journal/queries.ts";
import { enforceRetention } from "../../src/router/journal/retention.ts";

export type Plant = "none" | "ack-before-handler" | "dedup-everywhere" | "overflow-unread" | keyof typeof PLANTED_ROWS;

/** Faults of the code that writes rows, planted as triggers that undo what it does. */
const PLANTED_ROWS = {
  "discard-off-record": `CREATE TRIGGER planted BEFORE INSERT ON dead_letter_actions WHEN NEW.action = 'discard'
    BEGIN SELECT RAISE(IGNORE); END`,
  "deliveries-for-ever": `CREATE TRIGGER planted BEFORE DELETE ON deliveries WHEN OLD.state IN ('done', 'expired')
    BEGIN SELECT RAISE(IGNORE); END`,
  "letters-without-events": `CREATE TRIGGER planted AFTER DELETE ON events
    BEGIN DELETE FROM events WHERE seq IN (SELECT seq FROM dead_letters WHERE status = 'pending'); END`,
} as const;

export interface WorldOptions {
  readonly seed: number;
  readonly events?: number;
  readonly plant?: Plant;
}

export interface WorldReport {
  readonly trace: readonly string[];
  /** Promises of the contract that did not hold. */
  readonly violations: readonly string[];
  readonly crashes: number;
  readonly published: number;
}

const eventRows = (plant: Plant) => {
  const dedup = plant === "dedup-everywhere" ? { dedup: "content" as const } : {};
  return {
    ...builtinRows,
    ...defineEvents("simulation", {
      WORK_DONE: {
        about: "Work.",
        class: "durable",
        orderKey: "key",
        payload: { key: z.string(), n: z.number() },
        ...dedup,
      },
      WORK_FREE: {
        about: "Work without order.",
        class: "durable",
        orderKey: null,
        payload: { n: z.number() },
        ...dedup,
      },
      WORK_ECHO: {
        about: "An answer.",
        class: "durable",
        orderKey: "key",
        payload: { key: z.string(), of: z.string() },
      },
    }),
  };
};

/** How often the effect of an event was counted, by consumer and event. */
const effects = defineTable<{ n: number }>("effects");
/** The last sequence number handled, by consumer and key. */
const lastSeen = defineTable<{ seq: number }>("last_seen");

const CONSUMERS = ["steady", "moody", "echoing"] as const;

/** Places in a consumer's window; some commits hold more events. */
const WINDOW = 12;

/** Until when the disk refuses to write, and to be read. */
interface Disk {
  refusesUntil: number;
  blindUntil: number;
}

interface Surroundings {
  readonly writer: SqliteWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly plant: Plant;
  readonly disk: Disk;
  readonly crash: (at: string) => boolean;
}

class Incarnation {
  readonly router: EventRouter;
  alive = true;
  /** It stands, so that what it reads may fail. */
  booted = false;

  constructor({ writer, clock, random, plant, disk, crash }: Surroundings) {
    const mine: Clock = {
      now: clock.now,
      monotonic: clock.monotonic,
      after: (delayMs, run) => clock.after(delayMs, () => (this.alive ? run() : undefined)),
    };
    // The port to the writer keeps its order: a batch arrives, and is answered, after the one before it.
    let arrives = 0;
    let answers = 0;
    const inOrder = (after: number, delayMs: number) => Math.max(after, clock.monotonic() + delayMs);
    const whole = inThreadStore(writer, {
      clock: mine,
      carry: (apply) => {
        arrives = inOrder(arrives, pick(random, 8));
        clock.after(arrives - clock.monotonic(), () => {
          if (!this.alive) return;
          const luck = random.next();
          if (luck < 0.004 && crash("before commit")) return;
          const refuses = clock.monotonic() < disk.refusesUntil;
          if (refuses) writer.db.exec("PRAGMA query_only = 1");
          const answer = apply();
          if (refuses) writer.db.exec("PRAGMA query_only = 0");
          if (luck >= 0.004 && luck < 0.008 && crash("after commit, before reply")) return;
          answers = inOrder(answers, pick(random, 4));
          clock.after(answers - clock.monotonic(), () => (this.alive ? answer() : undefined));
        });
      },
    });
    const store: Store = {
      ...whole,
      read: (sql, ...params) => {
        if (this.booted && clock.monotonic() < disk.blindUntil)
          throw OperatingError.unavailable("STORE_IO", "the disk failed to read");
        // The planted bug: what a commit brought beyond the free places of a consumer is never read on.
        if (plant === "overflow-unread" && this.booted && sql.includes(" FROM events WHERE seq >")) return [];
        return whole.read(sql, ...params);
      },
    };
    this.router = new EventRouter({
      catalog: createCatalog(eventRows(plant)),
      store,
      clock: mine,
      random,
      log: silentLog(),
      nodeId: "sim",
      settings: { window: WINDOW, concurrency: 4, handlerTimeoutMs: 2_000, breakerThreshold: 6, breakerOpenMs: 3_000 },
    }) as unknown as EventRouter;
  }
}

export async function simulate(options: WorldOptions): Promise<WorldReport> {
  const { seed, plant = "none" } = options;
  const random = seededRandom(seed);
  const clock = virtualClock();
  const ids = createIds(clock, random);
  const writer = memoryWriter(storeModules);
  if (plant in PLANTED_ROWS) writer.db.exec(PLANTED_ROWS[plant as keyof typeof PLANTED_ROWS]);
  const trace: string[] = [];
  const violations: string[] = [];
  const say = (line: string) => void trace.push(`${clock.monotonic()} ${line}`);
  const acked = new Map<string, number>();
  const target = options.events ?? 30 + pick(random, 40);
  const poison = new Set<number>();
  for (let n = 0; n < target; n += 1) if (random.next() < 0.03) poison.add(n);
  let crashes = 0;
  let published = 0;
  let faulty = true;
  let incarnation: Incarnation;
  const disk: Disk = { refusesUntil: 0, blindUntil: 0 };
  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  const sentBack = writer.db.prepare(
    "SELECT 1 FROM dead_letters WHERE consumer = ? AND seq = ? AND status = 'retrying'",
  );

  const restart = (at: string): boolean => {
    if (!faulty) return false;
    crashes += 1;
    say(`crash ${at}`);
    incarnation.alive = false;
    clock.after(5 + pick(random, 50), () => void boot());
    return true;
  };

  const handlerFor = (consumer: string): DurableHandler => {
    const world = () => incarnation;
    return async (event, { rows, emit, signal }) => {
      const born = world();
      const n = (event.payload as { n?: number }).n ?? -1;
      const live = () => born.alive && !signal.aborted;
      if (consumer === "moody" && random.next() < 0.15) throw new Error(`moody about ${event.seq}`);
      if (poison.has(n) && consumer !== "steady") throw new Error("poison");
      if (random.next() < 0.3) await new Promise<void>((resolve) => clock.after(pick(random, 60), resolve));
      if (faulty && random.next() < 0.01) await new Promise<void>((resolve) => clock.after(5_000, resolve));
      if (!live()) return new Promise<void>(() => {});
      const key = `${consumer}/${event.eventId}`;
      rows.put(effects, key, { n: (rows.get(effects, key)?.n ?? 0) + 1 });
      // A letter that was sent back comes late by its nature, and so does what a changed mind wants of the past.
      if (event.orderKey !== null && consumer !== "fickle" && sentBack.get(consumer, event.seq) === undefined) {
        const at = `${consumer}/${event.orderKey}`;
        const last = rows.get(lastSeen, at)?.seq ?? 0;
        if (last >= event.seq!) violations.push(`${consumer}: ${event.seq} of key ${event.orderKey} after ${last}`);
        rows.put(lastSeen, at, { seq: event.seq! });
      }
      if (consumer === "echoing" && event.eventType === "WORK_DONE")
        emit("WORK_ECHO", { key: event.orderKey ?? "", of: event.eventId });
      say(`${consumer} handles ${event.seq}`);
      return undefined;
    };
  };

  /** The planted bug: the delivery is acked at once, and the handler's effect is written later, if at all. */
  const ackFirst =
    (handler: DurableHandler): DurableHandler =>
    (event, context) => {
      const born = incarnation;
      clock.after(20, () => {
        if (born.alive) void Promise.resolve(handler(event, context)).catch(() => undefined);
      });
    };

  const boot = async () => {
    incarnation = new Incarnation({ writer, clock, random, plant, disk, crash: restart });
    const mine = incarnation;
    say("boot");
    for (const consumer of CONSUMERS) {
      const handler = plant === "ack-before-handler" ? ackFirst(handlerFor(consumer)) : handlerFor(consumer);
      const handlers: Record<string, DurableHandler> = { WORK_DONE: handler, WORK_FREE: handler };
      if (consumer === "steady") handlers.WORK_ECHO = handler;
      await insist(mine, () => mine.router.consume({ consumer, handlers, start: "earliest", deafTo: consumer }));
      if (!mine.alive) return;
    }
    mine.booted = true;
    void runSession(mine);
    void runFickle(mine);
  };

  /** Again and again while the disk refuses; undefined if the process died over it. */
  const insist = async <T>(mine: Incarnation, attempt: () => Promise<T>): Promise<T | undefined> => {
    while (mine.alive) {
      try {
        return await attempt();
      } catch {
        await wait(50);
      }
    }
    return undefined;
  };

  /** A consumer that comes with other wishes each time, and now and then says goodbye. */
  const runFickle = async (mine: Incarnation) => {
    const all = ["WORK_DONE", "WORK_FREE", "WORK_ECHO", "*"];
    while (mine.alive) {
      const handler = handlerFor("fickle");
      const wanted = all.filter(() => random.next() < 0.4);
      const handlers = Object.fromEntries(
        (wanted.length === 0 ? ["WORK_FREE"] : wanted).map((type) => [type, handler]),
      );
      const start = random.next() < 0.5 ? "earliest" : "now";
      const consuming = await insist(mine, () => mine.router.consume({ consumer: "fickle", handlers, start }));
      say(`fickle wants ${Object.keys(handlers)} from ${start}`);
      await wait(100 + pick(random, 800));
      if (!mine.alive || !faulty) return;
      await consuming?.stop();
      if (random.next() < 0.3) await insist(mine, () => mine.router.forgetConsumer("fickle"));
    }
  };

  /** Bad times for the disk, and somebody who sends letters back. */
  const meddler = async () => {
    while (faulty) {
      await wait(100 + pick(random, 600));
      const luck = random.next();
      if (!faulty) break;
      if (luck < 0.15) disk.refusesUntil = clock.monotonic() + pick(random, 1_500);
      else if (luck < 0.3) disk.blindUntil = clock.monotonic() + pick(random, 300);
      else if (luck < 0.6) {
        const sent = await incarnation.router.deadLetters.retryAll({ maxEvents: 3 }).catch(() => []);
        say(`${sent.length} letters go back`);
      }
    }
    disk.refusesUntil = 0;
    disk.blindUntil = 0;
  };

  /** A consumer of another process: polls, works in order, acks, sometimes nacks, sometimes vanishes and comes back. */
  const runSession = async (mine: Incarnation) => {
    while (mine.alive) {
      const session = await insist(mine, () =>
        mine.router.openSession({
          consumer: "outside",
          eventTypes: ["WORK_DONE"],
          start: "earliest",
          leaseMs: 3_000,
        }),
      );
      if (session === undefined) return;
      let open = true;
      while (open && mine.alive) {
        const batch = await session.poll(1 + pick(random, 6), 500);
        const failedKeys = new Set<string>();
        const last = batch.at(-1)?.event;
        // Now and then the last one is given up first, while those before it are still being worked on.
        const first = last !== undefined && batch.length > 1 && random.next() < 0.1 ? last.seq! : undefined;
        if (first !== undefined) await session.nack(first, "no, before the others");
        for (const { event } of batch) {
          if (event.seq === first || (event.orderKey !== null && failedKeys.has(event.orderKey))) continue;
          await new Promise<void>((resolve) => clock.after(pick(random, 10), resolve));
          if (!mine.alive) return;
          const luck = random.next();
          if (luck < 0.06) {
            failedKeys.add(event.orderKey ?? "");
            await session.nack(event.seq!, "no");
          } else if (luck < 0.08 && faulty) {
            await mine.router.closeSession(session, true);
            open = false;
            break;
          } else {
            const echo = mine.router.prepare(
              "WORK_ECHO",
              { key: "outside", of: event.eventId },
              { parent: event, source: "outside" },
            );
            const done = await session.ack([event.seq!], [echo]).then(
              ({ acked: ended }) => ended,
              () => [],
            );
            // Refused: the others on its key must not overtake it.
            if (done.length === 0) failedKeys.add(event.orderKey ?? "");
            else say(`outside acks ${event.seq}`);
          }
        }
      }
    }
  };

  const publisher = async () => {
    while (published < target) {
      await new Promise<void>((resolve) => clock.after(pick(random, 40), resolve));
      const wanted = random.next() < 0.02 ? WINDOW + pick(random, WINDOW) : 1;
      const batch = Array.from({ length: Math.min(wanted, target - published) }, (_, i): Said => {
        const n = published + i;
        const ordered = random.next() < 0.75;
        // Contents repeat on purpose: two events may say the same and are still two.
        const payload = ordered ? { key: `k${pick(random, 4)}`, n: n - (n % 2) } : { n: n - (n % 3) };
        return { type: ordered ? "WORK_DONE" : "WORK_FREE", payload, eventId: ids.uuid() };
      });
      published += batch.length;
      void deliverOnce(batch);
    }
  };

  /** Publishes all in one commit until it is acknowledged; the ids of events make the repeats harmless. */
  const deliverOnce = async (batch: readonly Said[]) => {
    for (;;) {
      const { router } = incarnation;
      const prepared = batch.map(({ type, payload, eventId }) =>
        router.prepare(type, payload, { eventId, source: "publisher" }),
      );
      const answer = router.publishAll(prepared).catch(() => undefined);
      const lost = new Promise<"lost">((resolve) => clock.after(400, () => resolve("lost")));
      const result = await Promise.race([answer, lost]);
      if (result !== undefined && result !== "lost") {
        for (const [i, { eventId, seq, suppressed }] of result.entries()) {
          if (suppressed === "content") violations.push(`${batch[i]!.eventId} was taken for a repeat of ${eventId}`);
          acked.set(batch[i]!.eventId, seq ?? -1);
          say(`acked ${seq}`);
        }
        return;
      }
      await new Promise<void>((resolve) => clock.after(50, resolve));
    }
  };

  void boot();
  void meddler();
  const publishing = publisher();
  void publishing;
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const reader = readerOf(writer);
  const open = () =>
    countPairs(reader).filter(({ state }) => state === "owed" || state === "parked" || state === "retrying");
  let isGivenUp: boolean | undefined;
  const giveUp = async () => {
    isGivenUp = false;
    const letters = await incarnation.router.deadLetters.discard({ filter: {}, maxEvents: 2 });
    say(`${letters.length} letters are given up`);
    isGivenUp = true;
  };
  for (let steps = 0; steps < 60_000; steps += 1) {
    await turn();
    if (!clock.step()) break;
    if (steps % 64 === 0 && acked.size === target) {
      faulty = false;
      disk.refusesUntil = 0;
      disk.blindUntil = 0;
      if (open().length > 0) continue;
      if (isGivenUp) break;
      if (isGivenUp === undefined) void giveUp();
    }
  }
  check(writer, acked, target, violations, open(), reader);
  await checkRetention(writer, clock, violations);
  incarnation!.alive = false;
  writer.close();
  return { trace, violations, crashes, published };
}

/** It asks few questions many times: each is prepared once. */
const readerOf = ({ db }: SqliteWriter) => {
  const prepared = new Map<string, ReturnType<typeof db.prepare>>();
  return {
    read: <T>(sql: string, ...params: (string | number | null)[]): T[] => {
      const asked = prepared.get(sql) ?? db.prepare(sql);
      prepared.set(sql, asked);
      return asked.all(...params) as T[];
    },
  };
};

/** The oracle: the contract, judged from the database alone. */
function check(
  writer: SqliteWriter,
  acked: ReadonlyMap<string, number>,
  target: number,
  violations: string[],
  open: readonly { consumer: string; state: string; pairs: number }[],
  reader: ReturnType<typeof readerOf>,
): void {
  const all = <T>(sql: string) => writer.db.prepare(sql).all() as T[];
  if (acked.size !== target) violations.push(`${target - acked.size} publishes were never acknowledged`);
  for (const { consumer, state, pairs } of open) violations.push(`${consumer}: ${pairs} pairs stay ${state}`);
  const journal = new Map(
    all<{ event_id: string; seq: number }>("SELECT event_id, seq FROM events").map((e) => [e.event_id, e.seq]),
  );
  for (const [eventId, seq] of acked)
    if (journal.get(eventId) !== seq) violations.push(`acknowledged event ${seq} is not in the journal`);

  const counted = new Map(
    all<{ key: string; value: string }>("SELECT key, value FROM state_rows WHERE table_name = 'effects'").map(
      ({ key, value }) => [key, (JSON.parse(value) as { n: number }).n],
    ),
  );
  const dead = new Set(
    all<{ consumer: string; event_id: string }>(
      "SELECT consumer, event_id FROM dead_letters WHERE status IN ('pending', 'discarded')",
    ).map((l) => `${l.consumer}/${l.event_id}`),
  );
  const events = all<{
    seq: number;
    event_id: string;
    event_type: string;
    order_key: string | null;
    source: string;
    parent_event_id: string | null;
  }>("SELECT * FROM events ORDER BY seq");
  for (const event of events)
    for (const { consumer, state } of pairsOfEvent(reader, event.seq)) {
      if (consumer === "outside") continue;
      const found = counted.get(`${consumer}/${event.event_id}`) ?? 0;
      if (found !== (state === "done" ? 1 : 0))
        violations.push(`${consumer} and ${event.seq} are ${state}, with ${found} effects`);
    }
  checkOutside(
    events,
    new Set(all<{ seq: number }>("SELECT seq FROM dead_letters WHERE consumer = 'outside'").map(({ seq }) => seq)),
    violations,
  );
  for (const consumer of CONSUMERS)
    for (const event of events) {
      const hears = ["WORK_DONE", "WORK_FREE", ...(consumer === "steady" ? ["WORK_ECHO"] : [])].includes(
        event.event_type,
      );
      if (!hears || event.source === consumer) continue;
      const key = `${consumer}/${event.event_id}`;
      const wanted = dead.has(key) ? 0 : 1;
      if ((counted.get(key) ?? 0) !== wanted)
        violations.push(`${key}: ${wanted} effect expected, ${counted.get(key) ?? 0} found`);
    }
  for (const speaker of ["echoing", "outside"])
    for (const event of events.filter((e) => e.event_type === "WORK_DONE")) {
      const answers = events.filter(
        (e) => e.parent_event_id === event.event_id && e.source === speaker && e.event_type === "WORK_ECHO",
      ).length;
      const wanted = dead.has(`${speaker}/${event.event_id}`) ? 0 : 1;
      if (answers !== wanted)
        violations.push(`${speaker} answered ${event.event_id} ${answers} times, ${wanted} expected`);
    }
  const [discards] = all<{ letters: number; recorded: number }>(
    `SELECT (SELECT count(*) FROM dead_letters WHERE status = 'discarded') AS letters,
       (SELECT total(affected) FROM dead_letter_actions WHERE action = 'discard') AS recorded`,
  );
  if (discards!.letters !== discards!.recorded)
    violations.push(`${discards!.letters} letters were given up, ${discards!.recorded} are on record`);
  const verdict = all<{ integrity_check: string }>("PRAGMA integrity_check")[0]?.integrity_check;
  if (verdict !== "ok") violations.push(`integrity: ${verdict}`);
}

/** When all is told and old, the journal goes: how deliveries went goes with it, and what a letter is about stays. */
async function checkRetention(writer: SqliteWriter, clock: Clock, violations: string[]): Promise<void> {
  const store = inThreadStore(writer, { clock, carry: (apply) => apply()() });
  const count = (sql: string) => store.read<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`)[0]!.n;
  const LETTERS = "dead_letters WHERE status = 'pending'";
  const letters = count(LETTERS);
  await enforceRetention(store, { olderThan: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER, chunk: 16 });
  const left = count("deliveries WHERE seq < (SELECT min(seq) FROM events)");
  if (left > 0) violations.push(`${left} deliveries outlive their events`);
  const about = count(`${LETTERS} AND seq IN (SELECT seq FROM events)`);
  if (about !== letters) violations.push(`of ${letters} letters ${letters - about} have lost what they are about`);
}

interface Said {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly eventId: string;
}

interface Journaled {
  readonly seq: number;
  readonly event_id: string;
  readonly order_key: string | null;
  readonly source: string;
  readonly parent_event_id: string | null;
}

/** What the outside consumer acked, in the order of its answers, keeps the order of each key; letters come when they come. */
function checkOutside(events: readonly Journaled[], letters: ReadonlySet<number>, violations: string[]): void {
  const byId = new Map(events.map((event) => [event.event_id, event]));
  const last = new Map<string, number>();
  for (const answer of events) {
    const cause = answer.source === "outside" ? byId.get(answer.parent_event_id ?? "") : undefined;
    if (cause === undefined || cause.order_key === null || letters.has(cause.seq)) continue;
    const before = last.get(cause.order_key) ?? 0;
    if (before >= cause.seq) violations.push(`outside: ${cause.seq} of key ${cause.order_key} after ${before}`);
    last.set(cause.order_key, cause.seq);
  }
}
