import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows } from "../../../events/index.ts";
import { maintenanceDefaults } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { maintenance } from "./maintenance.unit.ts";
import { freePages, isWorthIt } from "./store-chores.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
const open = () => {
  const world = unitWorld(builtinRows);
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

const DAY = 86_400_000;

const start = async (w: UnitWorld<BuiltinRows>, services: Partial<DaemonsServices> = {}) => {
  const runtime = w.runtime([maintenance({ router: { nodeId: "n1" }, store: w.store, ...services })]);
  await w.driven(runtime.start());
  return runtime;
};

/** A database that counts what is done to it, and is as sound as the test says. */
const database = () => {
  const did = { checks: 0, cuts: 0 };
  const state = { problems: [] as string[], wal: 0 };
  const care = {
    check: async () => {
      did.checks += 1;
      return state.problems;
    },
    walBytes: () => state.wal,
    truncateWal: async () => {
      did.cuts += 1;
      state.wal = 0;
      return true;
    },
  };
  return { care, did, state };
};
const errors = (w: UnitWorld<BuiltinRows>) =>
  w.router.history({ fromJournal: true, eventType: "ERROR" }).map(({ payload }) => payload);

describe("maintenance", () => {
  test("looks through the database once a day, also when it is restarted in between", async () => {
    const w = open();
    const { care, did } = database();
    const first = await start(w, { database: care });
    await w.pass(DAY / 2);
    expect(did.checks).toBe(1);
    await w.driven(first.stop());
    await start(w, { database: care });
    await w.pass(DAY / 2 - 120_000);
    expect(did.checks).toBe(1);
    await w.pass(240_000);
    expect(did.checks).toBe(2);
  });

  test("tells a damaged database as an event and in its health, and goes on with the other chores", async () => {
    const w = open();
    const { care, did, state } = database();
    state.problems = ["row 7 missing from index"];
    const runtime = await start(w, { database: care });
    await w.pass(1_000);
    expect(errors(w)).toEqual([
      expect.objectContaining({
        component: "maintenance",
        error_code: "STORE_CORRUPT",
        severity: "critical",
        error: "the database is damaged: row 7 missing from index",
      }),
    ]);
    expect(runtime.status()[0]).toMatchObject({ status: "degraded", tick_errors: 0 });
    expect(Object.keys(runtime.status()[0]!.details.chores as object).sort()).toEqual([
      "integrity",
      "optimize",
      "shrink",
      "trim",
      "wal",
    ]);
    state.problems = [];
    await w.pass(700_000);
    expect(did.checks).toBe(2);
    expect(runtime.status()[0]).toMatchObject({ status: "running", message: "" });
  });

  test("cuts a write-ahead log that has become long", async () => {
    const w = open();
    const { care, did, state } = database();
    await start(w, { database: care });
    await w.pass(600_000);
    expect(did.cuts).toBe(0);
    state.wal = maintenanceDefaults.walBytes + 1;
    await w.pass(600_000);
    expect(did.cuts).toBe(1);
  });

  test("trims what only grows, chunk by chunk, and leaves the newest", async () => {
    const w = open();
    // In memory a read runs on the writer's own connection, which may write.
    w.store.read(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1234)
       INSERT INTO dead_letter_actions (at, actor, action, selection, affected) SELECT i, 'a', 'retry', '{}', 1 FROM n`,
    );
    w.store.read(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1234)
       INSERT INTO state_rows (table_name, key, value, version)
       SELECT t.name, printf('%012d', i), '{}', i FROM n, (SELECT 'growing' AS name UNION SELECT 'other') t`,
    );
    const trim = { letterActions: 100, tables: [{ table: "growing", keep: 10 }], chunk: 50 };
    await start(w, { maintenance: { trim } });
    await w.pass(1_000);
    const one = (sql: string) => w.store.read<Record<string, unknown>>(sql)[0];
    expect(one("SELECT count(*) AS n, min(id) AS least FROM dead_letter_actions")).toEqual({ n: 100, least: 1_135 });
    const rows = "SELECT count(*) AS n, min(key) AS least FROM state_rows WHERE table_name =";
    expect(one(`${rows} 'growing'`)).toEqual({ n: 10, least: "000000001225" });
    expect(one(`${rows} 'other'`)).toMatchObject({ n: 1_234 });
  });

  test("gives free pages back once they are worth it", async () => {
    const w = open();
    for (let i = 0; i < 400; i += 1)
      await w.router.publish("HOST_OFFLINE", { node_id: `n${i}`, reason: "x".repeat(1_900) } as never);
    w.store.read("DELETE FROM events");
    const before = freePages(w.store);
    const vacuum = { ...maintenanceDefaults.vacuum, minBytes: 100_000, pages: 16 };
    expect(isWorthIt(before, vacuum)).toBe(true);
    expect(isWorthIt(before, maintenanceDefaults.vacuum)).toBe(false);
    const runtime = await start(w, { maintenance: { vacuum } });
    await w.pass(1_000);
    expect(freePages(w.store)).toMatchObject({ free: 0, canShrink: true });
    expect(freePages(w.store).all).toBeLessThanOrEqual(before.all - before.free + 4);
    expect(runtime.status()[0]!.details).toMatchObject({ free_bytes: 0, can_shrink: true });
  });
});
