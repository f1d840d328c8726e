import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { firstRows, tallies, writeJournal } from "../../../test/fixtures/journals/write-journal.ts";
import { storeModules } from "../../app/store-modules.ts";
import { builtinRows, createCatalog, defineEvents, type Rows } from "../../events/index.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { createWriteSet, EventRouter } from "../../router/index.ts";
import { countPairs } from "../../router/journal/queries.ts";
import { inThreadStore } from "./in-thread-store.ts";
import { openWriter } from "./writer.ts";

const folder = mkdtempSync(join(tmpdir(), "ringrift-old-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (path: string, rows: Rows) => {
  const writer = openWriter(path, storeModules);
  const store = inThreadStore(writer, { clock: systemClock() });
  const router = new EventRouter({
    catalog: createCatalog(rows),
    store,
    clock: systemClock(),
    random: seededRandom(2),
    log: silentLog(),
    nodeId: "today",
  });
  const close = async () => {
    await router.stop();
    writer.close();
  };
  return { router, store, writer, close };
};

/** Today's catalog: two versions later, with other keys and another unit. */
const todaysRows = {
  ...builtinRows,
  ...defineEvents("archive", {
    GAME_ARCHIVED: {
      about: "A game was put away.",
      class: "durable",
      orderKey: "config_key",
      payload: { config_key: z.string(), game_id: z.string(), plies: z.number() },
      version: 3,
      upcasters: {
        1: ({ config, game, ...rest }) => ({ ...rest, config_key: config, game_id: game }),
        2: ({ moves, ...rest }) => ({ ...rest, plies: Number(moves) * 2 }),
      },
    },
    ARCHIVE_SWEPT: { about: "Old games went.", class: "durable", orderKey: null, payload: { games: z.number() } },
  }),
};

const asToday = (n: number) => ({ config_key: `hex8_${n % 2}p`, game_id: `g${n}`, plies: 20 * n });

/** What must be found in every kept journal, by the code of any day. */
async function readsOn(path: string): Promise<void> {
  const { router, store, writer, close } = open(path, todaysRows);
  expect(writer.db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  const games = router.history({ fromJournal: true, eventType: "GAME_ARCHIVED" });
  expect(games.map(({ payload }) => payload)).toEqual([1, 2, 3, 4, 5, 6].map(asToday));
  expect(games.every(({ payloadVersion, nodeId }) => payloadVersion === 3 && nodeId === "archive")).toBe(true);
  expect(countPairs(store)).toEqual([
    { consumer: "leaving", state: "expired", pairs: 3 },
    { consumer: "tally", state: "done", pairs: 6 },
    { consumer: "working", state: "dead", pairs: 1 },
    { consumer: "working", state: "done", pairs: 1 },
    { consumer: "working", state: "owed", pairs: 4 },
  ]);
  expect(createWriteSet(store).list(tallies)).toEqual([
    ["hex8_0p", { games: 3 }],
    ["hex8_1p", { games: 3 }],
  ]);

  // The consumer reads on from where it was, and its dead letter comes back to it, in today's form.
  const session = await router.openSession({ consumer: "working", eventTypes: ["GAME_ARCHIVED"] });
  const [letter] = router.deadLetters.getPendingEvents();
  expect(letter).toMatchObject({ consumer: "working", error: "the disk of the archive was away", attempts: 1 });
  await router.deadLetters.retryAll({ actor: "test" });
  const got = new Set<unknown>();
  while (got.size < 5)
    for (const { event } of await session.poll(10, 1_000)) {
      got.add(event.payload.game_id);
      await session.ack([event.seq!]);
    }
  expect(router.deadLetters.counts()).toMatchObject({ pending: 0, recovered: 1 });
  const next = await router.publish("GAME_ARCHIVED", { config_key: "hex8_1p", game_id: "g7", plies: 5 });
  expect(next.seq).toBe(8);
  await close();
}

describe("a journal of an older version", () => {
  const kept = new URL("../../../test/fixtures/journals/", import.meta.url);
  const names = readdirSync(kept).filter((name) => name.endsWith(".db.gz"));

  test.each(names)("%s, as it was kept, is read and gone on with", async (name) => {
    const path = join(folder, name.replace(".gz", ""));
    writeFileSync(path, gunzipSync(readFileSync(new URL(name, kept))));
    await readsOn(path);
  });

  test("there is one of today's schema among those that are kept", () => {
    const newest = storeModules[0]!.migrations.at(-1)!.id;
    expect(names, "write-journal.ts writes one").toContain(`journal-${newest}.db.gz`);
  });

  test("written with the first payload version by the code of today is read with the third", async () => {
    const path = join(folder, "fresh.db");
    await writeJournal(path);
    await readsOn(path);
  });

  test("and an event of a newer version is kept as it is by older code", async () => {
    const path = join(folder, "newer.db");
    const newer = open(path, todaysRows);
    await newer.router.publish("GAME_ARCHIVED", { config_key: "a", game_id: "g", plies: 4, added_later: true });
    await newer.close();
    const older = open(path, firstRows);
    const [event] = older.router.history({ fromJournal: true });
    expect(event).toMatchObject({ payloadVersion: 3, payload: { config_key: "a", plies: 4, added_later: true } });
    await older.close();
    const again = open(path, todaysRows);
    expect(again.router.history({ fromJournal: true })[0]!.payload).toEqual(event!.payload);
    await again.close();
  });
});
