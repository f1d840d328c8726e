import { createHash } from "node:crypto";
import { expect } from "vitest";
import { declaredServices, liveRegistry } from "../../../src/app/registry.ts";
import type { AuditReport } from "../../../src/daemons/index.ts";
import { type AnyEvent, DataEventType, validateCriticalSubscriptions } from "../../../src/index.ts";
import { walk } from "./world.ts";

/** The blocks of 003, by their sections, in the order in which they stand there. */
const sections = [
  "Event Bus Architecture: the picture of the three views",
  "Check Subscription Status: asking the status page",
  "Critical Subscriptions: the seven that must stand",
  "Subscription with Retry: subscribing until it works",
  "DLQ Storage: the table of dead letters",
  "DLQ Operations: list, retry, clean up",
  "DLQ Dashboard: the same from the command line",
  "Event Deduplication: the hash and its window",
  "Subscribing to Events: by name and by constant",
  "Using Typed Emitters: one emitter for each event",
  "Using EventBus Directly: an event handed to the data bus",
  "Cross-Process Events: publish here, consume there",
  "Events Not Being Delivered: who subscribes to what",
  "Duplicate Events: how many repeats were held back",
  "Handler Timeout: asking the status page",
  "DLQ Growing: how many, and why",
  "Event Wiring Verification: events that nobody hears",
] as const;

/** A dead letter of a listener that fails on purpose, and how to let it succeed. */
function failingListener(
  router: { subscribe: (type: string, handler: (event: AnyEvent) => void, how: { name: string }) => () => void },
  name: string,
) {
  const state = { broken: true, handled: 0 };
  const stop = router.subscribe(
    "SYNC_TRIGGERED",
    () => {
      if (state.broken) throw new Error("the store is gone");
      state.handled += 1;
    },
    { name },
  );
  return { state, stop };
}

