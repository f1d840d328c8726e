import { afterEach, expect, test, vi } from "vitest";
import { routerOver } from "../../test/support/router.ts";
import { builtinRows } from "../events/index.ts";
import type { EventRouter, RouterSettings } from "./index.ts";

const open: EventRouter[] = [];
const fresh = (settings: Partial<RouterSettings> = {}) => {
  const { router } = routerOver(builtinRows, settings);
  open.push(router as unknown as EventRouter);
  return router;
};
afterEach(async () => {
  for (const router of open.splice(0)) {
    await router.stop();
    await router.store.close();
  }
});

const wish = { config_key: "hex8_2p" };
const reports = (router: ReturnType<typeof fresh>) =>
  ["HANDLER_FAILED", "HANDLER_TIMEOUT"].flatMap((eventType) => router.history({ eventType, fromJournal: true }));

test("a listener with a name that throws leaves HANDLER_FAILED and a dead letter, and the others hear the event", async () => {
  const router = fresh();
  const heard: string[] = [];
  router.subscribe("SYNC_TRIGGERED", function onSync() {
    throw new Error("no disk");
  });
  router.subscribe("SYNC_TRIGGERED", async () => void heard.push("other"));
  const event = await router.publish("SYNC_TRIGGERED", wish as never);
  await router.settled(event);
  expect(heard).toEqual(["other"]);
  expect(router.deadLetters.getPendingEvents()).toMatchObject([
    { consumer: "listener:onSync", event_id: event.eventId, error: expect.stringContaining("no disk"), attempts: 1 },
  ]);
  expect(reports(router)).toMatchObject([
    {
      eventType: "HANDLER_FAILED",
      parentEventId: event.eventId,
      payload: { consumer: "listener:onSync", event_type: "SYNC_TRIGGERED" },
    },
  ]);
});

test("one that runs out of time leaves HANDLER_TIMEOUT and a dead letter", async () => {
  const router = fresh({ handlerTimeoutMs: 5 });
  router.subscribe("SYNC_TRIGGERED", () => new Promise(() => {}), { name: "slow" });
  const event = await router.publish("SYNC_TRIGGERED", wish as never);
  await router.settled(event);
  expect(router.deadLetters.getPendingEvents()).toMatchObject([{ consumer: "listener:slow" }]);
  expect(reports(router)).toMatchObject([{ eventType: "HANDLER_TIMEOUT", payload: { consumer: "listener:slow" } }]);
  expect(router.getStats().handler_timeouts).toMatchObject({ "listener:slow": 1 });
});

test("one that was written in place and given no name is logged and counted, and no more", async () => {
  const router = fresh();
  router.subscribe("SYNC_TRIGGERED", () => Promise.reject(new Error("no disk")));
  await router.settled(await router.publish("SYNC_TRIGGERED", wish as never));
  expect(router.deadLetters.getPendingEvents()).toEqual([]);
  expect(reports(router)).toEqual([]);
  expect(router.getStats().handler_failures).toBe(1);
});

test("a letter of a listener goes back to it, and is recovered when it succeeds", async () => {
  const router = fresh();
  let broken = true;
  const heard: (number | null)[] = [];
  const stop = router.subscribe(
    "SYNC_TRIGGERED",
    (event) => {
      if (broken) throw new Error("no disk");
      heard.push(event.seq);
    },
    { name: "mirror" },
  );
  const event = await router.publish("SYNC_TRIGGERED", wish as never);
  await router.settled(event);
  const [letter] = router.deadLetters.getPendingEvents();
  await router.deadLetters.retryEvent(letter!.id);
  await vi.waitFor(() =>
    expect(router.deadLetters.getPendingEvents()).toMatchObject([{ attempts: 2, retry_count: 1 }]),
  );
  broken = false;
  expect(await router.deadLetters.retryAll()).toMatchObject([{ consumer: "listener:mirror" }]);
  await vi.waitFor(() => expect(router.deadLetters.counts()).toMatchObject({ pending: 0, recovered: 1 }));
  expect(heard).toEqual([event.seq]);
  stop();
});

test("a letter whose listener is gone waits, and asking for it says so", async () => {
  const router = fresh();
  const stop = router.subscribe("SYNC_TRIGGERED", () => Promise.reject(new Error("x")), { name: "mirror" });
  await router.settled(await router.publish("SYNC_TRIGGERED", wish as never));
  stop();
  expect(await router.deadLetters.retryAll()).toEqual([]);
  const [letter] = router.deadLetters.getPendingEvents();
  await expect(router.deadLetters.retryEvent(letter!.id)).rejects.toMatchObject({ code: "LISTENER_AWAY" });
});

test("what only passes by leaves a report and no letter, once for each window", async () => {
  const router = fresh();
  const progress = { config_key: "hex8_2p", job_id: "j1", training_epoch: 1, loss: 1 };
  router.subscribe("TRAINING_PROGRESS", () => Promise.reject(new Error("x")), { name: "gauge" });
  for (const training_epoch of [1, 2])
    await router.settled(await router.publish("TRAINING_PROGRESS", { ...progress, training_epoch } as never));
  expect(router.deadLetters.getPendingEvents()).toEqual([]);
  expect(reports(router)).toMatchObject([{ payload: { consumer: "listener:gauge" } }]);
});

test("a listener of the router's own reports that fails is not reported on again", async () => {
  const router = fresh();
  router.subscribe("SYNC_TRIGGERED", () => Promise.reject(new Error("x")), { name: "first" });
  router.subscribe("HANDLER_FAILED", () => Promise.reject(new Error("y")), { name: "second" });
  await router.settled(await router.publish("SYNC_TRIGGERED", wish as never));
  await vi.waitFor(() =>
    expect(router.deadLetters.getPendingEvents().map(({ consumer }) => consumer)).toEqual([
      "listener:first",
      "listener:second",
    ]),
  );
  expect(reports(router)).toMatchObject([{ payload: { consumer: "listener:first" } }]);
});

test("a name that no consumer could have is refused", () => {
  expect(() => fresh().subscribe("SYNC_TRIGGERED", () => {}, { name: "a b" })).toThrow("'a b' is not a valid name");
});
