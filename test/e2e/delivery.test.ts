import { expect, onTestFinished, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { countPairs } from "../../src/router/journal/queries.ts";
import { connect } from "../../src/surfaces/index.ts";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";

const COUNT = 10_000;

const bootIn = async (dataDir: string) =>
  bootstrapCoordination({
    settings: readSettings({}, dataDir, { dataDir, port: 0, router: { retryFirstMs: 1, retryMostMs: 2 } }),
    log: silentLog(),
  });

test("two processes both get all of 10,000 events, and a third that starts later does too", async () => {
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const coordination = await bootIn(dataDir);
  onTestFinished(() => coordination.shutdown());
  const consumer = (name: string, spelling: string, start: string) =>
    own.startNode(new URL("./parts/counting-consumer.ts", import.meta.url), [
      dataDir,
      name,
      spelling,
      start,
      String(COUNT),
    ]);

  // By wire value and by an old spelling; the third, by constant, comes when all is over.
  const first = consumer("first", "new_games", "earliest");
  const second = consumer("second", "NEW_GAMES", "earliest");
  const client = connect({ dataDir, source: "test" });
  onTestFinished(() => client.close());
  const receipts = await Promise.all(
    Array.from({ length: COUNT }, (_, i) =>
      client.publish("NEW_GAMES_AVAILABLE", {
        config_key: `hex${i % 9}_2p`,
        node_id: "n1",
        new_games: 1,
        total_games: i + 1,
      } as never),
    ),
  );
  expect(new Set(receipts.map(({ seq }) => seq)).size).toBe(COUNT);
  const all = new RegExp(`^got ${COUNT} as NEW_GAMES_AVAILABLE, 0 out of order$`);
  await first.waitForLine(all);
  await second.waitForLine(all);
  const third = consumer("third", "NEW_GAMES_AVAILABLE", "earliest");
  await third.waitForLine(all);
  for (const process of [first, second, third]) await process.stop();
  const names = ["first", "second", "third"];
  const pairs = countPairs(coordination.router.store).filter(({ consumer }) => names.includes(consumer));
  expect(pairs).toEqual(names.map((name) => ({ consumer: name, state: "done", pairs: COUNT })));
});

test("a restart changes nothing about dead letters, parked keys and cursors", async () => {
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const handled: string[] = [];
  const serve = async (broken: boolean) => {
    const coordination = await bootIn(dataDir);
    const { router } = coordination;
    for (const consumer of ["careful", "carefree"])
      await router.consume({
        consumer,
        handlers: {
          NEW_GAMES_AVAILABLE: (event) => {
            const { config_key, total_games: games } = event.payload as { config_key: string; total_games: number };
            if (consumer === "careful" && broken && config_key === "bad_2p") throw new Error("cannot read bad_2p");
            handled.push(`${consumer} ${config_key} ${games}`);
          },
        },
      });
    return coordination;
  };
  const publish = (router: Awaited<ReturnType<typeof serve>>["router"], config_key: string, games: number) =>
    router.publish("NEW_GAMES_AVAILABLE", { config_key, node_id: "n1", new_games: 1, total_games: games } as never);

  const before = await serve(true);
  const bad = await publish(before.router, "bad_2p", 1);
  const good = await publish(before.router, "good_2p", 2);
  await before.router.settled(bad);
  await before.router.settled(good);
  expect(before.router.deadLetters.getPendingEvents()).toHaveLength(1);
  await before.shutdown();

  const after = await serve(false);
  onTestFinished(() => after.shutdown());
  expect(after.router.deadLetters.getPendingEvents()).toMatchObject([
    { consumer: "careful", event_id: bad.eventId, event_type: "NEW_GAMES_AVAILABLE", attempts: 5, status: "pending" },
  ]);
  await after.router.settled(await publish(after.router, "good_2p", 3));
  expect(handled.sort()).toEqual([
    "carefree bad_2p 1",
    "carefree good_2p 2",
    "carefree good_2p 3",
    "careful good_2p 2",
    "careful good_2p 3",
  ]);
  await after.router.deadLetters.retryEvent(bad.eventId, { actor: "test" });
  await after.router.settled(bad);
  expect(handled).toContain("careful bad_2p 1");
  expect(handled.filter((what) => what === "carefree bad_2p 1")).toHaveLength(1);
  expect(after.router.deadLetters.counts()).toMatchObject({ pending: 0, recovered: 1 });
});

test("a dead letter that is sent back while a later event of its key is being tried again is handled before it", async () => {
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const { router, shutdown } = await bootIn(dataDir);
  onTestFinished(() => shutdown());
  const publish = (games: number) =>
    router.publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", new_games: 1, total_games: games } as never);
  const handled: number[] = [];
  let isMended = false;
  const client = connect({ dataDir, source: "test" });
  onTestFinished(() => client.close());
  client.subscribe(
    { consumer: "careful", eventTypes: ["NEW_GAMES_AVAILABLE"], start: "earliest" },
    async ({ payload }, { attempt }) => {
      const { total_games: games } = payload as { total_games: number };
      if (games === 1 && !isMended) throw new Error("cannot read it");
      if (games === 2 && attempt === 1) {
        isMended = true;
        await router.deadLetters.retryEvent(bad.eventId, { actor: "test" });
        throw new Error("not yet");
      }
      handled.push(games);
    },
  );

  const bad = await publish(1);
  await expect.poll(() => router.deadLetters.counts(), PATIENT).toMatchObject({ pending: 1 });
  await publish(2);
  await expect.poll(() => handled, PATIENT).toEqual([1, 2]);
  await expect.poll(() => router.deadLetters.counts(), PATIENT).toMatchObject({ retrying: 0, recovered: 1 });
});
