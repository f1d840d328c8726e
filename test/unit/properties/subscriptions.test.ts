import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { inThreadStore, memoryWriter } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { createCatalog, defineEvents } from "../../../src/events/index.ts";
import { type Clock, seededRandom, silentLog, virtualClock } from "../../../src/kernel/index.ts";
import { EventRouter, expireConsumers, type Session, type Store } from "../../../src/router/index.ts";
import { countPairs } from "../../../src/router/journal/queries.ts";
import { rounds } from "../../support/thorough.ts";

const TYPES = ["ALPHA", "BETA", "GAMMA"] as const;
const rows = defineEvents("test", {
  ALPHA: { about: "Ordered.", class: "durable", orderKey: "key", payload: { key: z.string() } },
  BETA: { about: "Not ordered.", class: "durable", orderKey: null, payload: { key: z.string() } },
  GAMMA: { about: "Ordered too.", class: "durable", orderKey: "key", payload: { key: z.string() } },
});
const MAX_ATTEMPTS = 2;

interface Pair {
  state: "open" | "done" | "dead" | "expired";
  attempts: number;
  /** It was a dead letter and has been sent back. */
  letter: boolean;
}

/** The contract in memory: a row for every pair that was ever owed. */
class Model {
  readonly events: string[] = [];
  readonly consumers = new Map<string, { types: ReadonlySet<string>; pairs: Map<number, Pair> }>();

  #of(consumer: string) {
    let known = this.consumers.get(consumer);
    if (known === undefined) {
      known = { types: new Set(), pairs: new Map() };
      this.consumers.set(consumer, known);
    }
    return known;
  }

  #giveUp(pair: Pair): void {
    if (pair.state === "open") pair.state = pair.letter ? "dead" : "expired";
  }

  publish(type: string): void {
    this.events.push(type);
    for (const { types, pairs } of this.consumers.values())
      if (types.has(type) || types.has("*"))
        pairs.set(this.events.length, { state: "open", attempts: 0, letter: false });
  }

  register(consumer: string, types: readonly string[], start: "earliest" | "now"): void {
    const known = this.#of(consumer);
    const before = known.types;
    const wanted = new Set(types);
    const had = (type: string) => before.has(type) || before.has("*");
    const wants = (type: string) => wanted.has(type) || wanted.has("*");
    for (const [seq, pair] of known.pairs) {
      const type = this.events[seq - 1]!;
      if (had(type) && !wants(type)) this.#giveUp(pair);
    }
    const added = (type: string) => [type, "*"].some((name) => wanted.has(name) && !before.has(name));
    if (start === "earliest")
      for (const [i, type] of this.events.entries())
        if (added(type) && !known.pairs.has(i + 1))
          known.pairs.set(i + 1, { state: "open", attempts: 0, letter: false });
    known.types = wanted;
  }

  endAll(consumer: string): void {
    const known = this.consumers.get(consumer);
    if (known === undefined) return;
    for (const pair of known.pairs.values()) this.#giveUp(pair);
    known.types = new Set();
  }

  fail(pair: Pair): void {
    pair.attempts += 1;
    if (pair.attempts < MAX_ATTEMPTS) return;
    pair.state = "dead";
    pair.letter = false;
  }

  sendBack(consumer: string): void {
    for (const pair of this.consumers.get(consumer)?.pairs.values() ?? [])
      if (pair.state === "dead") Object.assign(pair, { state: "open", letter: true, attempts: MAX_ATTEMPTS - 1 });
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [consumer, { pairs }] of this.consumers)
      for (const { state } of pairs.values())
        counts[`${consumer} ${state}`] = (counts[`${consumer} ${state}`] ?? 0) + 1;
    return counts;
  }
}

const storedCounts = (store: Store): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { consumer, state, pairs } of countPairs(store)) {
    const key = `${consumer} ${state === "owed" || state === "parked" || state === "retrying" ? "open" : state}`;
    counts[key] = (counts[key] ?? 0) + pairs;
  }
  return counts;
};

/** The router over a database that outlives it. */
class World {
  readonly clock = virtualClock();
  readonly writer = memoryWriter(storeModules);
  readonly model = new Model();
  readonly sessions = new Map<string, Session>();
  router: EventRouter;
  store: Store;
  #life = { alive: true };
  #boots = 0;

  constructor() {
    [this.router, this.store] = this.#boot();
  }

  #boot(): [EventRouter, Store] {
    this.#boots += 1;
    const life = { alive: true };
    this.#life = life;
    const clock: Clock = {
      now: this.clock.now,
      monotonic: this.clock.monotonic,
      after: (delayMs, run) => this.clock.after(delayMs, () => (life.alive ? run() : undefined)),
    };
    const store = inThreadStore(this.writer, { clock });
    const router = new EventRouter({
      catalog: createCatalog(rows),
      store,
      clock,
      random: seededRandom(this.#boots),
      log: silentLog(),
      nodeId: "test",
      settings: { window: 4, maxAttempts: MAX_ATTEMPTS, retryFirstMs: 10, retryMostMs: 20 },
    });
    return [router as unknown as EventRouter, store];
  }

  /** As after a kill: nothing is flushed, nothing said. */
  restart(): void {
    this.#life.alive = false;
    this.sessions.clear();
    [this.router, this.store] = this.#boot();
  }

