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

/** Five events, one second apart, of which a consumer of offline hosts has had all that it asks for. */
async function had() {
  const router = fresh();
  const heard: string[] = [];
  const consumer = await router.consume({
    consumer: "exporter",
    handlers: { HOST_OFFLINE: ({ payload }) => void heard.push(String(payload.node_id)) },
  });
  const say = async (n: number) => {
    const payload = { node_id: `n${n}`, reason: "silent" };
    const event = await router.publish("HOST_OFFLINE", payload as never, { timestamp: 1_000 + n });
    await router.settled(event);
  };
  for (const n of [1, 2, 3]) await say(n);
  await router.publish("HOST_ONLINE", { node_id: "n1" } as never, { timestamp: 1_004 });
  return { router, heard, consumer, say };
}

test("a replay gives a consumer what it has behind it since then, oldest first, and nothing else", async () => {
  const { router, heard } = await had();
  const { events, hasMore, isConnected } = await router.replay({ consumer: "exporter", since: 1_002, max: 10 });
  expect(events.map(({ event_type, timestamp }) => [event_type, timestamp])).toEqual([
    ["HOST_OFFLINE", 1_002],
    ["HOST_OFFLINE", 1_003],
  ]);
  expect([hasMore, isConnected]).toEqual([false, true]);
  await expect.poll(() => heard).toEqual(["n1", "n2", "n3", "n2", "n3"]);
  await expect.poll(() => router.idle).toBe(true);
});

test("a dry run says the same and changes nothing", async () => {
  const { router, heard, say } = await had();
  const dry = await router.replay({ consumer: "exporter", since: 0, max: 2, dryRun: true });
  expect([dry.events.map(({ seq }) => seq), dry.hasMore]).toEqual([[1, 2], true]);
  await say(9);
  expect(heard).toEqual(["n1", "n2", "n3", "n9"]);
});

test("what is replayed to one that is away waits for it, and is asked for only once", async () => {
  const { router, heard, consumer } = await had();
  await consumer.stop();
  expect(await router.replay({ consumer: "exporter", since: 1_003, max: 10 })).toMatchObject({ isConnected: false });
  expect((await router.replay({ consumer: "exporter", since: 1_003, max: 10 })).events).toEqual([]);
  await router.consume({
    consumer: "exporter",
    handlers: { HOST_OFFLINE: ({ payload }) => void heard.push(`again ${payload.node_id}`) },
  });
  await expect.poll(() => heard).toEqual(["n1", "n2", "n3", "again n3"]);
});

test("a replay can be narrowed by event and by end, and a name that nobody has is refused", async () => {
  const { router } = await had();
  const dry = { consumer: "exporter", since: 0, max: 10, dryRun: true };
  expect((await router.replay({ ...dry, until: 1_002 })).events.map(({ seq }) => seq)).toEqual([1]);
  expect((await router.replay({ ...dry, eventTypes: ["host_online"] })).events).toEqual([]);
  expect((await router.replay({ ...dry, eventTypes: ["host_offline"] })).events).toHaveLength(3);
  await expect(router.replay({ ...dry, consumer: "exportr" })).rejects.toMatchObject({
    code: "CONSUMER_NOT_FOUND",
    message: expect.stringContaining("Did you mean exporter?"),
  });
});
