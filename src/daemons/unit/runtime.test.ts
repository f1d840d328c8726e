import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type UnitWorld, unitWorld } from "../../../test/fixtures/unit-world.ts";
import { builtinRows, defineEvents } from "../../events/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import { consumerStatus, defineTable, type EventRouter, type RouterSettings } from "../../router/index.ts";
import { countPairs } from "../../router/journal/queries.ts";
import { createRegistry } from "./registry.ts";
import type { UnitRuntime, UnitRuntimeOptions } from "./runtime.ts";
import { unitsFor } from "./shape.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("test", {
    ASKED: { about: "A question.", class: "durable", orderKey: "who", payload: { who: z.string(), n: z.number() } },
    ANSWERED: { about: "An answer.", class: "durable", orderKey: "who", payload: { who: z.string(), n: z.number() } },
    BLINKED: { about: "A passing thing.", class: "volatile", orderKey: null, payload: { n: z.number() } },
  }),
};
const { defineCoordinator, defineDaemon, definePart } = unitsFor<typeof rows>();
const answers = defineTable<{ n: number }>("answers");
const outside = definePart({ name: "outside", emits: ["ASKED", "ANSWERED", "BLINKED"] });

type World = UnitWorld<typeof rows>;
const worlds: World[] = [];
const world = (settings: Partial<RouterSettings> = {}): World => {
  const opened = unitWorld(rows, { settings, parts: [outside] });
  worlds.push(opened);
  return opened;
};
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

/** Starts a runtime while its world's clock runs. */
const started = ({ driven }: World, runtime: UnitRuntime) => driven(runtime.start());

const plain = { layer: 1, placement: "leader", emits: [] } as const;

/** More than the schema of ANSWERED knows; only the strict check refuses it. */
const talkative = (n: number) => {
  const payload = { who: "me", n, mood: "chatty" };
  return payload;
};

const answering = defineCoordinator({
  name: "answering",
  layer: 1,
  placement: "leader",
  emits: ["ANSWERED"],
  state: { tables: { answers } },
  on: {
    ASKED({ payload }, { emit, rows, tables }) {
      rows.put(tables.answers, payload.who, { n: payload.n });
      emit.ANSWERED({ who: payload.who, n: payload.n });
    },
  },
});