walk("003", sections, {
  async "Event Bus Architecture: the picture of the three views"({ coordination: { router }, client }) {
    const heard: string[] = [];
    const stops = [
      router.subscribe("TRAINING_COMPLETED", () => void heard.push("in memory")),
      router.stageBus.subscribe("training_complete", () => void heard.push("stage bus")),
    ];
    const { promise: crossed, resolve } = Promise.withResolvers<string>();
    const subscription = client.subscribe(
      { consumer: "picture", eventTypes: ["TRAINING_COMPLETED"], start: "earliest" },
      ({ eventId }) => resolve(eventId),
    );
    const event = await router.publish("TRAINING_COMPLETED", { config_key: "hex8_2p", job_id: "picture" });
    expect(await crossed).toBe(event.eventId);
    expect(heard.sort()).toEqual(["in memory", "stage bus"]);
    await subscription.stop();
    await router.forgetConsumer("picture");
    for (const stop of stops) stop();
  },

  async "Check Subscription Status: asking the status page"({ curl }) {
    const { event_subscription_status: status } = await curl("/status");
    expect(status).toMatchObject({ DATA_SYNC_COMPLETED: expect.anything() });
  },

  "Critical Subscriptions: the seven that must stand"({ coordination }) {
    const critical = ["TRAINING_STARTED", "TRAINING_COMPLETED", "DATA_SYNC_STARTED", "DATA_SYNC_COMPLETED"];
    const tasks = ["TASK_SPAWNED", "TASK_COMPLETED", "TASK_FAILED"];
    const rows = Object.values(coordination.router.catalog.rows).filter((row) => row.critical);
    expect(rows.map(({ name }) => name).sort()).toEqual([...critical, ...tasks].sort());
    const { nodeId } = coordination.router;
    expect(coordination.units.readiness()).toMatchObject({ ready: true });
    // What the function says of the units that exist: all of them listen, and one that does not is missed by its name.
    const judge = (subscribers: Readonly<Record<string, readonly string[]>>) =>
      validateCriticalSubscriptions({
        registry: liveRegistry(declaredServices()),
        nodeId,
        placements: ["leader", "each-node", "each-process"],
        subscribers,
      });
    const { TRAINING_COMPLETED, ...others } = coordination.router.listSubscribers();
    const whole = judge({ ...others, TRAINING_COMPLETED: TRAINING_COMPLETED! });
    expect(whole.subscriptions.filter(({ missing }) => missing.length > 0)).toEqual([]);
    expect(whole.subscriptions.map(({ event }) => event).sort()).toEqual([...critical, ...tasks].sort());
    const { expected } = whole.subscriptions.find(({ event }) => event === "TRAINING_COMPLETED")!;
    expect(expected).toContain("pipeline_orchestrator");
    expect([whole.ready, judge(others)]).toMatchObject([
      true,
      {
        ready: false,
        subscriptions: expect.arrayContaining([{ event: "TRAINING_COMPLETED", expected, missing: expected }]),
      },
    ]);
  },

  async "Subscription with Retry: subscribing until it works"({ coordination, client }) {
    // Nothing to write by hand: a client reconnects by itself, and a name that no consumer could have is refused at once.
    const subscription = client.subscribe({ consumer: "retrying", eventTypes: ["SYNC_TRIGGERED"] }, () => undefined);
    await expect.poll(() => coordination.router.listSubscribers().SYNC_TRIGGERED).toContain("retrying");
    await subscription.stop();
    // Also one that is told to stop before it stands ends.
    await client.subscribe({ consumer: "retrying", eventTypes: ["SYNC_TRIGGERED"] }, () => undefined).stop();
    // It would be owed what comes until it is back; it does not come back.
    await coordination.router.forgetConsumer("retrying");
    await expect(client.openSession({ consumer: "no name", eventTypes: [] })).rejects.toMatchObject({
      code: "INVALID_CONSUMER",
    });
  },

  async "DLQ Storage: the table of dead letters"({ coordination: { router } }) {
    const { stop } = failingListener(router as never, "stored");
    const event = await router.publish("SYNC_TRIGGERED", { config_key: "hex8_2p" });
    await router.settled(event);
    expect(router.deadLetters.getPendingEvents(100, { consumer: "listener:stored" })).toMatchObject([
      {
        id: expect.any(Number),
        event_type: "SYNC_TRIGGERED",
        event_id: event.eventId,
        error: expect.any(String),
        retry_count: 0,
      },
    ]);
    expect(router.history({ eventType: "SYNC_TRIGGERED" }).at(-1)?.payload).toEqual({ config_key: "hex8_2p" });
    await router.deadLetters.discard({ filter: { consumer: "listener:stored" }, actor: "twin" });
    stop();
  },

  async "DLQ Operations: list, retry, clean up"({ coordination: { router } }) {
    const { state, stop } = failingListener(router as never, "operated");
    await router.settled(await router.publish("SYNC_TRIGGERED", { config_key: "hex8_4p" }));
    const [failed] = router.deadLetters.getPendingEvents(100, { consumer: "listener:operated" });
    state.broken = false;
    await router.deadLetters.retryEvent(failed!.id);
    await expect.poll(() => router.deadLetters.list({ id: failed!.id })).toMatchObject([{ status: "recovered" }]);
    expect(state.handled).toBe(1);
    expect(await router.deadLetters.cleanup(24)).toBe(0);
    expect(await router.deadLetters.cleanup(0)).toBeGreaterThan(0);
    stop();
  },

  async "DLQ Dashboard: the same from the command line"({ coordination: { router }, ringrift }) {
    const { state, stop } = failingListener(router as never, "shown");
    await router.settled(await router.publish("SYNC_TRIGGERED", { config_key: "square8_2p" }));
    expect(await ringrift("dlq")).toContain("1 pending");
    expect(await ringrift("dlq", "--pending", "--limit", "20")).toContain("listener:shown");
    state.broken = false;
    await ringrift("dlq", "--retry", "--max-events", "10");
    await expect.poll(() => router.deadLetters.getPendingCount()).toBe(0);
    expect(await ringrift("dlq", "--help")).toMatch(/--watch[\s\S]*--interval/);
    stop();
  },

  async "Event Deduplication: the hash and its window"({ coordination: { router } }) {
    const payload = { config_key: "hex8_2p", job_id: "twice", epochs: 50 };
    const first = await router.publish("TRAINING_COMPLETED", payload);
    const second = await router.publish("TRAINING_COMPLETED", payload);
    const sorted = JSON.stringify(Object.fromEntries(Object.entries(payload).sort()));
    expect(first.contentHash).toBe(createHash("sha256").update(`TRAINING_COMPLETED:${sorted}`).digest("hex"));
    expect(second).toMatchObject({ suppressed: "content", eventId: first.eventId });
    expect(router.settings.dedupWindowSeconds).toBe(60);
  },

  async "Subscribing to Events: by name and by constant"({ coordination: { router } }) {
    const heard: unknown[] = [];
    const byName = (event: { payload: { config_key?: string } }) =>
      void heard.push(event.payload.config_key ?? "unknown");
    router.subscribe("TRAINING_COMPLETED", byName);
    const stop = router.subscribe(
      DataEventType.TRAINING_COMPLETED,
      ({ payload }) => void heard.push(payload.config_key),
    );
    await router.publish("TRAINING_COMPLETED", { config_key: "square8_2p", job_id: "both" });
    expect(heard).toEqual(["square8_2p", "square8_2p"]);
    expect(router.unsubscribe("TRAINING_COMPLETED", byName)).toBe(true);
    stop();
  },

  async "Using Typed Emitters: one emitter for each event"({ coordination: { router } }) {
    // The emitter is for our own words, whole; what a document's caller knows of a run is published, and its old key lifted.
    expect([router.emit.TRAINING_COMPLETED, router.emit.DATA_SYNC_COMPLETED, router.emit.MODEL_PROMOTED]).toEqual(
      Array(3).fill(expect.any(Function)),
    );
    await expect(router.emit.TRAINING_COMPLETED({ config_key: "hex8_2p" } as never)).rejects.toMatchObject({
      code: "INVALID_PAYLOAD",
    });
    const said = { config_key: "hex8_2p", model_path: "models/canonical_hex8_2p.pth", epochs_completed: 50 };
    const { payload } = await router.publish("training_complete", said);
    expect(payload).toEqual({ config_key: "hex8_2p", model_path: said.model_path, epochs: 50 });
  },

  async "Using EventBus Directly: an event handed to the data bus"({ coordination: { router } }) {
    const event = await router.dataBus.publish({
      eventType: DataEventType.TRAINING_COMPLETED,
      payload: { config_key: "hex8_2p", model_path: "..." },
      source: "TrainingCoordinator",
    });
    expect(event).toMatchObject({ eventType: "TRAINING_COMPLETED", origin: "data_bus", source: "TrainingCoordinator" });
  },

  async "Cross-Process Events: publish here, consume there"({ coordination: { router }, client }) {
    const session = await client.openSession({ consumer: "elsewhere", eventTypes: ["TRAINING_COMPLETED"] });
    const { eventId } = await router.publish("TRAINING_COMPLETED", { config_key: "hex8_2p" });
    const [delivery] = await session.poll(10, 30);
    expect(delivery?.event).toMatchObject({ eventId, payload: { config_key: "hex8_2p" } });
    await session.ack([delivery!.event.seq!]);
    await session.close();
    await router.forgetConsumer("elsewhere");
  },

  async "Events Not Being Delivered: who subscribes to what"({ coordination: { router } }) {
    expect(router.listSubscribers()).toMatchObject({ DATA_SYNC_COMPLETED: expect.any(Array) });
  },

  async "Duplicate Events: how many repeats were held back"({ coordination: { router } }) {
    expect(router.getStats()).toMatchObject({
      duplicates_prevented: expect.any(Number),
      content_duplicates_prevented: expect.any(Number),
    });
    expect(router.history().length).toBeGreaterThan(0);
  },

  async "Handler Timeout: asking the status page"({ curl }) {
    expect(await curl("/status")).toHaveProperty("handler_timeouts");
  },

  async "DLQ Growing: how many, and why"({ coordination: { router } }) {
    const { state, stop } = failingListener(router as never, "growing");
    for (const config_key of ["square8_3p", "square8_4p"])
      await router.settled(await router.publish("SYNC_TRIGGERED", { config_key }));
    expect(router.deadLetters.getPendingCount()).toBe(2);
    expect(await router.deadLetters.getErrorSummary()).toMatchObject([
      { consumer: "listener:growing", letters: 2, error: expect.stringContaining("the store is gone") },
    ]);
    state.broken = false;
    await router.deadLetters.retryAll();
    await expect.poll(() => router.deadLetters.getPendingCount()).toBe(0);
    stop();
  },

  async "Event Wiring Verification: events that nobody hears"({ coordination, ringrift }) {
    const heard = new Set(Object.keys(coordination.router.listSubscribers()));
    const unheard = Object.keys(DataEventType).filter((name) => !heard.has(name));
    // The one that is for those outside alone; the audit finds the same one, and has its excuse.
    expect(unheard).toEqual(["WORK_QUEUED"]);
    const report = JSON.parse(await ringrift("audit", "--json")) as AuditReport;
    expect(report).toMatchObject({ from: "process", ok: true, observed: true });
    const orphans = report.findings.filter(({ kind }) => kind === "orphan");
    expect(orphans).toMatchObject([
      { event: "WORK_QUEUED", excuse: expect.stringContaining("for those outside alone") },
    ]);
  },
});
