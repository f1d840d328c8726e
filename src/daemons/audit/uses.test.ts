import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type UnitWorld, unitWorld } from "../../../test/fixtures/unit-world.ts";
import { defineEvents, type Rows } from "../../events/index.ts";
import { createWriteSet, defineTable } from "../../router/index.ts";
import { type Unit, unitsFor } from "../unit/shape.ts";
import { createUses } from "./uses.ts";
import { writeOnly } from "./write-only.ts";

const rows = defineEvents("test", {
  SAID: { about: "Said.", class: "durable", orderKey: null, payload: { n: z.number() } },
  BEATEN: { about: "A beat.", class: "volatile", orderKey: null, payload: { n: z.number() } },
  HEARD: { about: "Heard.", class: "durable", orderKey: null, payload: {} },
});
const { defineCoordinator, defineDaemon } = unitsFor<Rows>();
const base = { layer: 1, placement: "leader" } as const;
const notes = defineTable<{ n: number }>("notes");
const state = { tables: { notes } };
const put = ({ payload }: { payload: object }, context: { rows: { put: (...args: never[]) => void } }) =>
  context.rows.put(...([notes, "k", { n: (payload as { n: number }).n }] as never[]));
const hoarder = (more: object = {}) =>
  defineCoordinator({ ...base, name: "hoarder", emits: [], state, on: { SAID: put as never }, ...more });

describe("a consumer that only writes", () => {
  const open: UnitWorld<Rows>[] = [];
  afterEach(async () => {
    for (const world of open.splice(0)) await world.close();
  });

  /** Runs units until each event was handled and every loop has ticked; `look` reads as a view would. */
  const found = async (units: readonly Unit[], look: (store: UnitWorld<Rows>["store"]) => void = () => {}) => {
    const w = unitWorld<Rows>(rows);
    open.push(w);
    const uses = createUses(() => w.clock.now());
    await w.driven(w.runtime(units.map(uses.wrap)).start());
    await w.router.publish("SAID", { n: 1 }, { source: "test" });
    await w.router.publish("BEATEN", { n: 2 }, { source: "test" });
    await w.pass(5_000);
    look(uses.tap(w.store));
    return writeOnly({ units }, uses.seen(), w.clock.now(), 0).map(({ event, units: who }) => `${who} ${event}`);
  };

  test("is found, whatever it reads of what it wrote itself", async () => {
    expect(await found([hoarder()])).toEqual(["hoarder SAID"]);
    const careful = hoarder({
      on: {
        SAID: (event: never, context: { rows: { get: (...args: unknown[]) => unknown } }) => {
          if (context.rows.get(notes, "k") === undefined) put(event, context as never);
        },
      },
    });
    expect(await found([careful])).toEqual(["hoarder SAID"]);
  });

  test("is found where it writes into its memory alone", async () => {
    const cache = () => ({ seen: new Map<string, number>(), last: 0 });
    const on = {
      BEATEN: (_event: unknown, context: { cache: ReturnType<typeof cache> }) => void context.cache.seen.set("k", 1),
    };
    const unit = (more: object) =>
      defineCoordinator({ ...base, name: "deaf", emits: [], state: { cache }, on: on as never, ...more } as never);
    expect(await found([unit({})])).toEqual(["deaf BEATEN"]);
    const health = ({ cache: { seen } }: { cache: ReturnType<typeof cache> }) => ({
      status: "running",
      message: String(seen.size),
    });
    const w = unitWorld<Rows>(rows);
    open.push(w);
    const uses = createUses(() => w.clock.now());
    const runtime = w.runtime([uses.wrap(unit({ health }))]);
    await w.driven(runtime.start());
    await w.router.publish("BEATEN", { n: 2 }, { source: "test" });
    await w.pass(10);
    expect(runtime.status()[0]?.message).toBe("1");
    expect(writeOnly({ units: [unit({})] }, uses.seen(), w.clock.now(), 0)).toEqual([]);
  });

  test("is none where a loop, another unit or a view reads it", async () => {
    const loop = {
      everyMs: 1_000,
      tick: (context: { rows: { list: (table: unknown) => unknown } }) => void context.rows.list(notes),
    };
    const own = defineDaemon({ ...base, name: "hoarder", emits: [], state, on: { SAID: put as never }, loop } as never);
    expect(await found([own])).toEqual([]);
    const reader = defineDaemon({ ...base, name: "reader", emits: [], loop } as never);
    expect(await found([hoarder(), reader])).toEqual([]);
    expect(await found([hoarder()], (store) => void createWriteSet(store).list(notes))).toEqual([]);
  });

  test("is none where it emits, or has the store changed", async () => {
    const loud = hoarder({
      emits: ["HEARD"],
      on: {
        SAID: (event: never, context: { emit: { HEARD: (payload: object) => void } }) => {
          put(event, context as never);
          context.emit.HEARD({});
        },
      },
    });
    expect(await found([loud])).toEqual([]);
  });

  test("puts a field that is put back as it was back bare, however often", async () => {
    const uses = createUses(() => 0);
    const cache: { points: readonly number[] } = { points: [1] };
    const points = cache.points;
    const unit = defineDaemon({
      ...base,
      name: "keeper",
      emits: [],
      loop: {
        everyMs: 1,
        tick: ({ cache: own }: { cache: typeof cache }) => {
          const same = own.points;
          own.points = same;
        },
      },
    } as never);
    const context = { rows: {}, emit: {}, cache, afterCommit: () => {} } as never;
    for (let n = 0; n < 3; n += 1) await uses.wrap(unit).behaviour.tick(context);
    expect(cache.points).toBe(points);
  });

  test("has a minute in which somebody may still read it", async () => {
    const use = { unit: "hoarder", trigger: "SAID", reads: new Set<string>(), writes: new Set(["notes"]), acts: false };
    const seen = { uses: [{ ...use, since: 0 }], outside: new Set<string>() };
    expect(writeOnly({ units: [hoarder()] }, seen, 59_000)).toEqual([]);
    expect(writeOnly({ units: [hoarder()] }, seen, 61_000)).toHaveLength(1);
  });
});
