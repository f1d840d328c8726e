import { expect, test } from "vitest";
import { z } from "zod";
import { routerOver } from "../../test/support/router.ts";
import { inThreadStore, memoryWriter } from "../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../app/store-modules.ts";
import { builtinRows, defineEvents } from "../events/index.ts";
import { systemClock } from "../kernel/index.ts";
import { countPairs } from "./journal/queries.ts";

const rows = {
  ...builtinRows,
  ...defineEvents("test", {
    GAME_PLAYED: { about: "A game.", class: "durable", orderKey: "key", payload: { key: z.string(), n: z.number() } },
  }),
};

test("an event that cannot be read is buried at each consumer, and what follows it goes on", async () => {
  const writer = memoryWriter(storeModules);
  const store = inThreadStore(writer, { clock: systemClock() });
  const { router } = routerOver(rows, { maxAttempts: 2 }, store);
  const events = [];
  for (let n = 1; n <= 3; n += 1) events.push(await router.publish("GAME_PLAYED", { key: "a", n }));
  writer.db.exec("UPDATE events SET payload = '{\"key\":' WHERE seq = 2");

  const heard: number[] = [];
  await router.consume({
    consumer: "unit",
    start: "earliest",
    handlers: { GAME_PLAYED: (event) => void heard.push((event.payload as { n: number }).n) },
  });
  for (const event of events) await router.settled(event);
  expect(heard).toEqual([1, 3]);

  const session = await router.openSession({ consumer: "process", eventTypes: ["GAME_PLAYED"], start: "earliest" });
  const polled: number[] = [];
  while (polled.length < 2) {
    const batch = await session.poll(10, 1_000);
    for (const { event } of batch) {
      const { acked } = await session.ack([event.seq!]);
      polled.push(...acked);
    }
  }
  await router.settled(events[1]!);
  expect(polled).toEqual([1, 3]);
  expect(router.deadLetters.getPendingEvents()).toMatchObject([
    { consumer: "unit", seq: 2, error: expect.stringContaining("event 2 cannot be read") },
    { consumer: "process", seq: 2 },
  ]);
  expect(countPairs(store).filter(({ state }) => state !== "done" && state !== "dead")).toEqual([]);
  await router.stop();
  writer.close();
});