  /** Lets waits pass and answers arrive. */
  async settle(): Promise<void> {
    for (let i = 0; i < 30; i += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.clock.step()) break;
    }
  }

  /** Takes some and answers for each, in order or the other way round. A failed one takes back what follows on its key. */
  async work(consumer: string, most: number, verdicts: readonly boolean[], backwards = false): Promise<number> {
    const session = this.sessions.get(consumer);
    if (session === undefined) return 0;
    const batch = await session.poll(most, 0);
    const failed = new Map<string, number>();
    for (const [i, { event, attempt }] of (backwards ? batch.reverse() : batch).entries()) {
      const seq = event.seq!;
      if (event.orderKey !== null && seq > (failed.get(event.orderKey) ?? seq)) continue;
      const pair = this.model.consumers.get(consumer)?.pairs.get(seq);
      expect(pair, `${consumer} gets ${seq}`).toMatchObject({ state: "open", attempts: attempt - 1 });
      if (verdicts[i % verdicts.length]) {
        expect(await session.ack([seq])).toEqual({ acked: [seq], refused: [] });
        pair!.state = "done";
      } else {
        expect(await session.nack(seq, "no")).not.toBe("refused");
        this.model.fail(pair!);
        // After the last try the key goes on: what follows stays with the session.
        if (event.orderKey !== null && pair!.state === "open")
          failed.set(event.orderKey, Math.min(seq, failed.get(event.orderKey) ?? seq));
      }
    }
    return batch.length;
  }
}

type Action = (world: World) => Promise<void>;
const named = (label: string, action: Action) => Object.assign(action, { toString: () => label });
const consumer = fc.constantFrom("one", "two");
const wanted = fc.oneof(
  { weight: 4, arbitrary: fc.subarray([...TYPES], { minLength: 1 }) },
  { weight: 1, arbitrary: fc.constant(["*"]) },
);

const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom(...TYPES), fc.constantFrom("x", "y")).map(([type, key]) =>
      named(`publish ${type} ${key}`, async ({ router, model }) => {
        await router.publish(type, { key });
        model.publish(type);
      }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(consumer, wanted, fc.constantFrom("earliest" as const, "now" as const))
      .map(([name, types, start]) =>
        named(`connect ${name} ${types} ${start}`, async (world) => {
          world.sessions.set(name, await world.router.openSession({ consumer: name, eventTypes: types, start }));
          world.model.register(name, types, start);
        }),
      ),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        consumer,
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
      )
      .map(([name, most, verdicts, backwards]) =>
        named(`work ${name} ${most} ${verdicts} ${backwards}`, async (world) => {
          await world.work(name, most, verdicts, backwards);
        }),
      ),
  },
  {
    weight: 1,
    arbitrary: consumer.map((name) =>
      named(`disconnect ${name}`, async ({ router, sessions }) => {
        const session = sessions.get(name);
        sessions.delete(name);
        if (session !== undefined) await router.closeSession(session, false);
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: consumer.map((name) =>
      named(`forget ${name}`, async ({ router, sessions, model }) => {
        sessions.delete(name);
        await router.forgetConsumer(name);
        model.endAll(name);
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant(
      named("expire those who are away", async ({ router, clock, store, sessions, model }) => {
        let later = false;
        clock.after(10, () => {
          later = true;
        });
        while (!later) clock.step();
        await router.flushMarks();
        await store.commit([expireConsumers({ silentSince: clock.now(), at: clock.now() })]);
        for (const name of model.consumers.keys()) if (!sessions.has(name)) model.endAll(name);
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: consumer.map((name) =>
      named(`send letters back to ${name}`, async ({ router, model }) => {
        await router.deadLetters.retryAll({ filter: { consumer: name } });
        model.sendBack(name);
      }),
    ),
  },
  { weight: 2, arbitrary: fc.constant(named("wait", (world) => world.settle())) },
  { weight: 1, arbitrary: fc.constant(named("restart", async (world) => world.restart())) },
);

test("every pair that was ever owed is in the state that a model gives it, through any history", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(actions, { minLength: 5, maxLength: 40 }), async (history) => {
      const world = new World();
      try {
        for (const action of history) {
          await action(world);
          expect(storedCounts(world.store), String(action)).toEqual(world.model.counts());
        }
        // In the end everybody who still wants something works until nothing is left.
        for (const [name, { types }] of world.model.consumers) {
          if (types.size === 0) continue;
          const request = { consumer: name, eventTypes: [...types], start: "now" as const };
          world.sessions.set(name, await world.router.openSession(request));
          for (let idle = 0; idle < 3; ) {
            idle = (await world.work(name, 10, [true])) > 0 ? 0 : idle + 1;
            await world.settle();
          }
          expect([...world.model.consumers.get(name)!.pairs.values()].map(({ state }) => state)).not.toContain("open");
        }
        expect(storedCounts(world.store)).toEqual(world.model.counts());
      } finally {
        world.restart();
        world.writer.close();
      }
    }),
    {
      numRuns: Number(process.env.RUNS ?? rounds(60, 500)),
      ...(process.env.SEED === undefined ? {} : { seed: Number(process.env.SEED) }),
    },
  );
});
