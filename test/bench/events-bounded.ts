/** What must not grow: memory over millions of events, and the cost of an empty poll over a long journal. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { durablePayload, durableRouter } from "./events-durable.ts";
import { inProcessRouter, payloadOf } from "./events-in-process.ts";
import { inFolder } from "./support/folder.ts";
import { atMost, compare } from "./support/measure.ts";
import type { Section } from "./support/table.ts";

/** Live bytes, after everything that can go has gone. */
function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * Publishes in ten parts and looks at the live memory after each. The first parts fill history, dedup windows and
 * statistics to their bounds; what follows must add nothing.
 */
export async function flatMemory(events: number): Promise<Section> {
  const router = inProcessRouter();
  let heard = 0;
  router.subscribe("SELFPLAY_TICK", () => {
    heard += 1;
  });
  router.subscribe("SELFPLAY_TICK", async () => {
    await undefined;
    heard += 1;
  });
  const begun = performance.now();
  const samples: number[] = [];
  for (let part = 0; part < 10; part += 1) {
    for (let n = 0; n < events / 10; n += 1) await router.publish("SELFPLAY_TICK", payloadOf(n));
    await new Promise((resolve) => setImmediate(resolve));
    samples.push(liveBytes() / 1_048_576);
  }
  const seconds = (performance.now() - begun) / 1_000;
  await router.stop();
  await router.store.close();
  if (heard !== events * 2) throw new Error(`${heard} of ${events * 2} handlers ran`);
  return {
    title: `memory over ${events.toLocaleString("en-US")} events in the process`,
    measured: [],
    goals: [
      // The windows turn over at their own pace: a megabyte either way is the noise of where they stand.
      atMost("MiB grown from the first fifth to the end", Math.max(0, samples.at(-1)! - samples[1]!), 2),
    ],
    notes: { "MiB live after each tenth": samples.map((mib) => mib.toFixed(1)).join(" "), seconds },
  };
}

/** The cost of a poll that finds nothing, for a session that has acked many events beside one that has just begun. */
export async function emptyPoll(events: number, polls: number): Promise<Section> {
  return inFolder(async (worn) =>
    inFolder(async (fresh) => {
      const routers = { worn: await durableRouter(worn), fresh: await durableRouter(fresh) };
      const request = { consumer: "bench", eventTypes: ["GAMES_PLAYED"], start: "earliest" as const };
      const session = await routers.worn.openSession(request);
      const begun = performance.now();
      for (let acked = 0; acked < events; ) {
        const part = Math.min(5_000, events - acked);
        await Promise.all(
          Array.from({ length: part }, (_, n) => routers.worn.publish("GAMES_PLAYED", durablePayload(n))),
        );
        for (let left = part; left > 0; ) {
          const batch = await session.poll(500, 1_000);
          const done = await session.ack(batch.map(({ event }) => event.seq!));
          left -= done.acked.length;
          acked += done.acked.length;
        }
      }
      const seconds = (performance.now() - begun) / 1_000;
      const polling = (name: string, of: typeof session) => ({
        name,
        run: async (times: number) => {
          for (let n = 0; n < times; n += 1)
            if ((await of.poll(100, 0)).length > 0) throw new Error("the poll was not empty");
        },
      });
      const result = await compare(
        [polling("after all of them", session), polling("after none", await routers.fresh.openSession(request))],
        polls,
        21,
      );
      for (const router of Object.values(routers)) {
        await router.stop();
        await router.store.close();
      }
      return {
        title: `an empty poll after ${events.toLocaleString("en-US")} acked events`,
        measured: result.contenders,
        goals: [
          atMost("cost, times that of a session just begun", result.costRatio("after all of them", "after none"), 1.5),
        ],
        notes: { "events published, polled and acked a second": events / seconds },
      };
    }),
  );
}
