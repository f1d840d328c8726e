import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { inThreadStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { threadedStore } from "../../../src/adapters/sqlite/threaded-store.ts";
import { openWriter } from "../../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { isOperatingError, seededRandom, silentLog, systemClock } from "../../../src/kernel/index.ts";
import { EventRouter, type Store } from "../../../src/router/index.ts";
import { countPairs } from "../../../src/router/journal/queries.ts";
import { rounds } from "../../support/thorough.ts";

const folder = mkdtempSync(join(tmpdir(), "ringrift-bytes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const modulesUrl = new URL("../../../src/app/store-modules.ts", import.meta.url).href;
const clock = systemClock();

const routerOver = (store: Store) =>
  new EventRouter({
    catalog: createCatalog(builtinRows),
    store,
    clock,
    random: seededRandom(1),
    log: silentLog(),
    nodeId: "fuzz",
  });

/** A small real journal with events, a consumer and a dead letter. */
async function makeJournal(path: string): Promise<Buffer> {
  const writer = openWriter(path, storeModules);
  const router = routerOver(inThreadStore(writer, { clock }));
  const session = await router.openSession({ consumer: "reader", eventTypes: ["*"], start: "earliest" });
  for (let n = 0; n < 40; n += 1)
    await router
      .publish("DAEMON_STATUS_CHANGED", { daemon_name: `d${n % 5}`, old_status: "a", new_status: "b" } as never)
      .catch(() => (router as unknown as EventRouter).publish("fuzz.unknown", { n, text: "x".repeat(200) }));
  const got = await session.poll(5, 0);
  await session.ack(got.slice(0, 3).map(({ event }) => event.seq!));
  await router.stop();
  writer.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  writer.close();
  return readFileSync(path);
}

const damage = (size: number) => {
  const at = fc.nat(size - 1);
  return fc.oneof(
    fc.array(fc.record({ at, byte: fc.nat(255) }), { minLength: 1, maxLength: 8 }).map((flips) => (bytes: Buffer) => {
      for (const flip of flips) bytes[flip.at] = flip.byte;
      return bytes;
    }),
    // The header and the first page say how to read all others: hit them more often than chance would.
    fc
      .array(fc.record({ at: fc.nat(200), byte: fc.nat(255) }), { minLength: 1, maxLength: 3 })
      .map((flips) => (bytes: Buffer) => {
        for (const flip of flips) bytes[flip.at] = flip.byte;
        return bytes;
      }),
    at.map((length) => (bytes: Buffer) => bytes.subarray(0, length)),
    fc.tuple(at, fc.uint8Array({ minLength: 100, maxLength: 5_000 })).map(([from, noise]) => (bytes: Buffer) => {
      bytes.set(noise.subarray(0, bytes.length - from), from);
      return bytes;
    }),
    fc
      .tuple(fc.nat(Math.floor(size / 4_096) - 1), fc.nat(Math.floor(size / 4_096) - 1))
      .map(([a, b]) => (bytes: Buffer) => {
        const page = Buffer.from(bytes.subarray(a * 4_096, (a + 1) * 4_096));
        bytes.set(page, b * 4_096);
        return bytes;
      }),
  );
};

const typed = (thrown: unknown) => {
  expect(isOperatingError(thrown), String((thrown as Error)?.stack ?? thrown)).toBe(true);
  expect((thrown as { hint?: string }).hint ?? (thrown as { code: string }).code).toBeTruthy();
};

/** Reads and writes what a start would. Answers are results or typed errors. */
async function use(store: Store): Promise<void> {
  const attempt = async (call: () => unknown) => {
    try {
      await call();
    } catch (thrown) {
      typed(thrown);
    }
  };
  let router: EventRouter | undefined;
  await attempt(() => {
    router = routerOver(store) as unknown as EventRouter;
  });
  await attempt(() => countPairs(store));
  await attempt(() => router?.history({ fromJournal: true, limit: 1_000 }));
  await attempt(() => router?.deadLetters.list({}));
  await attempt(() => router?.publish("fuzz.unknown", { n: 1 }));
  await attempt(async () => {
    const session = await router?.openSession({ consumer: "reader", eventTypes: ["*"], start: "earliest" });
    const batch = (await session?.poll(100, 0)) ?? [];
    await session?.ack(batch.map(({ event }) => event.seq!));
  });
  await attempt(() => router?.stop());
}

test("a damaged journal opens or is refused with a code, and is used or answers with codes", async () => {
  const whole = await makeJournal(join(folder, "whole.db"));
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(damage(whole.length), fc.nat(), async (hurt, n) => {
      const path = join(folder, `hurt-${n}.db`);
      writeFileSync(path, hurt(Buffer.from(whole)));
      try {
        const writer = openWriter(path, storeModules);
        await use(inThreadStore(writer, { clock }));
        writer.close();
      } catch (thrown) {
        refused += 1;
        typed(thrown);
      }
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    }),
    { numRuns: rounds(60, 150), seed: 42 },
  );
  expect(refused).toBeGreaterThan(10);
});

test("the writer's thread answers for a damaged journal too, and for a damaged write-ahead log", async () => {
  const path = join(folder, "threaded.db");
  const whole = await makeJournal(path);
  const damages = fc.sample(damage(whole.length), { numRuns: 5, seed: 7 });
  for (const hurt of damages) {
    writeFileSync(path, hurt(Buffer.from(whole)));
    try {
      const store = await threadedStore({ path, modulesUrl, clock });
      await use(store);
      await store.close();
    } catch (thrown) {
      typed(thrown);
    }
    for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  }
  writeFileSync(path, whole);
  const writer = openWriter(path, storeModules);
  const router = routerOver(inThreadStore(writer, { clock })) as unknown as EventRouter;
  for (let n = 0; n < 20; n += 1) await router.publish("fuzz.unknown", { n });
  const copy = join(folder, "copy.db");
  for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
  await router.stop();
  writer.close();
  const log = readFileSync(`${copy}-wal`);
  for (let at = 100; at < log.length; at += 1_111) log[at] = (log[at]! + 1) & 0xff;
  writeFileSync(`${copy}-wal`, log);
  const after = openWriter(copy, storeModules);
  // A torn log ends where it is torn: what came before is all there.
  await use(inThreadStore(after, { clock }));
  after.close();
});
