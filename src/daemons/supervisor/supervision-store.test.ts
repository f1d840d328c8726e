import { afterEach, describe, expect, test } from "vitest";
import { aborted, managerWorld } from "../../../test/fixtures/manager-world.ts";
import { unitWorld } from "../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../events/index.ts";
import type { EventRouter } from "../../router/index.ts";
import { KEPT_ACTIONS } from "../limits.ts";
import { memorySupervisionStore, supervisionStore } from "./supervision-store.ts";

const worlds: { close(): Promise<void> }[] = [];
const world = () => {
  const opened = unitWorld(builtinRows);
  worlds.push(opened);
  return { ...opened, kept: () => supervisionStore(opened.router as unknown as EventRouter) };
};
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

const failing = async () => {
  throw new Error("no luck");
};
const row = (at: number) => ({ at, daemon: "d", action: "started", reason: "", cause: null, actor: "ann" }) as const;

describe("the supervisor's records in the store", () => {
  test("hold restarts, permanent failure, conditions and actions; another supervisor on the same store goes on from them", async () => {
    const w = world();
    const first = managerWorld({ clock: w.clock, store: w.kept() });
    first.manager.registerFactory({ daemonType: "bad", factory: failing, maxRestarts: 2 });
    void first.manager.start("bad");
    await first.pass(120_000);
    expect(first.manager.isPermanentlyFailed("bad")).toBe(true);

    const second = managerWorld({ clock: w.clock, store: w.kept() });
    second.manager.registerFactory({ daemonType: "bad", factory: failing, maxRestarts: 2 });
    expect(second.manager.getStatus().bad).toMatchObject({
      state: "failed",
      restarts: 2,
      permanentFailure: { kind: "restarts", error: "no luck" },
    });
    expect(second.manager.actions().map(({ action }) => action)).toEqual(["failed", "failed", "failed", "gave_up"]);
    second.manager.clearPermanentlyFailed("bad");
    await second.driven(second.manager.shutdown());
    expect(w.kept().records().get("bad")).toMatchObject({ restarts: [], permanentFailure: null });
  });

  test.each([
    ["nothing", ""],
    ["half a character", "broken \ud83d"],
    ["NUL and other controls", "a\u0000b\u001b[31m\n"],
    ["a character cut in two by the bound", `${"x".repeat(1_999)}😀`],
    ["a record", "long ".repeat(500_000)],
  ])("are written, whatever a daemon says when it fails: %s", async (_, message) => {
    const w = world();
    const { manager, driven, pass } = managerWorld({ clock: w.clock, store: w.kept() });
    const factory = () => Promise.reject(new Error(message));
    manager.registerFactory({ daemonType: "odd", factory, maxRestarts: 3 });
    void manager.start("odd");
    await pass(300_000);
    expect(manager.isPermanentlyFailed("odd")).toBe(true);
    expect(w.kept().records().get("odd")?.permanentFailure).toMatchObject({ kind: "restarts" });
    await driven(manager.shutdown());
  });

  test("are committed together with the events, which the catalog's strict schemas allow", async () => {
    const w = world();
    const { manager, driven, pass } = managerWorld({ clock: w.clock, store: w.kept() });
    manager.registerFactory({
      daemonType: "good",
      factory: async ({ ready, signal }) => {
        ready();
        await aborted(signal);
      },
    });
    manager.registerFactory({ daemonType: "bad", factory: failing, maxRestarts: 4 });
    await driven(manager.startAll());
    await pass(600_000);
    await driven(manager.shutdown());
    const said = w.router.history().map(({ eventType, source, payload }) => [eventType, source, payload.daemon_name]);
    expect(said.reverse()).toEqual(
      expect.arrayContaining([
        ["DAEMON_STARTED", "daemon_manager", "good"],
        ["DAEMON_CRASH_LOOP_DETECTED", "daemon_manager", "bad"],
        ["DAEMON_PERMANENTLY_FAILED", "daemon_manager", "bad"],
        ["DAEMON_STATUS_CHANGED", "daemon_manager", "bad"],
        ["DAEMON_STOPPED", "daemon_manager", "good"],
      ]),
    );
    // Each of its five failures is told.
    expect(said).toHaveLength(4 + 5);
  });

  test("wait for a store that refuses, and lose nothing", async () => {
    const w = world();
    const inner = w.kept();
    let refusals = 3;
    const store = {
      ...inner,
      write: (batch: Parameters<typeof inner.write>[0]) => {
        refusals -= 1;
        return refusals >= 0 ? Promise.reject(new Error("disk full")) : inner.write(batch);
      },
    };
    const { manager, pass } = managerWorld({ clock: w.clock, store });
    manager.registerFactory({ daemonType: "bad", factory: failing });
    void manager.start("bad");
    await pass(500);
    expect(inner.actions()).toEqual([]);
    await pass(5_000);
    expect(inner.actions().map(({ action, reason }) => [action, reason])).toEqual([["failed", "no luck"]]);
    expect(inner.records().get("bad")?.conditions).toContainEqual(
      expect.objectContaining({ type: "Ready", status: "false", reason: "Failed" }),
    );
  });

  test("keep the last thousand actions, in the store as in memory", async () => {
    const w = world();
    for (const store of [w.kept(), memorySupervisionStore()]) {
      for (let from = 0; from < KEPT_ACTIONS + 250; from += 250)
        await store.write({
          records: new Map(),
          events: [],
          actions: Array.from({ length: 250 }, (_, i) => row(from + i)),
        });
      expect(store.actions()).toHaveLength(KEPT_ACTIONS);
      expect([store.actions()[0]!.at, store.actions().at(-1)!.at]).toEqual([250, KEPT_ACTIONS + 249]);
    }
    const later = w.kept();
    await later.write({ records: new Map(), events: [], actions: [row(9_999)] });
    expect(later.actions()).toHaveLength(KEPT_ACTIONS);
  });
});
