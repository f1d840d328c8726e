import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../test/fixtures/unit-world.ts";
import { eventRouter } from "../daemons/units/event-router/event-router.unit.ts";
import { type BuiltinRows, builtinRows } from "../events/index.ts";
import type { RouterSettings } from "./settings.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
const open = (settings: Partial<RouterSettings> = {}) => {
  const world = unitWorld(builtinRows, { settings });
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const publish = (w: UnitWorld<BuiltinRows>) =>
  w.router.publish("HOST_OFFLINE", { node_id: "a", reason: "silent" } as never, { source: "test" });

/** A consumer of another process that takes an event and never answers. */
const visit = (w: UnitWorld<BuiltinRows>, eventTypes = ["HOST_OFFLINE"]) =>
  w.router.openSession({ consumer: "visitor", eventTypes });

/** Begins to wait, and says whether the wait is over. */
const waiting = (w: UnitWorld<BuiltinRows>, event: Awaited<ReturnType<typeof publish>>) => {
  const state = { ended: "not yet" };
  w.router.settled(event).then(
    () => {
      state.ended = "settled";
    },
    (thrown: { code: string }) => {
      state.ended = thrown.code;
    },
  );
  return state;
};

describe("whoever waits for an event to be settled goes on", () => {
  test("when its last consumer is forgotten", async () => {
    const w = open();
    await visit(w);
    const state = waiting(w, await publish(w));
    await w.pass(1_000);
    expect(state.ended).toBe("not yet");
    await w.router.forgetConsumer("visitor");
    await w.pass(1);
    expect(state.ended).toBe("settled");
  });

  test("when its last consumer wants it no more", async () => {
    const w = open();
    await visit(w);
    const state = waiting(w, await publish(w));
    await w.pass(1_000);
    await visit(w, ["ERROR"]);
    await w.pass(1);
    expect(state.ended).toBe("settled");
  });

  test("when its last consumer stays away and expires", async () => {
    const w = open({ consumerExpirySeconds: 60 });
    await w.driven(w.runtime([eventRouter({ router: w.router as never, store: w.store })]).start());
    await w.router.closeSession(await visit(w), false);
    const state = waiting(w, await publish(w));
    await w.pass(500_000);
    expect(state.ended).toBe("not yet");
    await w.pass(500_000);
    expect(state.ended).toBe("settled");
  });

  test("when what failed is tried again and handled, with all that stood behind it; that nobody is behind says less", async () => {
    const w = open({ retryFirstMs: 60_000, maxAttempts: 2 });
    const session = await visit(w);
    const [first, behind] = [
      await publish(w),
      await w.router.publish("HOST_OFFLINE", { node_id: "a", reason: "gone" }),
    ];
    const states = [waiting(w, first), waiting(w, behind)];
    const ended = () => states.map((state) => state.ended);
    expect(await session.poll(2, 0)).toHaveLength(2);
    await session.nack(first.seq!, "not yet");
    await w.pass(1_000);
    expect(w.router.consumerLag()).toEqual({ visitor: 0 });
    expect(ended()).toEqual(["not yet", "not yet"]);
    await w.pass(80_000);
    const again = await session.poll(2, 0);
    await session.ack(again.map(({ event }) => event.seq!));
    await w.pass(1);
    expect(ended()).toEqual(["settled", "settled"]);
  });

  test("when the router stops before, with an error that says so", async () => {
    const w = open();
    await visit(w);
    const state = waiting(w, await publish(w));
    await w.pass(1);
    await w.driven(w.router.stop());
    await w.pass(1);
    expect(state.ended).toBe("ROUTER_STOPPED");
  });
});

describe("the word about a handler that ran out of time names its own limit", () => {
  test("for a consumer of this process", async () => {
    const w = open({ maxAttempts: 1, handlerTimeoutMs: 600_000 });
    await w.router.consume({
      consumer: "hasty",
      timeoutMs: 2_500,
      handlers: { HOST_OFFLINE: () => new Promise<void>(() => {}) },
    });
    await publish(w);
    await w.pass(5_000);
    expect(w.router.history({ eventType: "HANDLER_TIMEOUT" }).map(({ payload }) => payload)).toMatchObject([
      { consumer: "hasty", timeout_seconds: 2.5, attempts: 1 },
    ]);
  });

  test("for one of another process, whose lease ran out", async () => {
    const w = open({ maxAttempts: 1 });
    const session = await w.router.openSession({ consumer: "visitor", eventTypes: ["HOST_OFFLINE"], leaseMs: 7_000 });
    await publish(w);
    expect(await session.poll(1, 0)).toHaveLength(1);
    await w.pass(10_000);
    expect(w.router.history({ eventType: "HANDLER_TIMEOUT" }).map(({ payload }) => payload)).toMatchObject([
      { consumer: "visitor", timeout_seconds: 7 },
    ]);
  });
});
