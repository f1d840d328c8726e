/** Locks of a running coordination: taken in the process, by a client beside it, listed and broken by commands, told in events. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkLock } from "../../src/cluster/locks/lock-rows.ts";
import { connect } from "../../src/surfaces/index.ts";
import { commandsOn, mainOn } from "../support/commands.ts";
import { owned } from "../support/process.ts";

async function world() {
  const dataDir = join(owned(onTestFinished).folder(), "data");
  const { main, stop } = await mainOn(dataDir, { nodeId: "home" });
  onTestFinished(stop);
  const client = connect({ dataDir, source: "test" });
  onTestFinished(() => client.close());
  return { main, client, run: commandsOn(dataDir) };
}

test("a lock is one holder's in and beside the process, and what comes under an older fence is refused", async () => {
  const { main, client, run } = await world();
  expect((await run("locks")).out).toBe("nobody holds a lock\n");
  const lock = await main.lock("export", { ttlMs: 600_000, holder: "exporter" });
  await expect(client.locks.acquire({ name: "export", holder: "other", ttlMs: 5_000 })).rejects.toMatchObject({
    code: "LOCK_HELD",
    retryable: true,
  });
  const waiting = client.locks.acquire({ name: "export", holder: "other", ttlMs: 60_000, waitMs: 30_000 });
  await expect.poll(async () => (await run("locks")).out).toMatch(/\nexport +exporter +1 .* in .* other\n/);
  const { store } = main.router;
  await store.commit([lock.check()]);
  await lock.release();
  const next = await waiting;
  expect(next).toMatchObject({ holder: "other", fence: 2, ttl_seconds: 60 });
  await expect(store.commit([lock.check()])).rejects.toMatchObject({ code: "LOCK_LOST" });
  await client.locks.renew(next);

  const dry = await run("locks", "break", "export", "--reason", "it hangs", "--dry-run");
  expect(dry).toMatchObject({ code: 0, out: expect.stringContaining("would be taken from other") });
  expect(await client.locks.list()).toMatchObject([{ name: "export", holder: "other" }]);
  expect((await run("locks", "break", "export", "--reason", "it hangs", "--json")).out).toContain('"applied":true');
  await expect(client.locks.renew(next)).rejects.toMatchObject({ code: "LOCK_LOST" });
  await expect(store.commit([checkLock(next)])).rejects.toMatchObject({ code: "LOCK_LOST" });
  expect(await run("locks", "break", "export", "--reason", "again")).toMatchObject({ code: 3 });
});

test("a wait in vain and a ring of waits are events that open alerts", async () => {
  const { main, client, run } = await world();
  await main.lock("one", { ttlMs: 60_000, holder: "a" });
  await main.lock("two", { ttlMs: 60_000, holder: "b" });
  await expect(main.lock("one", { ttlMs: 1_000, waitMs: 50, holder: "c" })).rejects.toMatchObject({
    code: "LOCK_TIMEOUT",
  });
  const waiting = client.locks.acquire({ name: "two", holder: "a", ttlMs: 1_000, waitMs: 30_000 });
  await expect.poll(async () => (await client.locks.list())[1]?.waiting).toEqual(["a"]);
  await expect(main.lock("one", { ttlMs: 1_000, holder: "b" })).rejects.toMatchObject({
    code: "DEADLOCK_DETECTED",
    message: expect.stringMatching(/'b' waits for 'one' of 'a', 'a' waits for 'two' of 'b'/),
  });
  const told = (eventType: string) => main.router.history({ eventType }).map(({ payload }) => payload);
  expect(told("LOCK_TIMEOUT")).toMatchObject([{ lock_name: "one", requested_by: "c", holder: "a" }]);
  expect(told("DEADLOCK_DETECTED")).toMatchObject([{ lock_name: "one", holders: ["b", "a"] }]);
  await expect.poll(async () => (await run("alerts")).out).toMatch(/Holders of locks wait for each other/);
  await run("locks", "break", "two", "--reason", "end of the test");
  expect(await waiting).toMatchObject({ holder: "a" });
});
