import { afterEach, expect, test } from "vitest";
import { routerOver } from "../../test/support/router.ts";
import { builtinRows } from "../events/index.ts";
import type { EventRouter } from "./index.ts";

const open: EventRouter[] = [];
const fresh = () => {
  const { router } = routerOver(builtinRows);
  open.push(router as unknown as EventRouter);
  return router;
};
afterEach(async () => {
  for (const router of open.splice(0)) {
    await router.stop();
    await router.store.close();
  }
});

const synced = {
  node_id: "n1",
  sync_id: "s1",
  data_type: "games",
  artifacts: 1,
  bytes_transferred: 10,
  duration_seconds: 1,
};

test("each routing flag hides an event from the subscribers of that view alone", async () => {
  const router = fresh();
  const seen: string[] = [];
  router.dataBus.subscribe("DATA_SYNC_COMPLETED", () => void seen.push("data"));
  router.stageBus.subscribe("sync_complete", () => void seen.push("stage"));
  router.crossProcess.subscribe("sync_completed", () => void seen.push("cross"));
  router.subscribe("DATA_SYNC_COMPLETED", () => void seen.push("router"));
  const flags = [{}, { routeToDataBus: false }, { routeToStageBus: false }, { routeToCrossProcess: false }];
  const views: string[][] = [];
  for (const [i, flag] of flags.entries()) {
    await router.publish("DATA_SYNC_COMPLETED", { ...synced, sync_id: `s${i}` } as never, flag);
    views.push(seen.splice(0).sort());
  }
  expect(views).toEqual([
    ["cross", "data", "router", "stage"],
    ["cross", "router", "stage"],
    ["cross", "data", "router"],
    ["data", "router", "stage"],
  ]);
});

test("an event without a stage twin never shows on the stage bus", async () => {
  const router = fresh();
  const seen: string[] = [];
  router.stageBus.subscribe(null, (event) => void seen.push(event.eventType));
  await router.publish("SYNC_TRIGGERED", { config_key: "hex8_2p" } as never);
  await router.publish("DATA_SYNC_COMPLETED", synced as never);
  expect(seen).toEqual(["DATA_SYNC_COMPLETED"]);
});

test("origin names the view an event came by", async () => {
  const router = fresh();
  const byStage = await router.stageBus.publish({ eventType: "sync_complete", payload: synced, source: "old" });
  const byData = await router.dataBus.publish({
    eventType: "sync_failed",
    payload: { ...synced, error: "x", retryable: true },
  });
  const plain = await router.publish("DATA_SYNC_STARTED", synced as never);
  expect([byStage.origin, byStage.eventType, byStage.source]).toEqual(["stage_bus", "DATA_SYNC_COMPLETED", "old"]);
  expect([byData.origin, plain.origin]).toEqual(["data_bus", "router"]);
  expect(router.getStats().events_by_source).toEqual({ stage_bus: 1, data_bus: 1, router: 1 });
});

test("typed emitters check strictly", async () => {
  const router = fresh();
  await expect(router.emit.ERROR({ nonsense: true } as never)).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
});

test("leaving one view leaves what the same handler hears through another", async () => {
  const router = fresh();
  const heard: string[] = [];
  const handler = (event: { eventType: string }) => void heard.push(event.eventType);
  router.subscribe("DATA_SYNC_COMPLETED", handler as never);
  router.dataBus.subscribe("DATA_SYNC_COMPLETED", handler);
  expect(router.dataBus.unsubscribe("DATA_SYNC_COMPLETED", handler)).toBe(true);
  expect(router.dataBus.unsubscribe("DATA_SYNC_COMPLETED", handler)).toBe(false);
  await router.publish("DATA_SYNC_COMPLETED", synced as never);
  expect(heard).toEqual(["DATA_SYNC_COMPLETED"]);
  expect(router.unsubscribe("DATA_SYNC_COMPLETED", handler)).toBe(true);
});