describe("a unit with handlers", () => {
  test("is a durable consumer under its name, and its rows, words and ack are one commit", async () => {
    const w = world();
    const runtime = w.runtime([answering]);
    expect(await started(w, runtime)).toMatchObject({ ready: true, unsubscribed: [] });
    await w.router.publish("ASKED", { who: "ann", n: 7 }, { source: "outside" });
    await w.pass(10);
    expect(w.router.history({ eventType: "ANSWERED" })).toMatchObject([
      { source: "answering", payload: { who: "ann", n: 7 } },
    ]);
    expect(w.store.read("SELECT value FROM state_rows WHERE table_name = 'answers'")).toEqual([{ value: '{"n":7}' }]);
    expect(countPairs(w.store)).toEqual([{ consumer: "answering", state: "done", pairs: 1 }]);
    expect(runtime.status()).toMatchObject([
      { name: "answering", status: "running", handled_events: 1, failed_events: 0 },
    ]);
  });

  test("hears what was published while it was away", async () => {
    const w = world();
    const first = w.runtime([answering]);
    await started(w, first);
    await w.driven(first.stop());
    await w.router.publish("ASKED", { who: "bob", n: 1 });
    const second = w.runtime([answering]);
    await started(w, second);
    await w.pass(10);
    expect(second.status()).toMatchObject([{ handled_events: 1 }]);
  });

  test("may start with what was published before it was first seen", async () => {
    const w = world();
    await w.router.publish("ASKED", { who: "ann", n: 1 });
    const late = { ...plain, name: "late", on: { ASKED() {} } } as const;
    const runtime = w.runtime([
      defineCoordinator(late),
      defineCoordinator({ ...late, name: "early", start: "earliest" }),
    ]);
    await started(w, runtime);
    await w.pass(10);
    expect(runtime.status().map(({ name, handled_events }) => [name, handled_events])).toEqual([
      ["late", 0],
      ["early", 1],
    ]);
  });

  test("never hears itself, and hears its sibling on another node", async () => {
    const w = world();
    const heard: string[] = [];
    const echo = defineCoordinator({
      name: "echo",
      layer: 1,
      placement: "each-node",
      emits: ["ANSWERED"],
      on: {
        ASKED: ({ payload }, { emit }) => void emit.ANSWERED(payload),
        ANSWERED: (event) => void heard.push(event.source),
      },
    });
    await started(w, w.runtime([echo]));
    await w.router.publish("ASKED", { who: "ann", n: 1 });
    await w.router.publish("ANSWERED", { who: "ann", n: 2 }, { source: "echo@n2" });
    await w.pass(10);
    expect(heard).toEqual(["echo@n2"]);
    expect(consumerStatus(w.store).map(({ consumer }) => consumer)).toEqual(["echo@n1"]);
  });

  test("hears passing events without being owed them, and what each process has leaves no cursor", async () => {
    const w = world();
    const heard: number[] = [];
    const watching = defineCoordinator({
      name: "watching",
      layer: 1,
      placement: "leader",
      emits: ["ANSWERED"],
      on: {
        BLINKED({ payload }, { emit }) {
          heard.push(payload.n);
          emit.ANSWERED({ who: "me", n: payload.n });
        },
      },
    });
    const local = defineCoordinator({
      name: "local",
      layer: 1,
      placement: "each-process",
      emits: ["ANSWERED"],
      on: {
        ANSWERED({ payload, parentEventId }, { emit }) {
          heard.push(payload.n * 10);
          // What passes by is not in the journal, and is nobody's parent.
          expect(parentEventId).toBeNull();
          if (payload.n < 100) emit.ANSWERED({ ...payload, n: payload.n + 1 });
        },
      },
    });
    await started(w, w.runtime([watching, local]));
    await w.router.publish("BLINKED", { n: 4 });
    await w.pass(10);
    expect(heard).toEqual([4, 40]);
    expect(consumerStatus(w.store)).toEqual([]);
  });

  test("that says what its schema forbids fails, and nothing of its work is kept", async () => {
    const w = world({ maxAttempts: 1 });
    const careless = defineCoordinator({
      name: "careless",
      layer: 1,
      placement: "leader",
      emits: ["ANSWERED"],
      on: {
        ASKED({ payload }, { emit, rows }) {
          rows.put(answers, payload.who, { n: payload.n });
          emit.ANSWERED(talkative(payload.n));
        },
      },
    });
    const runtime = w.runtime([careless]);
    await started(w, runtime);
    await w.router.publish("ASKED", { who: "ann", n: 7 });
    await w.pass(10);
    expect(w.store.read("SELECT * FROM state_rows")).toEqual([]);
    expect(w.router.deadLetters.getPendingEvents()).toMatchObject([{ consumer: "careless", event_type: "ASKED" }]);
    expect(runtime.status()).toMatchObject([
      { status: "stopped", failed_events: 1, message: "1 of the last 1 failed" },
    ]);
  });

  test("that ran again because a row changed meanwhile has handled the event once", async () => {
    const w = world();
    let runs = 0;
    const adding = defineCoordinator({
      ...plain,
      name: "adding",
      on: {
        async ASKED({ payload }, { rows }) {
          runs += 1;
          const n = rows.get(answers, "sum")?.n ?? 0;
          if (runs === 1)
            await w.router.transact({ source: "other" }, (other) => other.rows.put(answers, "sum", { n: 40 }));
          rows.put(answers, "sum", { n: n + payload.n });
        },
      },
    });
    const runtime = w.runtime([adding]);
    await started(w, runtime);
    await w.router.publish("ASKED", { who: "ann", n: 2 });
    await w.pass(10);
    expect(runs).toBe(2);
    expect(runtime.status()).toMatchObject([{ handled_events: 1, failed_events: 0 }]);
    expect(w.store.read("SELECT value FROM state_rows")).toEqual([{ value: '{"n":42}' }]);
  });

  test("gets a cache built from its rows, which changes only with a commit", async () => {
    const w = world({ maxAttempts: 1 });
    const seen: number[] = [];
    const counting = () =>
      defineCoordinator({
        name: "counting",
        layer: 1,
        placement: "leader",
        emits: [],
        state: {
          tables: { answers },
          cache: (rows) => new Map(rows.list(answers).map(([who, { n }]) => [who, n])),
        },
        on: {
          ASKED({ payload: { who, n } }, { rows, tables, cache, afterCommit }) {
            rows.put(tables.answers, who, { n });
            afterCommit(() => cache.set(who, n));
            if (n === 13) throw new Error("unlucky");
            seen.push(cache.get(who) ?? 0);
          },
        },
      });
    const first = w.runtime([counting()]);
    await started(w, first);
    for (const n of [1, 13, 2]) await w.router.publish("ASKED", { who: "ann", n });
    await w.pass(10);
    await w.driven(first.stop());
    await started(w, w.runtime([counting()]));
    await w.router.publish("ASKED", { who: "ann", n: 3 });
    await w.pass(10);
    expect(seen).toEqual([0, 1, 2]);
  });
});

