import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows } from "../../../events/index.ts";
import { isOperatingError, OperatingError, seededRandom } from "../../../kernel/index.ts";
import { createAlerts, recipientsOf } from "../../alerts/alerts.ts";
import type { AlertMessage, AlertSink } from "../../alerts/sink.ts";
import { alertManagerCoordinator } from "./alert-manager.unit.ts";

type World = UnitWorld<BuiltinRows>;
const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** For hours in which little happens: it looks rarely, as it may. */
const CALM = { everyMs: 30_000 };

interface Receiver extends AlertSink {
  readonly got: AlertMessage[];
  /** What it does with a message; takes it unless told otherwise. */
  mood: "takes" | "fails" | "refuses" | "takes and forgets to say so";
}
const receiver = (name = "pager"): Receiver => {
  const sink: Receiver = {
    name,
    minSeverity: "warning",
    got: [],
    mood: "takes",
    async deliver(message) {
      if (sink.mood === "fails" || sink.mood === "refuses")
        throw OperatingError.unavailable("ALERT_NOT_DELIVERED", "HTTP 500", { retryable: sink.mood === "fails" });
      sink.got.push(message);
      if (sink.mood === "takes and forgets to say so")
        throw OperatingError.unavailable("ALERT_NOT_DELIVERED", "no answer");
    },
  };
  return sink;
};
const told = ({ got }: Receiver) => got.map((message) => (message.kind === "alert" ? message.transition : "summary"));

type Services = Parameters<typeof alertManagerCoordinator>[0];
const settings = { alerts: { messagesPerMinute: 10 } };

const start = async (
  { limits, ...over }: Partial<Services> & { limits?: Parameters<typeof alertManagerCoordinator>[1] } = {},
  wrap: (store: World["store"]) => Services["store"] = (store) => store,
) => {
  const w = unitWorld(builtinRows);
  worlds.push(w);
  const pager = receiver();
  const ports = (): Services => ({
    store: wrap(w.store),
    clock: w.clock,
    random: seededRandom(3),
    sinks: [pager],
    absence: [],
    settings,
    ...over,
  });
  const run = async () => {
    const runtime = w.runtime([alertManagerCoordinator(ports(), limits)]);
    await w.driven(runtime.start());
    return runtime;
  };
  const runtime = await run();
  const book = createAlerts({ store: w.store, clock: w.clock, recipients: recipientsOf(ports().sinks) });
  const fail = (config_key: string, n = 1) =>
    w.router.publish(
      "TRAINING_FAILED",
      { config_key: config_key as "a_2p", job_id: `${config_key}-${n}` as never, error: "no GPU", retryable: true },
      { source: "test" },
    );
  return { w, pager, run, runtime, book, fail };
};

