import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { smallDisk } from "../../../test/support/small-disk.ts";
import { storeModules } from "../../app/store-modules.ts";
import { createCatalog, defineEvents } from "../../events/index.ts";
import {
  type Clock,
  isOperatingError,
  seededRandom,
  silentLog,
  systemClock,
  systemRandom,
  virtualClock,
} from "../../kernel/index.ts";
import { defineTable, EventRouter, type Store } from "../../router/index.ts";
import { countPairs } from "../../router/journal/queries.ts";
import { inThreadStore, memoryWriter } from "./in-thread-store.ts";
import { threadedStore } from "./threaded-store.ts";
import { openWriter } from "./writer.ts";

const rows = defineEvents("test", {
  GAME_PLAYED: {
    about: "A game.",
    class: "durable",
    orderKey: "config_key",
    payload: { config_key: z.string(), n: z.number(), notes: z.string().optional() },
  },
  GAME_COUNTED: { about: "A count.", class: "durable", orderKey: null, payload: { n: z.number() } },
});
const counts = defineTable<{ n: number }>("counts");

const routerOver = (store: Store, clock: Clock) =>
  new EventRouter({
    catalog: createCatalog(rows),
    store,
    clock,
    random: seededRandom(1),
    log: silentLog(),
    nodeId: "n",
  });

/** A consumer that counts games in a row, says so, and waits for `gate` before it ends. */
const counter = (gate: () => Promise<void>) => {
  const runs: number[] = [];
  return {
    runs,
    options: {
      consumer: "counter",
      start: "earliest" as const,
      handlers: {
        GAME_PLAYED: async (event: { payload: unknown }, { rows: state, emit }: HandlerArgs) => {
          runs.push((event.payload as { n: number }).n);
          const n = (state.get(counts, "games")?.n ?? 0) + 1;
          await gate();
          state.put(counts, "games", { n });
          emit("GAME_COUNTED", { n });
        },
      },
    },
  };
};
type HandlerArgs = Parameters<NonNullable<Parameters<EventRouter["consume"]>[0]["handlers"][string]>>[1];

const countedIn = (store: Store): number =>
  (JSON.parse(store.read<{ value: string }>("SELECT value FROM state_rows")[0]?.value ?? '{"n":0}') as { n: number }).n;

describe("a disk that became read-only", () => {
  test("refuses to publish and says what to do, keeps finished work, and goes on by itself", async () => {
    const clock = virtualClock();
    const writer = memoryWriter(storeModules);
    const store = inThreadStore(writer, { clock });
    const router = routerOver(store, clock);
    let openGate = () => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const { runs, options } = counter(() => gate);
    await router.consume(options);
    const first = await router.publish("GAME_PLAYED", { config_key: "a", n: 1 });
    const second = await router.publish("GAME_PLAYED", { config_key: "b", n: 2 });

    writer.db.exec("PRAGMA query_only = 1");
    openGate();
    const turns = async (most: number) => {
      for (let i = 0; i < most; i += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        clock.step();
      }
    };
    await turns(20);
    await expect(router.publish("GAME_PLAYED", { config_key: "a", n: 3 })).rejects.toMatchObject({
      code: "STORE_READ_ONLY",
      retryable: true,
      hint: expect.stringContaining("writable"),
    });
    expect(store.fault).toMatchObject({ code: "STORE_READ_ONLY" });
    expect(router.getStats()).toMatchObject({ degraded: true });
    expect(countPairs(store)).toEqual([{ consumer: "counter", state: "owed", pairs: 2 }]);

    writer.db.exec("PRAGMA query_only = 0");
    clock.standStill(5_000);
    await turns(20);
    await Promise.all([router.settled(first), router.settled(second)]);
    expect(store.fault).toBeNull();
    expect(countedIn(store)).toBe(2);
    expect(store.read("SELECT 1 FROM events WHERE event_type = 'GAME_COUNTED'")).toHaveLength(2);
    expect(countPairs(store)).toEqual([{ consumer: "counter", state: "done", pairs: 2 }]);
    expect(router.deadLetters.getPendingCount()).toBe(0);
    // Both read the same count before either wrote, so the second one ran again; trouble of the disk ran nobody twice.
    expect(runs).toHaveLength(3);
    await router.stop();
    writer.close();
  });
});

