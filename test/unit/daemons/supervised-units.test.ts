import { afterEach, describe, expect, test } from "vitest";
import { DaemonManager, defineCoordinator, defineDaemon, supervisionStore } from "../../../src/daemons/index.ts";
import { dlqRetry } from "../../../src/daemons/units/dlq-retry/dlq-retry.unit.ts";
import { eventRouter } from "../../../src/daemons/units/event-router/event-router.unit.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { OperatingError, seededRandom, silentLog } from "../../../src/kernel/index.ts";
import type { EventRouter } from "../../../src/router/index.ts";
import { unitWorld } from "../../fixtures/unit-world.ts";

const worlds: { close(): Promise<void> }[] = [];
const world = () => {
  const opened = unitWorld(builtinRows);
  worlds.push(opened);
  const router = opened.router as unknown as EventRouter;
  const manager = new DaemonManager({
    clock: opened.clock,
    random: seededRandom(5),
    log: silentLog(),
    nodeId: "n1",
    pid: 7,
    store: supervisionStore(router),
  });
  return { ...opened, manager };
};
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

const plain = { layer: 1, placement: "leader", emits: [] } as const;

describe("units under the supervisor", () => {
  test("event_router and dlq_retry run in order, answer to their daemon types, and end in reverse", async () => {
    const w = world();
    const units = [eventRouter(w), dlqRetry(w)];
    const runtime = w.runtime(units, { manager: w.manager });
    await w.driven(runtime.start());
    expect([w.manager.isRunning("EVENT_ROUTER"), w.manager.isRunning("DLQ_RETRY")]).toEqual([true, true]);
    expect(w.manager.getStatus().event_router).toMatchObject({ critical: true, dependsOn: [] });
    await w.pass(120_000);
    expect(runtime.status().every(({ ticks }) => ticks > 1)).toBe(true);
    expect(w.manager.getAllDaemonHealth()).toMatchObject({
      event_router: { healthy: true },
      dlq_retry: { healthy: true },
    });
    await w.driven(w.manager.shutdown());
    await w.driven(runtime.stop());
    const said = w.router.history().filter(({ source }) => source === "daemon_manager");
    expect(said.map(({ eventType, payload }) => `${eventType} ${payload.daemon_name}`).sort()).toEqual([
      "DAEMON_STARTED dlq_retry",
      "DAEMON_STARTED event_router",
      "DAEMON_STOPPED dlq_retry",
      "DAEMON_STOPPED event_router",
    ]);
    expect(w.manager.actions().map(({ daemon, action }) => `${daemon} ${action}`)).toEqual([
      "event_router started",
      "dlq_retry started",
      "dlq_retry stopped",
      "event_router stopped",
    ]);
  });

  test("all are subscribed before the first loop begins", async () => {
    const w = world();
    const seen: boolean[] = [];
    const speaker = defineDaemon({
      ...plain,
      name: "speaker",
      loop: { everyMs: 1_000, tick: () => void seen.push(w.router.hasSubscribers("HANDLER_FAILED")) },
    });
    const listener = defineCoordinator({ ...plain, name: "listener", layer: 9, on: { HANDLER_FAILED() {} } });
    await w.driven(w.runtime([speaker, listener], { manager: w.manager }).start());
    await w.pass(10);
    expect(seen).toEqual([true]);
  });

  test("one whose ticks fail is told and left running; no restart is spent on it", async () => {
    const w = world();
    const stumbling = defineDaemon({
      ...plain,
      name: "stumbling",
      loop: {
        everyMs: 1_000,
        tick() {
          throw OperatingError.internal("NO_LUCK", "no luck");
        },
      },
    });
    await w.driven(w.runtime([stumbling], { manager: w.manager }).start());
    await w.pass(600_000);
    expect(w.manager.getStatus().stumbling).toMatchObject({
      state: "degraded",
      restarts: 0,
      health: { status: "stopped" },
    });
  });

  test("one whose tick hangs is ended and begun again, and two ticks never overlap", async () => {
    const w = world();
    let begun = 0;
    let under = 0;
    let most = 0;
    const hanging = defineDaemon({
      ...plain,
      name: "hanging",
      timeoutMs: 5_000,
      loop: {
        everyMs: 1_000,
        async tick({ signal }) {
          begun += 1;
          under += 1;
          most = Math.max(most, under);
          // The first one does not care for its time limit, but ends when the whole unit does, two minutes later.
          if (begun === 1) await new Promise<void>((resolve) => void w.clock.after(120_000, resolve));
          under -= 1;
          signal.throwIfAborted();
        },
      },
    });
    await w.driven(w.runtime([hanging], { manager: w.manager }).start());
    await w.pass(100_000);
    expect(w.manager.getStatus().hanging).toMatchObject({ state: "stopping" });
    await w.pass(60_000);
    expect(w.manager.getStatus().hanging).toMatchObject({ state: "running", restarts: 1 });
    expect({ most, more: begun > 1 }).toEqual({ most: 1, more: true });
  });

  test("one that could not subscribe is tried again by the supervisor", async () => {
    const w = world();
    let refusals = 4;
    const { router } = w;
    const refusing = {
      catalog: router.catalog,
      nodeId: router.nodeId,
      store: router.store,
      transact: router.transact.bind(router),
      prepare: router.prepare.bind(router),
      publishPrepared: router.publishPrepared.bind(router),
      listSubscribers: router.listSubscribers.bind(router),
      subscribe: (...args: Parameters<EventRouter["subscribe"]>) =>
        (router as unknown as EventRouter).subscribe(...args),
      consume: (options: Parameters<EventRouter["consume"]>[0]) => {
        refusals -= 1;
        if (refusals < 0) return router.consume(options);
        throw OperatingError.unavailable("STORE_READ_ONLY", "read-only disk");
      },
    };
    const unit = defineCoordinator({ ...plain, name: "listener", on: { HANDLER_FAILED() {} } });
    const runtime = w.runtime([unit], { manager: w.manager, router: refusing as never });
    expect(await w.driven(runtime.start())).toMatchObject({ ready: false, unsubscribed: ["listener"] });
    expect(w.manager.getStatus().listener).toMatchObject({ state: "restarting" });
    await w.pass(15_000);
    expect(runtime.readiness()).toMatchObject({ ready: true, unsubscribed: [] });
    expect(w.manager.isRunning("listener")).toBe(true);
  });
});
