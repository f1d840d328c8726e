/**
 * Durable publishing on a real disk, beside raw inserts into the same table with the same indexes: what the writer's
 * thread, the dedup by id and the answer to each publisher cost.
 */
import { join } from "node:path";
import { z } from "zod";
import { threadedStore } from "../../src/adapters/sqlite/threaded-store.ts";
import { createCatalog, defineEvents } from "../../src/events/index.ts";
import { createIds, silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { EventRouter, journalModule } from "../../src/router/index.ts";
import { databaseByHand, eventInsertOf } from "./support/by-hand.ts";
import { inFolder } from "./support/folder.ts";
import { atLeast, atMost, type Contender, compare } from "./support/measure.ts";
import type { Section } from "./support/table.ts";

export const durableRows = defineEvents("bench", {
  GAMES_PLAYED: {
    about: "Games were played.",
    class: "durable",
    orderKey: "config_key",
    payload: { config_key: z.string(), node_id: z.string(), games: z.number(), win_rate: z.number() },
  },
});

export const durablePayload = (n: number) => ({
  config_key: `hex8_${n % 8}p`,
  node_id: "node-17",
  games: n,
  win_rate: 0.5,
});

export async function durableRouter(folder: string) {
  const clock = systemClock();
  const modulesUrl = new URL("../../src/app/store-modules.ts", import.meta.url).href;
  const store = await threadedStore({ path: join(folder, "coordination.db"), modulesUrl, clock });
  return new EventRouter({
    catalog: createCatalog(durableRows),
    store,
    clock,
    random: systemRandom(),
    log: silentLog(),
    nodeId: "bench",
  });
}

/** The journal's own schema, and one prepared insert: nothing else between the caller and the disk. */
function rawJournal(path: string) {
  const db = databaseByHand(path, [journalModule]);
  const insert = eventInsertOf(db);
  const ids = createIds(systemClock(), systemRandom());
  return {
    /** Rows that are ready to be bound: making them is no part of what is measured. */
    rows: (times: number) =>
      Array.from({ length: times }, (_, n) => {
        const id = ids.uuid();
        const payload = durablePayload(n);
        return [
          id,
          "GAMES_PLAYED",
          payload.config_key,
          JSON.stringify(payload),
          1_700_000_000 + n,
          "bench",
          "router",
          "bench",
          ids.traceId(),
          id,
          `${ids.traceId()}${ids.traceId()}`,
        ];
      }),
    insertAll(rows: readonly (readonly (string | number)[])[], batch: number) {
      for (let from = 0; from < rows.length; from += batch) {
        db.exec("BEGIN IMMEDIATE");
        for (const row of rows.slice(from, from + batch)) insert.run(...row);
        db.exec("COMMIT");
      }
    },
    close: () => db.close(),
  };
}

export async function publishDurably(rows: number, awaited: number, rounds: number): Promise<Section[]> {
  return inFolder(async (folder) => {
    const router = await durableRouter(folder);
    const raw = rawJournal(join(folder, "raw.db"));
    const publish = (n: number) => router.publish("GAMES_PLAYED", durablePayload(n), { source: "bench" });
    let rowsToInsert = raw.rows(0);
    const prepare = (times: number) => {
      rowsToInsert = raw.rows(times);
    };
    const pipelined: Contender[] = [
      {
        name: "router, pipelined",
        run: async (times) => void (await Promise.all(Array.from({ length: times }, (_, n) => publish(n)))),
      },
      { name: "raw inserts, batches of 100", prepare, run: () => raw.insertAll(rowsToInsert, 100) },
    ];
    const single: Contender[] = [
      {
        name: "router, one awaited publish",
        run: async (times) => {
          for (let n = 0; n < times; n += 1) await publish(n);
        },
      },
      { name: "raw, one committed insert", prepare, run: () => raw.insertAll(rowsToInsert, 1) },
    ];
    const many = await compare(pipelined, rows, rounds);
    const one = await compare(single, awaited, rounds);
    raw.close();
    await router.stop();
    await router.store.close();
    const [ours, theirs] = one.contenders;
    return [
      {
        title: "durable publish, pipelined",
        measured: many.contenders,
        goals: [
          atLeast(
            "rows a second, share of raw inserts'",
            many.costRatio("raw inserts, batches of 100", "router, pipelined"),
            0.5,
          ),
        ],
        notes: {},
      },
      {
        title: "durable publish, awaited one by one",
        measured: one.contenders,
        goals: [atMost("microseconds, beside 1.5 raw inserts + 150 us", ours!.costUs, 1.5 * theirs!.costUs + 150)],
        notes: {},
      },
    ];
  });
}