describe("one refused commit among many", () => {
  test("a broken constraint concerns its own publisher alone and is no fault of the disk", async () => {
    const writer = memoryWriter(storeModules);
    onTestFinished(() => writer.close());
    const store = inThreadStore(writer, { clock: systemClock() });
    const router = routerOver(store, systemClock());
    const outcomes = await Promise.allSettled([
      router.publish("GAME_PLAYED", { config_key: "a", n: 1 }),
      router.publish("GAME_PLAYED", { config_key: "a", n: 2 }, { timestamp: Number.NaN }),
      router.publish("GAME_PLAYED", { config_key: "a", n: 3 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(isOperatingError((outcomes[1] as PromiseRejectedResult).reason)).toBe(true);
    expect(store.fault).toBeNull();
    await router.stop();
  });
});

const modulesUrl = new URL("../../app/store-modules.ts", import.meta.url).href;
/** The router's waits, a hundred times shorter. */
const hurried = (): Clock => {
  const clock = systemClock();
  return {
    ...clock,
    monotonic: () => clock.monotonic() * 100,
    after: (delayMs, run) => clock.after(delayMs / 100, run),
  };
};
const faultGone = (store: Store) =>
  new Promise<void>((resolve) => {
    if (store.fault === null) return resolve();
    store.onFault((fault) => (fault === null ? resolve() : undefined));
  });

describe("a full disk", () => {
  test("refuses with STORE_FULL, loses and doubles nothing, and recovers when space is back", async () => {
    const disk = smallDisk(8, onTestFinished);
    if (disk === undefined) return;
    const clock = hurried();
    const path = join(disk.folder, "coordination.db");
    const store = await threadedStore({ path, modulesUrl, clock });
    const router = routerOver(store, clock);
    const faults: (string | null)[] = [];
    store.onFault((fault) => void faults.push(fault?.code ?? null));
    const { options } = counter(async () => undefined);
    await router.consume(options);
    const published = [await router.publish("GAME_PLAYED", { config_key: "a", n: 0 })];

    disk.fill();
    let refused: unknown;
    const notes = "x".repeat(50_000);
    for (let n = 1; refused === undefined && n < 500; n += 1)
      await router.publish("GAME_PLAYED", { config_key: `c${n % 3}`, n, notes }).then(
        (event) => published.push(event),
        (error: unknown) => {
          refused = error;
        },
      );
    expect(refused).toMatchObject({ code: "STORE_FULL", retryable: true, hint: expect.stringContaining("space") });
    expect(faults).toContain("STORE_FULL");
    const owed = published.length;

    disk.free();
    await faultGone(store);
    for (let n = 0; n < 5; n += 1) published.push(await router.publish("GAME_PLAYED", { config_key: "after", n }));
    for (const event of published) await router.settled(event);
    expect(owed).toBeGreaterThan(0);
    expect(countedIn(store)).toBe(published.length);
    expect(countPairs(store)).toEqual([{ consumer: "counter", state: "done", pairs: published.length }]);
    expect(store.read("SELECT 1 FROM events WHERE event_type = 'GAME_PLAYED'")).toHaveLength(published.length);
    expect(store.read("SELECT 1 FROM events WHERE event_type = 'GAME_COUNTED'")).toHaveLength(published.length);
    expect(router.getStats()).toMatchObject({ degraded: false });
    await router.stop();
    await store.close();
    const again = openWriter(path, storeModules);
    expect(again.db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    again.close();
  });

  test("is tried again while nobody publishes", async () => {
    const disk = smallDisk(4, onTestFinished);
    if (disk === undefined) return;
    const store = await threadedStore({ path: join(disk.folder, "coordination.db"), modulesUrl, clock: hurried() });
    const router = new EventRouter({
      catalog: createCatalog(rows),
      store,
      clock: systemClock(),
      random: systemRandom(),
      log: silentLog(),
      nodeId: "n",
    });
    const notes = "x".repeat(200_000);
    const changes: (string | null)[] = [];
    const recovered = new Promise<void>((resolve) =>
      store.onFault((fault) => {
        changes.push(fault?.code ?? null);
        if (fault === null) resolve();
      }),
    );
    // What the last good commit left over may be too little even for a probe: the space that comes back is this file's.
    const filler = join(disk.folder, "filler");
    writeFileSync(filler, Buffer.alloc(1 << 20));
    for (let n = 0; changes.length === 0 && n < 100; n += 1)
      await router.publish("GAME_PLAYED", { config_key: "a", n, notes }).catch(() => undefined);
    rmSync(filler);
    await recovered;
    expect(changes.slice(0, 2)).toEqual(["STORE_FULL", null]);
    await router.stop();
    await store.close();
  });

  test("that is read-only from the start is refused with a code and opens once it is writable", async () => {
    const disk = smallDisk(4, onTestFinished);
    if (disk === undefined) return;
    const path = join(disk.folder, "coordination.db");
    openWriter(path, storeModules).close();
    disk.remount("ro");
    await expect(threadedStore({ path, modulesUrl, clock: systemClock() })).rejects.toMatchObject({
      name: "OperatingError",
      code: expect.stringMatching(/^STORE_(READ_ONLY|CANNOT_OPEN)$/),
      hint: expect.any(String),
    });
    disk.remount("rw");
    const store = await threadedStore({ path, modulesUrl, clock: systemClock() });
    await store.close();
  });
});