describe("a daemon's loop", () => {
  test("commits what a tick writes and says together, and pauses between ticks", async () => {
    const w = world();
    const ticks: number[] = [];
    const daemon = defineDaemon({
      name: "ticking",
      layer: 1,
      placement: "leader",
      emits: ["ANSWERED"],
      state: { tables: { answers } },
      loop: {
        everyMs: 1_000,
        tick({ now, emit, rows, tables }) {
          ticks.push(now);
          const n = (rows.get(tables.answers, "n")?.n ?? 0) + 1;
          rows.put(tables.answers, "n", { n });
          emit.ANSWERED({ who: "loop", n });
        },
      },
    });
    const runtime = w.runtime([daemon]);
    await started(w, runtime);
    await w.pass(2_500);
    expect(ticks.map((at) => at - ticks[0]!)).toEqual([0, 1_000, 2_000]);
    expect(w.router.history({ eventType: "ANSWERED" }).map(({ payload, source }) => [source, payload.n])).toEqual([
      ["ticking", 1],
      ["ticking", 2],
      ["ticking", 3],
    ]);
    expect(runtime.status()).toMatchObject([{ ticks: 3, tick_errors: 0, last_tick_at: ticks[2] }]);
  });

  test("goes on after a tick that failed, keeps nothing of it, and reports it once", async () => {
    const w = world();
    let tries = 0;
    const daemon = defineDaemon({
      name: "stumbling",
      layer: 1,
      placement: "leader",
      emits: ["ANSWERED"],
      loop: {
        everyMs: 1_000,
        tick({ emit }) {
          tries += 1;
          emit.ANSWERED({ who: "loop", n: tries });
          if (tries < 3) throw OperatingError.internal("NO_LUCK", "no luck");
        },
      },
    });
    const runtime = w.runtime([daemon]);
    await started(w, runtime);
    await w.pass(2_500);
    expect(w.router.history({ eventType: "ANSWERED" }).map(({ payload }) => payload.n)).toEqual([3]);
    expect(w.router.history({ eventType: "ERROR" })).toMatchObject([
      { source: "unit_runtime", payload: { component: "stumbling", error: "no luck", error_code: "NO_LUCK" } },
    ]);
    expect(runtime.status()).toMatchObject([{ ticks: 1, tick_errors: 2, status: "stopped", last_error: "no luck" }]);
  });

  test("never runs two ticks at once, also when one runs into its time limit", async () => {
    const w = world();
    let release = () => {};
    let begun = 0;
    let aborted = false;
    const daemon = defineDaemon({
      name: "hanging",
      layer: 1,
      placement: "leader",
      emits: [],
      timeoutMs: 5_000,
      loop: {
        everyMs: 1_000,
        tick({ signal }) {
          begun += 1;
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          return begun > 1 ? undefined : new Promise<void>((resolve) => (release = resolve));
        },
      },
    });
    const runtime = w.runtime([daemon]);
    await started(w, runtime);
    await w.pass(20_000);
    expect({ begun, aborted }).toEqual({ begun: 1, aborted: true });
    expect(runtime.status()).toMatchObject([{ status: "stopped", tick_errors: 1 }]);
    release();
    await w.pass(1_500);
    expect(begun).toBe(2);
    expect(w.router.history({ eventType: "ERROR" })).toMatchObject([{ payload: { error_code: "HANDLER_TIME_LIMIT" } }]);
  });

  test("says only what the schema allows", async () => {
    const w = world();
    const daemon = defineDaemon({
      name: "careless",
      layer: 1,
      placement: "leader",
      emits: ["ANSWERED"],
      loop: { everyMs: 1_000, tick: ({ emit }) => void emit.ANSWERED(talkative(1)) },
    });
    const runtime = w.runtime([daemon]);
    await started(w, runtime);
    await w.pass(100);
    expect(runtime.status()).toMatchObject([{ tick_errors: 1 }]);
    expect(w.router.history({ eventType: "ANSWERED" })).toEqual([]);
  });

  test("runs again when a row it read changed meanwhile", async () => {
    const w = world();
    let runs = 0;
    const daemon = defineDaemon({
      name: "reading",
      layer: 1,
      placement: "leader",
      emits: [],
      loop: {
        everyMs: 60_000,
        async tick({ rows }) {
          runs += 1;
          const n = rows.get(answers, "n")?.n ?? 0;
          if (runs === 1)
            await w.router.transact({ source: "other" }, (other) => other.rows.put(answers, "n", { n: 40 }));
          rows.put(answers, "n", { n: n + 2 });
        },
      },
    });
    await started(w, w.runtime([daemon]));
    await w.pass(100);
    expect(runs).toBe(2);
    expect(w.store.read("SELECT value FROM state_rows")).toEqual([{ value: '{"n":42}' }]);
  });
});