describe("alert_manager", () => {
  test("opens one alert for equal events, tells it once, and counts", async () => {
    const { w, pager, book, fail } = await start();
    for (let i = 0; i < 20; i += 1) await fail("hex8_2p", i);
    await w.pass(5_000);
    const [alert, ...others] = book.list();
    expect(others).toEqual([]);
    expect(alert).toMatchObject({
      key: "TRAINING_FAILED/hex8_2p",
      status: "open",
      count: 20,
      title: "Training of hex8_2p failed",
      message: "no GPU",
      event_type: "TRAINING_FAILED",
      subject: "hex8_2p",
      closed_at: null,
      acknowledged_by: null,
    });
    // Ten repeats made it worse; that is the second and last message.
    expect(told(pager)).toEqual(["opened-1", "escalated-2"]);
    expect(alert!.severity).toBe("critical");
    expect(alert!.deliveries).toMatchObject([
      { sink: "pager", status: "delivered", error: null },
      { sink: "pager", status: "delivered", error: null },
    ]);
  });

  test("makes of ten thousand equal events one alert with its count, and few messages", async () => {
    const { w, pager, book } = await start();
    for (let i = 0; i < 10_000; i += 1) {
      const failed = { task_id: `t${i}`, node_id: "n1", work_type: "selfplay", error: "no", retryable: true };
      await w.router.publish("TASK_FAILED", failed as never, { source: "test" });
    }
    await w.pass(30_000);
    expect(book.list()).toMatchObject([{ count: 10_000, severity: "critical" }]);
    expect(told(pager)).toEqual(["opened-1", "escalated-2", "escalated-3"]);
    expect(w.router.deadLetters.counts().pending).toBe(0);
  });

  test("keeps a storm of different alerts within the rate, and tells of each in a summary", async () => {
    const { w, pager, book, fail } = await start();
    for (let i = 0; i < 300; i += 1) await fail(`board${i}_2p`);
    await w.pass(50_000);
    expect(pager.got.length).toBeLessThanOrEqual(10);
    await w.pass(3 * MINUTE);
    const changes = pager.got.reduce(
      (sum, message) => sum + (message.kind === "summary" ? message.summary.changes : 1),
      0,
    );
    expect(changes).toBe(300);
    const statuses = new Set(
      book.list({ limit: 1_000 }).flatMap(({ deliveries }) => deliveries.map(({ status }) => status)),
    );
    expect([...statuses].every((status) => status === "delivered" || status === "summarized")).toBe(true);
  });

  test("closes by the event that ends it, and says so", async () => {
    const { w, pager, book } = await start();
    const offline = { node_id: "n2", last_seen_at: 1, silent_seconds: 90 } as never;
    await w.router.publish("NODE_SUSPECT", offline, { source: "test" });
    await w.pass(2_000);
    await w.router.publish("HOST_ONLINE", { node_id: "n2" as never }, { source: "test" });
    await w.pass(2_000);
    expect(book.list()).toMatchObject([{ status: "closed", subject: "n2" }]);
    expect(told(pager)).toEqual(["opened-1", "closed-2"]);
  });

  test("reminds, escalates while nobody cares, and is silent once somebody does", async () => {
    const { w, pager, book } = await start({ limits: CALM });
    await w.router.publish("NODE_SUSPECT", { node_id: "n2", last_seen_at: 1, silent_seconds: 9 } as never, {
      source: "t",
    });
    await w.pass(3 * HOUR);
    expect(told(pager)).toEqual(["opened-1", "escalated-2", "escalated-3"]);
    expect(book.list()).toMatchObject([{ severity: "critical" }]);
    const { id } = book.list()[0]!;
    const seen = await w.driven(book.acknowledge(id, { actor: "ann", note: "on it" }));
    expect(seen).toMatchObject({ status: "acknowledged", acknowledged_by: "ann" });
    await w.pass(48 * HOUR);
    expect(told(pager).slice(3)).toEqual(["acknowledged-4"]);
    expect(await w.driven(book.close(id, { actor: "ann" }))).toMatchObject({ status: "closed" });
    await w.pass(MINUTE);
    expect(told(pager).slice(4)).toEqual(["closed-5"]);
  });

  test("closes what was not seen again where the rule says so", async () => {
    const { w, book, fail } = await start({ limits: CALM });
    await fail("hex8_2p");
    await w.pass(7 * HOUR);
    expect(book.list()).toMatchObject([{ status: "closed" }]);
  });

  test("a dead receiver loses nothing, is asked later and later, and is not flooded when it is back", async () => {
    const { w, pager, runtime, book, fail } = await start();
    pager.mood = "fails";
    for (let i = 0; i < 50; i += 1) await fail(`board${i}_2p`);
    await w.pass(HOUR);
    expect(runtime.status()[0]).toMatchObject({ status: "degraded" });
    expect(runtime.status()[0]!.message).toMatch(/'pager' takes no alerts \(HTTP 500\)/);
    const attempts = w.store.read<{ n: number }>("SELECT max(attempts) AS n FROM alert_outbox")[0]!.n;
    expect(attempts).toBeGreaterThan(5);
    expect(attempts).toBeLessThan(20);
    pager.mood = "takes";
    await w.pass(15 * MINUTE);
    expect(pager.got.length).toBeLessThan(30);
    const changes = pager.got.reduce(
      (sum, message) => sum + (message.kind === "summary" ? message.summary.changes : 1),
      0,
    );
    expect(changes).toBeGreaterThanOrEqual(50);
    expect(
      book.list({ limit: 100 }).every(({ deliveries }) => deliveries.every(({ status }) => status !== "pending")),
    ).toBe(true);
    expect(runtime.status()[0]).toMatchObject({ status: "running" });
  });

  test("holds up nobody because of one that is dead", async () => {
    const dead = receiver("dead");
    dead.mood = "fails";
    const alive = receiver("alive");
    const { w, fail } = await start({ sinks: [dead, alive] });
    await fail("hex8_2p");
    await w.pass(3_000);
    expect(told(alive)).toEqual(["opened-1"]);
    expect(dead.got).toEqual([]);
  });

  test("sends again what may have arrived, under the same key", async () => {
    const { w, pager, fail } = await start();
    pager.mood = "takes and forgets to say so";
    await fail("hex8_2p");
    await w.pass(30_000);
    pager.mood = "takes";
    await w.pass(MINUTE);
    expect(pager.got.length).toBeGreaterThan(1);
    expect(new Set(pager.got.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  test("gives up a message that is refused again and again, and goes on with the next", async () => {
    const { w, pager, book, fail } = await start({ limits: { retryMaxMs: 10_000 } });
    pager.mood = "refuses";
    await fail("hex8_2p");
    await w.pass(3 * MINUTE);
    expect(book.list()[0]!.deliveries).toMatchObject([{ status: "failed", error: "HTTP 500" }]);
    pager.mood = "takes";
    await fail("square8_2p");
    await w.pass(MINUTE);
    expect(told(pager)).toEqual(["opened-1"]);
  });

  test("delivers after a restart what it could not before, and tells nothing twice", async () => {
    const { w, pager, run, runtime, fail } = await start();
    pager.mood = "fails";
    await fail("hex8_2p");
    await w.pass(3_000);
    await w.driven(runtime.stop());
    pager.mood = "takes";
    await run();
    await w.pass(2 * MINUTE);
    expect(told(pager)).toEqual(["opened-1"]);
  });

  test("lets go of what waits for a receiver that was taken out of the settings", async () => {
    const old = receiver("old");
    old.mood = "fails";
    const { w, runtime, book, fail } = await start({ sinks: [old] });
    await fail("hex8_2p");
    await w.pass(3_000);
    await w.driven(runtime.stop());
    const unit = alertManagerCoordinator({
      store: w.store,
      clock: w.clock,
      random: seededRandom(3),
      sinks: [receiver("new")],
      absence: [],
      settings,
    });
    await w.driven(w.runtime([unit]).start());
    await w.pass(3_000);
    expect(book.list()[0]!.deliveries).toMatchObject([
      { sink: "old", status: "failed", error: "the receiver is no longer configured" },
    ]);
  });

  test("misses a unit that had sent heartbeats, and tells when it is back", async () => {
    const { w, pager, book } = await start();
    const beat = () =>
      w.router.publish(
        "COORDINATOR_HEARTBEAT",
        { coordinator_name: "worker", node_id: "n7", health: "running", handled_events: 1, failed_events: 0 } as never,
        { source: "far" },
      );
    for (let i = 0; i < 10; i += 1) {
      await beat();
      await w.pass(30_000);
    }
    expect(book.list()).toEqual([]);
    await w.pass(6 * MINUTE);
    expect(book.list()).toMatchObject([{ status: "open", subject: "worker@n7", event_type: "COORDINATOR_HEARTBEAT" }]);
    await beat();
    await w.pass(2_000);
    expect(book.list()).toMatchObject([{ status: "closed" }]);
    expect(told(pager)).toEqual(["opened-1", "closed-2"]);
  });

  test("misses after a restart who was there before it, once there was time to come back", async () => {
    const { w, run, runtime, book } = await start();
    const beat = { coordinator_name: "worker", node_id: "n7", health: "running", handled_events: 1, failed_events: 0 };
    await w.router.publish("COORDINATOR_HEARTBEAT", beat as never, { source: "far" });
    await w.pass(4 * MINUTE);
    await w.driven(runtime.stop());
    await w.pass(HOUR);
    await run();
    await w.pass(100_000);
    expect(book.list()).toEqual([]);
    await w.pass(3 * MINUTE);
    expect(book.list()).toMatchObject([{ status: "open", subject: "worker@n7" }]);
  });

  test("tells of a silence, and of its end, also when the disk refused at that moment", async () => {
    let refuses = false;
    const { w, pager, book } = await start({}, (store) => ({
      ...store,
      read: (sql, ...params) => store.read(sql, ...params),
      commit: (operations) =>
        refuses
          ? Promise.reject(OperatingError.unavailable("STORE_FULL", "no room", { retryable: false }))
          : store.commit(operations),
    }));
    const beat = () =>
      w.router.publish(
        "COORDINATOR_HEARTBEAT",
        { coordinator_name: "far", node_id: "n2" as never, health: "running", handled_events: 0, failed_events: 0 },
        { source: "test" },
      );
    // That its own round failed is another alert.
    const absent = () => book.list().filter(({ key }) => key.startsWith("ABSENCE/"));
    const openedNow = () =>
      pager.got.flatMap((each) =>
        each.kind === "alert" && each.alert.key.startsWith("ABSENCE/") ? [each.transition] : [],
      );
    await beat();
    await w.pass(290_000);
    refuses = true;
    await w.pass(60_000);
    refuses = false;
    await w.pass(5_000);
    expect(absent()).toMatchObject([{ status: "open", subject: "far@n2" }]);
    expect(openedNow()).toEqual(["opened-1"]);
    refuses = true;
    await beat();
    await w.pass(5_000);
    refuses = false;
    await w.pass(5_000);
    expect(absent()).toMatchObject([{ status: "closed" }]);
    expect(openedNow()).toEqual(["opened-1", "closed-2"]);
  });

  test("watches what the user asks for", async () => {
    const { w, book } = await start({
      absence: [
        {
          name: "user.games",
          event: "NEW_GAMES_AVAILABLE",
          by: [],
          withinMs: HOUR,
          severity: "warning",
          title: "No games",
          from: "start",
          endedBy: [],
        },
      ],
    });
    await w.pass(59 * MINUTE);
    expect(book.list()).toEqual([]);
    await w.pass(2 * MINUTE);
    expect(book.list()).toMatchObject([{ title: "No games", severity: "warning" }]);
  });
});

describe("the book of alerts", () => {
  test("lists by status and severity, newest first, within a bound", async () => {
    const { w, book, fail } = await start();
    await fail("a_2p");
    await w.pass(10);
    await fail("b_2p");
    await w.pass(2_000);
    const [newest] = book.list();
    expect(newest?.subject).toBe("b_2p");
    await w.driven(book.close(newest!.id, { actor: "ann" }));
    expect(book.list({ status: "open" }).map(({ subject }) => subject)).toEqual(["a_2p"]);
    expect(book.list({ status: "closed" }).map(({ subject }) => subject)).toEqual(["b_2p"]);
    expect(book.list({ severity: "critical" })).toEqual([]);
    expect(book.list({ limit: 1 })).toHaveLength(1);
  });

  test("counts those that are not closed, however many there are", async () => {
    const { w, book, fail } = await start();
    for (let i = 0; i < 1_100; i += 1) await fail(`board${i}_2p`);
    await w.pass(5_000);
    const [first, second] = book.list();
    await w.driven(book.acknowledge(first!.id, { actor: "ann" }));
    await w.driven(book.close(second!.id, { actor: "ann" }));
    expect(book.counts()).toEqual({ info: 0, warning: 0, error: 1_099, critical: 0 });
  });

  test("says which alert there is none of, and what is closed already", async () => {
    const { w, book, fail } = await start();
    const codeOf = (work: Promise<unknown>) =>
      w.driven(
        work.then(
          () => "none",
          (thrown: unknown) => (isOperatingError(thrown) ? thrown.code : String(thrown)),
        ),
      );
    expect(() => book.get("nope")).toThrow("there is no alert 'nope'");
    expect(await codeOf(book.close("nope", { actor: "ann" }))).toBe("ALERT_NOT_FOUND");
    await fail("a_2p");
    await w.pass(1_000);
    const { id } = book.list()[0]!;
    await w.driven(book.close(id, { actor: "ann" }));
    expect(await codeOf(book.acknowledge(id, { actor: "ann" }))).toBe("ALERT_CLOSED");
    expect(await codeOf(book.close(id, { actor: "ann" }))).toBe("none");
  });

  test("forgets closed alerts after their time, and never an open one", async () => {
    const { w, book, fail } = await start({ limits: { ...CALM, keepClosedMs: 2 * HOUR } });
    await w.router.publish(
      "DLQ_EVENTS_PURGED",
      { consumer: "c", dead_letters: 2, event_types: ["X"], reason: "r" } as never,
      { source: "t" },
    );
    await fail("a_2p");
    await w.pass(12 * HOUR);
    expect(book.list().map(({ event_type }) => event_type)).toEqual(["DLQ_EVENTS_PURGED"]);
    expect(w.store.read("SELECT DISTINCT alert_id FROM alert_outbox")).toHaveLength(1);
  });

  test("forgets messages that were summed up, and summed up again", async () => {
    const { w, pager, fail } = await start({ limits: { keepClosedMs: 2 * HOUR, maxWaiting: 5 } });
    pager.mood = "fails";
    for (let i = 0; i < 60; i += 1) {
      await fail(`board${i}_2p`);
      await w.pass(1_000);
    }
    const summaries = () =>
      w.store.read("SELECT 1 FROM alert_outbox WHERE alert_id IS NULL AND status = 'summarized'").length;
    expect(summaries()).toBeGreaterThan(2);
    pager.mood = "takes";
    await w.pass(12 * HOUR);
    expect(summaries()).toBe(0);
  });
});