describe("the runtime", () => {
  test("gives a sign of life for every unit", async () => {
    const w = world();
    await started(w, w.runtime([answering], { heartbeatMs: 1_000 }));
    await w.pass(1_500);
    expect(w.router.history({ eventType: "COORDINATOR_HEARTBEAT" })).toMatchObject([
      { source: "unit_runtime", payload: { coordinator_name: "answering", node_id: "n1", health: "running" } },
      { payload: { handled_events: 0, failed_events: 0 } },
    ]);
  });

  test("starts and stops twice safely, stops by signal, and leaves no timer", async () => {
    const w = world();
    const daemon = defineDaemon({
      name: "idle",
      layer: 1,
      placement: "leader",
      emits: [],
      loop: { everyMs: 1_000, tick() {} },
    });
    const control = new AbortController();
    const runtime = w.runtime([answering, daemon], { signal: control.signal });
    const starts = [runtime.start(), runtime.start()];
    await w.pass(10);
    expect(await Promise.all(starts)).toMatchObject([{ ready: true }, { ready: true }]);
    control.abort();
    expect(runtime.stop()).toBe(runtime.stop());
    await w.pass(10);
    await runtime.stop();
    await w.router.publish("ASKED", { who: "ann", n: 1 });
    await w.pass(5_000);
    expect(runtime.status().map(({ ticks, handled_events }) => [ticks, handled_events])).toEqual([
      [0, 0],
      [1, 0],
    ]);
    await w.router.stop();
    expect(w.clock.pending()).toBe(0);
  });

  test("starts some units first and the rest later; what was not asked for is neither subscribed nor missed", async () => {
    const w = world();
    const other = defineCoordinator({ ...plain, name: "other", on: { ASKED() {} } });
    const runtime = w.runtime([answering, other]);
    expect(await w.driven(runtime.start(["other"]))).toMatchObject({ ready: true, unsubscribed: [] });
    expect(runtime.outcomes()).toEqual([{ name: "other", layer: other.layer, subscribed: true, error: null }]);
    expect(runtime.status().map(({ name, subscribed }) => [name, subscribed])).toEqual([
      [answering.name, false],
      ["other", true],
    ]);
    await w.driven(runtime.start());
    expect(runtime.outcomes().map(({ subscribed }) => subscribed)).toEqual([true, true]);
    await w.router.publish("ASKED", { who: "ann", n: 1 });
    await w.pass(10);
    expect(runtime.status().map(({ handled_events }) => handled_events)).toEqual([1, 1]);
  });

  test("a subscription that the store refuses is tried again after 1, 2 and 4 seconds, then readiness says no", async () => {
    const w = world();
    const at: number[] = [];
    let refusals = 2;
    const refusing = {
      ...pick(w.router),
      consume: (options: Parameters<EventRouter["consume"]>[0]) => {
        at.push(w.clock.monotonic());
        refusals -= 1;
        if (refusals < 0) return w.router.consume(options);
        throw OperatingError.unavailable("STORE_READ_ONLY", "read-only disk");
      },
    };
    const lucky = w.runtime([answering], { router: refusing });
    const starting = lucky.start();
    await w.pass(10_000);
    expect(await starting).toMatchObject({ ready: true });
    expect(at).toEqual([0, 1_000, 3_000]);

    refusals = Number.POSITIVE_INFINITY;
    at.length = 0;
    const other = defineCoordinator({ ...plain, name: "other", on: { ASKED() {} } });
    const unlucky = w.runtime([other], { router: refusing });
    const failing = unlucky.start();
    await w.pass(10_000);
    expect(await failing).toMatchObject({ ready: false, unsubscribed: ["other"] });
    expect(at.map((time) => time - at[0]!)).toEqual([0, 1_000, 3_000, 7_000]);
    expect(unlucky.status()).toMatchObject([{ status: "stopped", message: "not subscribed" }]);
  });

  test("critical subscriptions are asked of the units that exist here", async () => {
    const w = world();
    const training = defineCoordinator({ ...plain, name: "training", on: { TRAINING_STARTED() {}, TASK_FAILED() {} } });
    const far = defineCoordinator({ ...plain, name: "far", placement: "each-node", on: { TASK_FAILED() {} } });
    const runtime = w.runtime([training, far], { placements: ["leader"] });
    expect(runtime.readiness()).toMatchObject({ ready: false });
    const { ready, subscriptions } = await started(w, runtime);
    expect(ready).toBe(true);
    expect(subscriptions.map(({ event }) => event).sort()).toEqual([
      "DATA_SYNC_COMPLETED",
      "DATA_SYNC_STARTED",
      "TASK_COMPLETED",
      "TASK_FAILED",
      "TASK_SPAWNED",
      "TRAINING_COMPLETED",
      "TRAINING_STARTED",
    ]);
    expect(subscriptions.find(({ event }) => event === "TASK_FAILED")).toEqual({
      event: "TASK_FAILED",
      expected: ["training"],
      missing: [],
    });
  });

  test("a registry of typed units runs as it stands", async () => {
    const w = world();
    const registry = createRegistry({ catalog: w.router.catalog, units: [answering], parts: [outside], ingress: [] });
    const runtime = w.runtime([], { registry });
    await started(w, runtime);
    await w.router.publish("ASKED", { who: "ann", n: 1 });
    await w.pass(10);
    expect(runtime.status()).toMatchObject([{ name: "answering", handled_events: 1 }]);
  });
});

/** The router's face to units, for a test that changes one method of it. */
const pick = (router: EventRouter<typeof rows>) => ({
  catalog: router.catalog,
  nodeId: router.nodeId,
  store: router.store,
  transact: router.transact.bind(router),
  prepare: router.prepare.bind(router),
  publishPrepared: router.publishPrepared.bind(router),
  listSubscribers: router.listSubscribers.bind(router),
  subscribe: (...args: Parameters<UnitRuntimeOptions["router"]["subscribe"]>) => router.subscribe(...args),
});
